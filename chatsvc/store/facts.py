"""What the store knows of itself: which master key it belongs to."""

from __future__ import annotations

import hmac
import sqlite3

from chatsvc.store.database import Database, StoreUnavailable

_CHECK = "master_key_check"


async def belongs_to(db: Database, check: bytes) -> None:
    """Note the master key's check value in a new store; raises StoreUnavailable where the store belongs to another key."""

    def unit(connection: sqlite3.Connection) -> bool:
        row = connection.execute("SELECT value FROM store_facts WHERE name = ?", (_CHECK,)).fetchone()
        if row is None:
            connection.execute("INSERT INTO store_facts (name, value) VALUES (?, ?)", (_CHECK, check))
            return True
        return hmac.compare_digest(row[0], check)

    if not await db.write(unit):
        raise StoreUnavailable("the master key is not the one this database was made with")


async def answers(db: Database) -> None:
    """Read one row; raises StoreUnavailable."""

    def unit(connection: sqlite3.Connection) -> None:
        connection.execute("SELECT name FROM store_facts LIMIT 1").fetchone()

    await db.read(unit)
