"""Administrative acts: recorded before they are done, with their outcome after."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

from chatsvc.store.database import Database

KEPT = 100_000


class Act(NamedTuple):
    """One act. `at`: milliseconds since the epoch; `outcome` is None while it is being done, or where a crash came between."""

    at: int
    uid: int
    operation: str
    ids: Mapping[str, str]
    outcome: str | None = None


async def record(db: Database, act: Act) -> int:
    """Write an act, forget what is older than the newest KEPT; gives its number."""

    def unit(connection: sqlite3.Connection) -> int:
        number: int = connection.execute(
            "INSERT INTO administrative_acts (at, uid, operation, ids, outcome) VALUES (?, ?, ?, ?, ?) RETURNING number",
            (act.at, act.uid, act.operation, json.dumps(act.ids), act.outcome),
        ).fetchone()[0]
        connection.execute("DELETE FROM administrative_acts WHERE number <= ?", (number - KEPT,))
        return number

    return await db.write(unit)


async def settle(db: Database, number: int, ids: Mapping[str, str], outcome: str) -> None:
    """How an act has ended, and the ids that are known by now."""

    def unit(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE administrative_acts SET ids = ?, outcome = ? WHERE number = ?", (json.dumps(ids), outcome, number))

    await db.write(unit)


async def newest(db: Database, limit: int, since: int) -> list[Act]:
    """The newest acts, the newest first; `since` is in milliseconds since the epoch."""

    def unit(connection: sqlite3.Connection) -> list[Act]:
        rows = connection.execute(
            "SELECT at, uid, operation, ids, outcome FROM administrative_acts WHERE at >= ? ORDER BY number DESC LIMIT ?", (since, limit)
        )
        return [Act(at, uid, operation, json.loads(ids), outcome) for at, uid, operation, ids, outcome in rows]

    return await db.read(unit)
