"""An account whose deletion stopped half-way, and what is left of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from chatsvc.store import accounts, exchanges
from chatsvc.store.direct import DirectDatabase, finish
from tests.fakes import START
from tests.store.support import ignore, new_exchange


def half_deleted(database: Path, account: str) -> None:
    """Fill the account, then begin to delete it and stop after one batch, as a crash would."""
    db = DirectDatabase(database)
    bot = finish(db.read(lambda connection: connection.execute("SELECT id FROM bots WHERE account_id = ?", (account,)).fetchone()[0]))
    for i in range(1500):
        finish(exchanges.record(db, new_exchange(bot, account, f"visitor {i % 50}", at=START + i), ignore))
    finish(accounts.delete(db, account, START, ignore))
    assert finish(accounts.sweep(db))
    finish(db.close())


def left_of(database: Path, account: str) -> int:
    """How many rows still belong to the account."""
    with closing(sqlite3.connect(database)) as connection:
        tables = ("accounts", "bots", "conversations", "usage_records", "allowances", "conversation_counts", "api_keys")
        owned: int = 0
        for table in tables:
            column = "id" if table == "accounts" else "account_id"
            owned += connection.execute(f"SELECT count(*) FROM {table} WHERE {column} = ?", (account,)).fetchone()[0]  # noqa: S608
        owned += connection.execute("SELECT count(*) FROM messages").fetchone()[0]
    return owned
