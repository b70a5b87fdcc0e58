"""An account whose deletion stopped half-way, and what is left of it."""

from __future__ import annotations

from pathlib import Path

from chatsvc.store import accounts, exchanges
from chatsvc.store.database import Database
from tests.fakes import START
from tests.store.inspection import query
from tests.store.support import in_database, new_exchange


def half_deleted(database: Path, account: str) -> None:
    """Fill an account, begin to delete it and stop after one batch."""
    ((bot,),) = query(database, "SELECT id FROM bots WHERE account_id = :1", account)

    async def work(db: Database) -> None:
        for i in range(1500):
            await exchanges.record(db, new_exchange(bot, account, f"visitor {i % 50}", at=START + i))
        await accounts.delete(db, account, START)
        assert await accounts.sweep(db)

    in_database(database, work)


def left_of(database: Path, account: str) -> int:
    """Count the rows that still belong to the account."""
    tables = ("accounts", "bots", "conversations", "usage_records", "allowances", "conversation_counts", "api_keys")
    owned: int = query(database, "SELECT count(*) FROM messages")[0][0]
    for table in tables:
        column = "id" if table == "accounts" else "account_id"
        owned += query(database, f"SELECT count(*) FROM {table} WHERE {column} = :1", account)[0][0]  # noqa: S608
    return owned
