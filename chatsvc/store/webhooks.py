"""Queries of bots' webhooks and their events: set, find, rotate the signing key and remove; write events, and mark them as failed.

An attempt is written before its connection is opened, its outcome after (store/deliveries.py, help/webhooks.md). An event without an
attempt is pending; an attempt without an outcome is in flight, or was interrupted by a crash.
"""

import json
import uuid
from collections.abc import Callable
from typing import NamedTuple

from chatsvc.domain.webhooks import Webhook
from chatsvc.store import facts
from chatsvc.store.database import Connection, Database, change_any, reads, writes
from chatsvc.store.nodes import orphaned

# Seals a signing key for the store with this check value: asked within the unit, since the master key may just be changing.
Seal = Callable[[bytes], bytes]

_WEBHOOK = "bot_id, url, events, signing_key, created_at, updated_at"


def find_in(connection: Connection, bot_id: str) -> Webhook | None:
    """Find the webhook of a bot within a unit."""
    row = connection.execute(f"SELECT {_WEBHOOK} FROM webhooks WHERE bot_id = ?", (bot_id,)).fetchone()
    return Webhook(*row)._replace(events=tuple(json.loads(row[2]))) if row else None


find = reads(find_in)


@writes
def put(connection: Connection, webhook: Webhook, seal: Seal) -> tuple[Webhook, bool]:
    """Set a bot's webhook. Return the webhook, and whether it is new.

    An existing webhook keeps its signing key and creation time; a new webhook gets the key that `seal` returns.
    """
    is_new = find_in(connection, webhook.bot_id) is None
    # What an earlier webhook has left must not go to another address.
    while is_new and fail_pending(connection, webhook.bot_id, webhook.created_at):
        pass
    written = webhook._replace(sealed_key=seal(facts.check_in(connection))) if is_new else webhook
    connection.execute(
        f"""
        INSERT INTO webhooks ({_WEBHOOK}) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (bot_id) DO UPDATE SET url = excluded.url, events = excluded.events, updated_at = excluded.updated_at
        """,
        (written.bot_id, written.url, json.dumps(written.events), written.sealed_key, written.created_at, written.updated_at),
    )
    return find_in(connection, written.bot_id) or written, is_new


@writes
def rotate(connection: Connection, bot_id: str, seal: Seal, now: int) -> Webhook | None:
    """Replace the signing key of a bot's webhook. Return None if the bot has no webhook."""
    sealed = seal(facts.check_in(connection))
    connection.execute("UPDATE webhooks SET signing_key = ?, updated_at = ? WHERE bot_id = ?", (sealed, now, bot_id))
    return find_in(connection, bot_id)


async def remove(db: Database, bot_id: str, now: int) -> None:
    """Delete a bot's webhook and record pending events as failed, in batches that delay other writers little."""

    def fail_some(connection: Connection) -> int:
        # Another webhook may have been set in the meantime; the pending events are its own.
        return 0 if find_in(connection, bot_id) else fail_pending(connection, bot_id, now)

    await db.write(lambda connection: connection.execute("DELETE FROM webhooks WHERE bot_id = ?", (bot_id,)).rowcount)
    while await db.write(fail_some) == BATCH:
        pass


PENDING, ATTEMPTED, KEPT = range(3)
NEW_ATTEMPT = "id, event_number, bot_id, delivery_id, url, body, at, success, error, duration_ms, signature, node"
BATCH = 1000


class Event(NamedTuple):
    """An event of a webhook. `data` is the snapshot of its record as JSON.

    `follows` is the number of the event that must be delivered before this one, or None.
    """

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
    """Record a batch of pending events as failed, and return their number."""
    pending = connection.execute("SELECT number FROM webhook_events WHERE bot_id = ? AND state = 0 LIMIT ?", (bot_id, BATCH)).fetchall()
    connection.executemany("UPDATE webhook_events SET state = 1 WHERE number = ?", pending)
    connection.executemany(
        f"INSERT INTO webhook_attempts ({NEW_ATTEMPT}) VALUES (?, ?, ?, ?, NULL, x'', ?, 0, ?, 0, NULL, NULL)",
        [(str(uuid.uuid4()), number, bot_id, str(uuid.uuid4()), now, error) for (number,) in pending],
    )
    return len(pending)


_INTERRUPTED = "UPDATE webhook_attempts SET success = 0, error = 'interrupted', duration_ms = 0 WHERE success IS NULL"
_CUT_OFF = orphaned("webhook_attempts")


def interrupt_all(connection: Connection, now: int) -> None:
    """Record all pending events and attempts in flight as interrupted after a restore, since they may have been sent meanwhile."""
    connection.execute(_INTERRUPTED)
    for (bot_id,) in connection.execute("SELECT DISTINCT bot_id FROM webhook_events WHERE state = 0").fetchall():
        while fail_pending(connection, bot_id, now, "interrupted"):
            pass


async def interrupt(db: Database) -> int:
    """Record as failed the attempts that were in flight when their process ended. Return how many these were.

    With SQLite, this is called when the only process starts.
    """
    find = f"SELECT 1 FROM webhook_attempts WHERE success IS NULL AND {_CUT_OFF} LIMIT 1"
    return await change_any(db, find, (), f"{_INTERRUPTED} AND {_CUT_OFF}")


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
