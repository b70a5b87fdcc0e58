"""Audit log of administrative operations: recorded before they run, completed with their outcome after."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from chatsvc.domain.actors import Actor
from chatsvc.domain.audit import AuditRecord
from chatsvc.store.database import Connection, Database
from chatsvc.store.owners import Accounts, listed

KEPT = 100_000
LAST = 2**63 - 1
_COLUMNS = "at, actor_kind, actor_id, actor_name, via, account_id, operation, ids, outcome"
_OF_COLUMNS = ", ".join(f"r.{name}" for name in _COLUMNS.split(", "))
# For each account the first rows of an index, merged.
_OF_SOME = """
    json_each(?1) s CROSS JOIN audit_records r ON r.number IN (
        SELECT n.number FROM audit_records n WHERE n.account_id = s.value AND n.number < ?3 AND n.at >= ?2 ORDER BY n.number DESC LIMIT ?4)
"""


async def record(db: Database, entry: AuditRecord) -> int:
    """Write a record, delete all but the newest KEPT; returns its number."""

    def unit(connection: Connection) -> int:
        number: int = connection.execute(
            f"INSERT INTO audit_records ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number",
            (entry.at, *entry.actor, entry.via, entry.account_id, entry.operation, json.dumps(entry.ids), entry.outcome),
        ).fetchone()[0]
        connection.execute("DELETE FROM audit_records WHERE number <= ?", (number - KEPT,))
        return number

    return await db.write(unit)


async def settle(db: Database, number: int, account_id: str | None, ids: Mapping[str, str], outcome: str) -> None:
    """Complete a record with the outcome, and with account and ids known by now."""

    def unit(connection: Connection) -> None:
        connection.execute(
            "UPDATE audit_records SET account_id = ?, ids = ?, outcome = ? WHERE number = ?", (account_id, json.dumps(ids), outcome, number)
        )

    await db.write(unit)


async def page(db: Database, accounts: Accounts, since: int, limit: int, after: int = LAST) -> list[AuditRecord]:
    """Read audit records since an instant (milliseconds), newest first.

    accounts: None for all. after: number of the last record of the page before.
    """

    def unit(connection: Connection) -> list[AuditRecord]:
        found = "audit_records r" if accounts is None else _OF_SOME
        rows = connection.execute(
            f"SELECT {_OF_COLUMNS}, r.number FROM {found} WHERE r.number < ?3 AND r.at >= ?2 ORDER BY r.number DESC LIMIT ?4",
            (listed(accounts), since, after, limit),
        )
        return [_record(row) for row in rows]

    return await db.read(unit)


def _record(row: tuple[Any, ...]) -> AuditRecord:
    at, kind, actor_id, name, via, account_id, operation, ids, outcome, number = row
    return AuditRecord(at, Actor(kind, actor_id, name), via, account_id, operation, json.loads(ids), outcome, number)
