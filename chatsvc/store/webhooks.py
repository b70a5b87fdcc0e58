"""Queries of bots' webhooks: set, find, rotate the signing key and remove (SPEC.md section 6)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

from chatsvc.store import facts, webhook_events
from chatsvc.store.database import Connection, Database, reads, writes


class Webhook(NamedTuple):
    """A bot's webhook; `url` is None where events are only kept (`--pull`), `signing_key` is sealed."""

    bot_id: str
    url: str | None
    events: tuple[str, ...]
    signing_key: bytes
    created_at: int
    updated_at: int


# Seals a signing key for the store with this check value: asked within the unit, since the master key may just be changing.
Seal = Callable[[bytes], bytes]

_WEBHOOK = "bot_id, url, events, signing_key, created_at, updated_at"


def _webhook(row: tuple[str, str | None, str, bytes, int, int] | None) -> Webhook | None:
    return Webhook(row[0], row[1], tuple(json.loads(row[2])), *row[3:]) if row else None


def find_in(connection: Connection, bot_id: str) -> Webhook | None:
    """Find the webhook of a bot within a unit."""
    return _webhook(connection.execute(f"SELECT {_WEBHOOK} FROM webhooks WHERE bot_id = ?", (bot_id,)).fetchone())


find = reads(find_in)


@writes
def put(connection: Connection, webhook: Webhook, seal: Seal) -> tuple[Webhook, bool]:
    """Set a bot's webhook; return it, and whether it is new.

    An existing one keeps its signing key and creation time; a new one gets the key that `seal` returns.
    """
    is_new = find_in(connection, webhook.bot_id) is None
    # Events that a crash left pending for a removed webhook must not go to another address.
    while is_new and webhook_events.fail_pending(connection, webhook.bot_id, webhook.created_at):
        pass
    w = webhook._replace(signing_key=seal(facts.check_in(connection))) if is_new else webhook
    connection.execute(
        f"""
        INSERT INTO webhooks ({_WEBHOOK}) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (bot_id) DO UPDATE SET url = excluded.url, events = excluded.events, updated_at = excluded.updated_at
        """,
        (w.bot_id, w.url, json.dumps(w.events), w.signing_key, w.created_at, w.updated_at),
    )
    return find_in(connection, w.bot_id) or w, is_new


@writes
def rotate(connection: Connection, bot_id: str, seal: Seal, now: int) -> Webhook | None:
    """Replace the signing key of a bot's webhook; None if it has none."""
    sealed = seal(facts.check_in(connection))
    connection.execute("UPDATE webhooks SET signing_key = ?, updated_at = ? WHERE bot_id = ?", (sealed, now, bot_id))
    return find_in(connection, bot_id)


async def remove(db: Database, bot_id: str, now: int) -> bool:
    """Delete a bot's webhook and record pending events as failed. Return False if it has none."""

    def unit(connection: Connection) -> tuple[bool, int]:
        removed = connection.execute("DELETE FROM webhooks WHERE bot_id = ?", (bot_id,)).rowcount == 1
        return removed, webhook_events.fail_pending(connection, bot_id, now)

    def rest(connection: Connection) -> int:
        # Another webhook may have been set in the meantime; the pending events are its own.
        return 0 if find_in(connection, bot_id) else webhook_events.fail_pending(connection, bot_id, now)

    removed, failed = await db.write(unit)
    while failed == webhook_events.BATCH:
        failed = await db.write(rest)
    return removed
