"""Audit log of administrative operations: writes records, completes them with the outcome, and lists them.

A record is written before its operation runs, and is deleted when it is two years old. The records of an account are limited for each
actor, operation and outcome, so that no actor can displace the records of others. Repeated refusals, and equal acts in a row, share one
record.
"""

import json
from typing import Any

from chatsvc.domain.actors import Actor, AuditRecord, SettingChange
from chatsvc.store.database import LAST, Connection, reads, writes
from chatsvc.store.owners import Accounts, listed

SHARE = 10_000  # records of an actor, an operation, an account and an outcome
SHARE_OWN = 1_000  # of what operators change of their own
AGE_MS = 730 * 86_400_000
_BATCH = 1_000
JOINED_MS = 600_000
REFUSED = "refused"
_COLUMNS = "at, actor_kind, actor_id, actor_name, via, account_id, operation, ids, outcome, own, changes"
_OF_COLUMNS = ", ".join(f"r.{name}" for name in _COLUMNS.split(", "))
_SHARE = "actor_id = ?1 AND operation = ?2 AND account_id IS ?3 AND own = ?4 AND outcome IS ?5"


def record_in(connection: Connection, entry: AuditRecord) -> int:
    """Write an audit record within a unit, and return its row number. If `entry` has a number, complete that record instead.

    A repeated act is counted in the record of the earlier equal act. Then return the number of the earlier record.
    """
    ids, changes, own = json.dumps(entry.ids), json.dumps(entry.changes, ensure_ascii=False) if entry.changes else None, int(entry.own)
    number = _counted(connection, entry, ids, changes)
    if number is not None:
        connection.execute("DELETE FROM audit_records WHERE number = ?", (entry.number,))
        return number
    if number := entry.number:
        update = "UPDATE audit_records SET account_id = ?, ids = ?, outcome = ?, changes = ? WHERE number = ?"
        connection.execute(update, (entry.account_id, ids, entry.outcome, changes, number))
    else:
        (number,) = connection.execute(
            f"INSERT INTO audit_records ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number",
            (entry.recorded_at, *entry.actor, entry.via, entry.account_id, entry.operation, ids, entry.outcome, own, changes),
        ).fetchone()
    connection.execute(
        f"""
        DELETE FROM audit_records WHERE {_SHARE} AND number <=
            (SELECT number FROM audit_records WHERE {_SHARE} ORDER BY number DESC LIMIT 1 OFFSET ?6)
        """,
        (entry.actor.id, entry.operation, entry.account_id, own, entry.outcome, SHARE_OWN if own else SHARE),
    )
    return number


record = writes(record_in)


@writes
def forget(connection: Connection, number: int) -> None:
    """Delete the audit record of an operation that changed nothing. `number` is the record's row number."""
    connection.execute("DELETE FROM audit_records WHERE number = ?", (number,))


@writes
def expire(connection: Connection, now: int) -> bool:
    """Delete a batch of audit records older than AGE_MS. Return False once no such record is left."""
    delete = "DELETE FROM audit_records WHERE number IN (SELECT number FROM audit_records ORDER BY number LIMIT ?) AND at < ?"
    return connection.execute(delete, (_BATCH, now - AGE_MS)).rowcount == _BATCH


def _counted(connection: Connection, entry: AuditRecord, ids: str, changes: str | None) -> int | None:
    """Count an act in the record of a recent equal act. Return the number of that record, or None if there is none.

    Equal acts that were refused may have other acts between them; other equal acts may not. If a refused act concerns no account, its ids
    are not compared: they belong to records that the actor cannot see, or that do not exist.
    """
    if entry.outcome is None:
        return None
    values: tuple[object, ...] = (
        *(entry.actor.id, entry.operation, entry.recorded_at - JOINED_MS, entry.recorded_at, entry.actor.kind, entry.via),
        *(entry.account_id, ids),
    )
    if entry.outcome == REFUSED:
        earlier = """
            SELECT number FROM audit_records INDEXED BY audit_refused_of_actor
            WHERE actor_id = ?1 AND operation = ?2 AND at > ?3 AND at <= ?4 AND outcome = 'refused' AND actor_kind = ?5 AND via = ?6
                AND account_id IS ?7 AND (ids = ?8 OR ?7 IS NULL) ORDER BY at DESC LIMIT 1
        """
    else:
        values += (int(entry.own), entry.number, entry.outcome, changes)
        earlier = """
            SELECT number FROM
                (SELECT * FROM audit_records WHERE account_id IS ?7 AND own = ?9 AND number <> ?10 ORDER BY number DESC LIMIT 1) latest
            WHERE actor_id = ?1 AND operation = ?2 AND at > ?3 AND at <= ?4 AND actor_kind = ?5 AND via = ?6 AND ids = ?8 AND outcome = ?11
                AND changes IS ?12
        """
    row = connection.execute(f"UPDATE audit_records SET times = times + 1 WHERE number = ({earlier}) RETURNING number", values).fetchone()
    return int(row[0]) if row else None


@reads
def page(
    connection: Connection, accounts: Accounts, since: int, limit: int, after: int = LAST, actor: str | None = None, act: str | None = None
) -> list[AuditRecord]:
    """Read audit records since an instant (milliseconds), newest first.

    `accounts` is None for all accounts. `after` is the number of the last record of the previous page. `actor` selects the records of the
    actor with this id, and `act` the records of one operation.
    """
    # For each account the first rows of an index, merged.
    of_some = """
        json_each(?1) s CROSS JOIN audit_records r ON r.number IN (
            SELECT n.number FROM audit_records n
            WHERE n.account_id = s.value AND n.own = 0 AND n.number < ?3 AND n.at >= ?2
                AND (?5 IS NULL OR n.actor_id = ?5) AND (?6 IS NULL OR n.operation = ?6)
            ORDER BY n.number DESC LIMIT ?4)
    """
    source = "audit_records r" if accounts is None else of_some
    rows = connection.execute(
        f"""
        SELECT {_OF_COLUMNS}, r.number, r.times FROM {source}
        WHERE r.number < ?3 AND r.at >= ?2 AND (?5 IS NULL OR r.actor_id = ?5) AND (?6 IS NULL OR r.operation = ?6)
        ORDER BY r.number DESC LIMIT ?4
        """,
        (listed(accounts), since, after, limit, actor, act),
    )
    return [_record(row) for row in rows]


def _record(row: tuple[Any, ...]) -> AuditRecord:
    recorded_at, kind, actor_id, name, via, account_id, operation, ids, outcome, own, changed, number, times = row
    changes = tuple(SettingChange(*change) for change in json.loads(changed or "[]"))
    actor = Actor(kind, actor_id, name)
    return AuditRecord(recorded_at, actor, via, account_id, operation, json.loads(ids), outcome, number, times, bool(own), changes)
