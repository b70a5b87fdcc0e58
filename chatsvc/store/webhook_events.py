"""Webhook events: writes new ones, and marks pending or interrupted ones as failed.

Also counts the outstanding ones. Deliveries are recorded by store/deliveries.py (SPEC.md section 6).

An attempt is written before its connection is opened, its outcome after. An event without an attempt is pending; an attempt without
an outcome is in flight, or was interrupted by a crash.
"""

from __future__ import annotations

import uuid
from typing import NamedTuple

from chatsvc.store.database import Connection, Database, reads
from chatsvc.store.nodes import orphaned

PENDING, ATTEMPTED, KEPT = range(3)
NEW_ATTEMPT = "id, event_number, bot_id, delivery_id, url, body, at, success, error, duration_ms, signature, node"
BATCH = 1000


class Event(NamedTuple):
    """An event. `data` is the snapshot as JSON, `follows` the number of the event that must be delivered before."""

    number: int
    bot_id: str
    event: str
    record_id: str
    data: str
    created_at: int
    follows: int | None = None


def add_event(connection: Connection, event: Event, state: int) -> int:
    """Write an event within the unit that writes its record; return its number."""
    (number,) = connection.execute(
        "INSERT INTO webhook_events (bot_id, event, record_id, data, created_at, follows, state) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " RETURNING number",
        (*event[1:], state),
    ).fetchone()
    return int(number)


def fail_pending(connection: Connection, bot_id: str, now: int, error: str = "webhook_removed") -> int:
    """Record a batch of pending events as failed; return how many."""
    pending = connection.execute("SELECT number FROM webhook_events WHERE bot_id = ? AND state = 0 LIMIT ?", (bot_id, BATCH)).fetchall()
    connection.executemany("UPDATE webhook_events SET state = 1 WHERE number = ?", pending)
    connection.executemany(
        f"INSERT INTO webhook_attempts ({NEW_ATTEMPT}) VALUES (?, ?, ?, ?, NULL, x'', ?, 0, ?, 0, NULL, NULL)",
        [(str(uuid.uuid4()), number, bot_id, str(uuid.uuid4()), now, error) for (number,) in pending],
    )
    return len(pending)


def interrupt_all(connection: Connection, now: int) -> None:
    """Record all pending events and attempts in flight as interrupted, after a restore. They may have been sent since."""
    connection.execute("UPDATE webhook_attempts SET success = 0, error = 'interrupted', duration_ms = 0 WHERE success IS NULL")
    for (bot_id,) in connection.execute("SELECT DISTINCT bot_id FROM webhook_events WHERE state = 0").fetchall():
        while fail_pending(connection, bot_id, now, "interrupted"):
            pass


class Outstanding(NamedTuple):
    """Numbers of pending events and of attempts in flight."""

    pending: int
    under_way: int


@reads
def outstanding(connection: Connection) -> Outstanding:
    """Count pending events and attempts in flight, over all bots."""
    pending = connection.execute("SELECT count(*) FROM webhook_events WHERE state = 0").fetchone()[0]
    return Outstanding(pending, connection.execute("SELECT count(*) FROM webhook_attempts WHERE success IS NULL").fetchone()[0])


@reads
def bots_with_pending(connection: Connection) -> list[str]:
    rows = connection.execute("SELECT id FROM bots WHERE EXISTS (SELECT 1 FROM webhook_events e WHERE e.bot_id = bots.id AND state = 0)")
    return [row[0] for row in rows]


_CUT_OFF = "success IS NULL AND " + orphaned("webhook_attempts")


async def interrupt(db: Database) -> int:
    """Record attempts cut off by the end of their process as failed. Returns their number.

    With SQLite for the only process, at its start.
    """

    def is_cut_off(connection: Connection) -> bool:
        return connection.execute(f"SELECT 1 FROM webhook_attempts WHERE {_CUT_OFF} LIMIT 1").fetchone() is not None

    # Most starts find none, and a write costs a sync of the disk.
    if not await db.read(is_cut_off):
        return 0

    def unit(connection: Connection) -> int:
        return connection.execute(
            f"UPDATE webhook_attempts SET success = 0, error = 'interrupted', duration_ms = 0 WHERE {_CUT_OFF}"
        ).rowcount

    return await db.write(unit)
