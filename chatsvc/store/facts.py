"""What the store knows of itself: which master key it belongs to."""

from __future__ import annotations

import sqlite3
from typing import TypeVar

from chatsvc.store.database import Database, StoreUnavailable, Unit
from chatsvc.store.master_key import MasterKey

T = TypeVar("T")
_CHECK = "master_key_check"


def find_check(connection: sqlite3.Connection) -> bytes | None:
    """Read the check value of the master key within a unit; None in a database that no service has opened yet."""
    row = connection.execute("SELECT value FROM store_facts WHERE name = ?", (_CHECK,)).fetchone()
    return row[0] if row else None


def check_in(connection: sqlite3.Connection) -> bytes:
    """Read the check value of the master key within a unit."""
    value = find_check(connection)
    if value is None:
        raise RuntimeError("the database has no master key yet")
    return value


async def belongs_to(db: Database, key: MasterKey) -> None:
    """Put the store's master key in force; a new store takes the one there is. Raises StoreUnavailable where it belongs to another."""

    def unit(connection: sqlite3.Connection) -> bytes:
        connection.execute("INSERT OR IGNORE INTO store_facts (name, value) VALUES (?, ?)", (_CHECK, key.check))
        return check_in(connection)

    check = await db.write(unit)
    try:
        key.settle(check)
    except OSError as fault:
        raise StoreUnavailable(f"the master key {key.file} cannot be put in its place: {fault.strerror or fault}") from fault


async def change_key(db: Database, check: bytes, reseal: Unit[T]) -> T:
    """Have all that is sealed sealed anew and note to which key the store belongs from now on, in one transaction."""

    def unit(connection: sqlite3.Connection) -> T:
        result = reseal(connection)
        connection.execute("UPDATE store_facts SET value = ? WHERE name = ?", (check, _CHECK))
        return result

    return await db.write(unit)


async def answers(db: Database) -> None:
    """Read one row; raises StoreUnavailable."""

    def unit(connection: sqlite3.Connection) -> None:
        connection.execute("SELECT name FROM store_facts LIMIT 1").fetchone()

    await db.read(unit)
