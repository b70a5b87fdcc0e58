"""Webhooks, their events and delivery attempts (SPEC.md section 6).

An attempt is written before its connection is opened, its outcome after. An event without an attempt is pending; an attempt without
an outcome is in flight, or was interrupted by a crash.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from chatsvc.store import facts, mails
from chatsvc.store.database import Connection, Database

PENDING, ATTEMPTED, KEPT = range(3)


class Webhook(NamedTuple):
    """A bot's webhook; `url` is None where events are only kept (`--pull`), `signing_key` is sealed."""

    bot_id: str
    url: str | None
    events: tuple[str, ...]
    signing_key: bytes
    created_at: int
    updated_at: int


class Event(NamedTuple):
    """An event. `data` is the snapshot as JSON, `follows` the number of the event that must be delivered before."""

    number: int
    bot_id: str
    event: str
    record_id: str
    data: str
    created_at: int
    follows: int | None = None


class Outcome(NamedTuple):
    """Outcome of an attempt. `answer` is the beginning of the answer's body, None without an answer."""

    attempt_id: str
    success: bool
    status_code: int | None
    error: str | None
    duration_ms: int
    answer: bytes | None = None


class Sending(NamedTuple):
    """A recorded attempt, ready to be sent."""

    attempt_id: str
    bot_id: str
    delivery_id: str
    url: str
    event: str
    body: bytes
    signature: str


class UnusableKey(Exception):
    """The signing key cannot be opened."""


# Makes the bytes of a delivery and their signature: (event, delivery_id, webhook) -> (body, signature). Raises UnusableKey.
Sign = Callable[[Event, str, Webhook], tuple[bytes, str]]

# Seals a signing key for the store with this check value: asked within the unit, since the master key may just be changing.
Seal = Callable[[bytes], bytes]

_WEBHOOK = "bot_id, url, events, signing_key, created_at, updated_at"
EVENT = "number, bot_id, event, record_id, data, created_at, follows"
_NEW = "id, event_number, bot_id, delivery_id, url, body, at, success, error, duration_ms, signature"
_BATCH = 1000
_NEXT = f"""
    SELECT {EVENT} FROM webhook_events e WHERE bot_id = ? AND state = 0 AND NOT EXISTS
        (SELECT 1 FROM webhook_events f WHERE f.number = e.follows AND (f.state = 0 OR EXISTS
            (SELECT 1 FROM webhook_attempts a WHERE a.event_number = f.number AND success IS NULL)))
    ORDER BY number LIMIT ?
"""


def _webhook(row: tuple[str, str | None, str, bytes, int, int] | None) -> Webhook | None:
    return Webhook(row[0], row[1], tuple(json.loads(row[2])), *row[3:]) if row else None


def find_in(connection: Connection, bot_id: str) -> Webhook | None:
    """Find the webhook of a bot within a unit."""
    return _webhook(connection.execute(f"SELECT {_WEBHOOK} FROM webhooks WHERE bot_id = ?", (bot_id,)).fetchone())


async def find(db: Database, bot_id: str) -> Webhook | None:
    """Find the webhook of a bot."""
    return await db.read(lambda connection: find_in(connection, bot_id))


async def put(db: Database, webhook: Webhook, seal: Seal) -> tuple[Webhook, bool]:
    """Set a bot's webhook; return it, and whether it is new.

    An existing one keeps its signing key and creation time; a new one gets the key that `seal` returns.
    """

    def unit(connection: Connection) -> tuple[Webhook, bool]:
        is_new = find_in(connection, webhook.bot_id) is None
        # Events that a crash left pending for a removed webhook must not go to another address.
        while is_new and _fail_pending(connection, webhook.bot_id, webhook.created_at):
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

    return await db.write(unit)


async def rotate(db: Database, bot_id: str, seal: Seal, now: int) -> Webhook | None:
    """Replace the signing key of a bot's webhook; None if it has none."""

    def unit(connection: Connection) -> Webhook | None:
        sealed = seal(facts.check_in(connection))
        connection.execute("UPDATE webhooks SET signing_key = ?, updated_at = ? WHERE bot_id = ?", (sealed, now, bot_id))
        return find_in(connection, bot_id)

    return await db.write(unit)


async def remove(db: Database, bot_id: str, now: int) -> bool:
    """Delete a bot's webhook and record pending events as failed. Return False if it has none."""

    def unit(connection: Connection) -> tuple[bool, int]:
        removed = connection.execute("DELETE FROM webhooks WHERE bot_id = ?", (bot_id,)).rowcount == 1
        return removed, _fail_pending(connection, bot_id, now)

    def rest(connection: Connection) -> int:
        # Another webhook may have been set in the meantime; the pending events are its own.
        return 0 if find_in(connection, bot_id) else _fail_pending(connection, bot_id, now)

    removed, failed = await db.write(unit)
    while failed == _BATCH:
        failed = await db.write(rest)
    return removed


def _fail_pending(connection: Connection, bot_id: str, now: int, error: str = "webhook_removed") -> int:
    """Record a batch of pending events as failed; return how many."""
    pending = connection.execute("SELECT number FROM webhook_events WHERE bot_id = ? AND state = 0 LIMIT ?", (bot_id, _BATCH)).fetchall()
    connection.executemany("UPDATE webhook_events SET state = 1 WHERE number = ?", pending)
    connection.executemany(
        f"INSERT INTO webhook_attempts ({_NEW}) VALUES (?, ?, ?, ?, NULL, x'', ?, 0, ?, 0, NULL)",
        [(_attempt_id(now), number, bot_id, str(uuid.uuid4()), now, error) for (number,) in pending],
    )
    return len(pending)


def interrupt_all(connection: Connection, now: int) -> None:
    """Record all pending events and attempts in flight as interrupted, after a restore. They may have been sent since."""
    connection.execute("UPDATE webhook_attempts SET success = 0, error = 'interrupted', duration_ms = 0 WHERE success IS NULL")
    for (bot_id,) in connection.execute("SELECT DISTINCT bot_id FROM webhook_events WHERE state = 0").fetchall():
        while _fail_pending(connection, bot_id, now, "interrupted"):
            pass


def add_event(connection: Connection, event: Event, state: int) -> int:
    """Write an event within the unit that writes its record; return its number."""
    (number,) = connection.execute(
        "INSERT INTO webhook_events (bot_id, event, record_id, data, created_at, follows, state) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " RETURNING number",
        (*event[1:], state),
    ).fetchone()
    return int(number)


class Outstanding(NamedTuple):
    """Numbers of pending events and of attempts in flight."""

    pending: int
    under_way: int


async def outstanding(db: Database) -> Outstanding:
    """Count pending events and attempts in flight, over all bots."""

    def unit(connection: Connection) -> Outstanding:
        pending = connection.execute("SELECT count(*) FROM webhook_events WHERE state = 0").fetchone()[0]
        return Outstanding(pending, connection.execute("SELECT count(*) FROM webhook_attempts WHERE success IS NULL").fetchone()[0])

    return await db.read(unit)


async def bots_with_pending(db: Database) -> list[str]:
    """List the bots with pending events."""

    def unit(connection: Connection) -> list[str]:
        rows = connection.execute(
            "SELECT id FROM bots WHERE EXISTS (SELECT 1 FROM webhook_events e WHERE e.bot_id = bots.id AND state = 0)"
        )
        return [row[0] for row in rows]

    return await db.read(unit)


async def interrupt(db: Database) -> int:
    """Record attempts cut off by the end of an earlier process as failed. Returns their number.

    For the only process of the data folder, at its start.
    """

    def is_cut_off(connection: Connection) -> bool:
        return connection.execute("SELECT 1 FROM webhook_attempts WHERE success IS NULL LIMIT 1").fetchone() is not None

    # Most starts find none, and a write costs a sync of the disk.
    if not await db.read(is_cut_off):
        return 0

    def unit(connection: Connection) -> int:
        return connection.execute(
            "UPDATE webhook_attempts SET success = 0, error = 'interrupted', duration_ms = 0 WHERE success IS NULL"
        ).rowcount

    return await db.write(unit)


class _Standing(NamedTuple):
    """Current webhook of a bot, and the reason for which nothing may be sent."""

    webhook: Webhook | None
    refusal: str | None


def _standing(connection: Connection, bot_id: str, plans: frozenset[str]) -> _Standing | None:
    """Read the state for an attempt. None if the account has been deleted: nothing is sent or recorded then."""
    row = connection.execute(
        "SELECT plan FROM bots JOIN accounts ON accounts.id = bots.account_id WHERE bots.id = ? AND deleted_at IS NULL", (bot_id,)
    ).fetchone()
    if row is None:
        return None
    webhook = find_in(connection, bot_id)
    if row[0] not in plans:
        return _Standing(webhook, "plan_lost")
    return _Standing(webhook, None if webhook else "webhook_removed")


def _attempt_id(now: int) -> str:
    """Make a UUID of version 7, which begins with the time. New ones are neighbours in the index, in half as many pages."""
    by_chance = os.urandom(9).hex()
    return f"{now >> 16:08x}-{now & 0xFFFF:04x}-7{by_chance[:3]}-8{by_chance[3:6]}-{by_chance[6:]}"


def _record(connection: Connection, event: Event, now: int, standing: _Standing, sign: Sign) -> tuple[str, Sending | None]:
    """Record an attempt. Return its id and the delivery, None for one that cannot be sent and is recorded as failed."""
    webhook, refusal = standing
    attempt_id, delivery_id = _attempt_id(now), str(uuid.uuid4())
    url = webhook.url if webhook else None
    body, signature = b"", ""
    if webhook and url and not refusal:
        try:
            body, signature = sign(event, delivery_id, webhook)
        except UnusableKey:
            refusal = "unusable_key"
    elif not refusal:
        refusal = "webhook_removed"
    connection.execute(
        f"INSERT INTO webhook_attempts ({_NEW}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            attempt_id,
            event.number,
            event.bot_id,
            delivery_id,
            url,
            body,
            now,
            *((0, refusal, 0) if refusal else (None,) * 3),
            signature or None,
        ),
    )
    if refusal or url is None:
        return attempt_id, None
    return attempt_id, Sending(attempt_id, event.bot_id, delivery_id, url, event.event, body, signature)


def _settle(connection: Connection, outcomes: Iterable[Outcome]) -> None:
    connection.executemany(
        "UPDATE webhook_attempts SET success = ?, status_code = ?, error = ?, duration_ms = ?, answer = ? WHERE id = ? AND success IS NULL",
        [(*outcome[1:], outcome.attempt_id) for outcome in outcomes],
    )


async def settle(db: Database, outcomes: Sequence[Outcome]) -> None:
    """Write the outcomes of attempts."""
    await db.write(lambda connection: _settle(connection, outcomes))


async def advance(
    db: Database, bot_id: str, now: int, *, done: Sequence[Outcome], room: int, plans: frozenset[str], sign: Sign, sends_mail: bool = False
) -> tuple[int, list[Sending]]:
    """Write outcomes and record the next attempts, at most `room`, in one transaction.

    Returns the number of events, and the deliveries to send: fewer if some could only be recorded as failed. `plans` have webhooks.
    sends_mail: whether operators who want it are mailed about failed deliveries.
    """

    def note(connection: Connection, failed: int) -> None:
        if sends_mail and failed:
            mails.note(connection, "webhook", bot_id, None, now, causes=failed)

    def unit(connection: Connection) -> tuple[int, list[Sending]]:
        _settle(connection, done)
        note(connection, sum(not outcome.success for outcome in done))
        rows = connection.execute(_NEXT, (bot_id, room)).fetchall() if room else []
        standing = _standing(connection, bot_id, plans) if rows else None
        if standing is None:
            return 0, []
        # The webhook may have been changed to `--pull`: then events are only recorded.
        pulled = standing.webhook is not None and standing.webhook.url is None and standing.refusal is None
        connection.executemany(
            "UPDATE webhook_events SET state = ? WHERE number = ?", [(KEPT if pulled else ATTEMPTED, row[0]) for row in rows]
        )
        made = [] if pulled else [_record(connection, Event(*row), now, standing, sign)[1] for row in rows]
        note(connection, made.count(None))
        return len(rows), [sending for sending in made if sending]

    return await db.write(unit)


async def send_test(db: Database, event: Event, now: int, *, plans: frozenset[str], sign: Sign) -> tuple[str, Sending | None] | None:
    """Write a test event with its attempt. Return the attempt's id and the delivery, None for a deleted account."""

    def unit(connection: Connection) -> tuple[str, Sending | None] | None:
        standing = _standing(connection, event.bot_id, plans)
        if standing is None:
            return None
        return _record(connection, event._replace(number=add_event(connection, event, ATTEMPTED)), now, standing, sign)

    return await db.write(unit)


async def send_again(
    db: Database, event_number: int, now: int, *, plans: frozenset[str], sign: Sign, failed: bool = False
) -> tuple[str, Sending | None] | None:
    """Record another attempt for an event; gives the attempt's id and what to send.

    None where the event has gone with its account, or where its latest attempt has not failed and `failed` asks for one that has.
    """

    def unit(connection: Connection) -> tuple[str, Sending | None] | None:
        row = connection.execute(f"SELECT {EVENT} FROM webhook_events WHERE number = ?", (event_number,)).fetchone()
        standing = _standing(connection, row[1], plans) if row else None
        if standing is None or (failed and _latest(connection, event_number) != 0):
            return None
        return _record(connection, Event(*row), now, standing, sign)

    return await db.write(unit)


def _latest(connection: Connection, event_number: int) -> int | None:
    """Whether the latest attempt succeeded; None while it is in flight."""
    row = connection.execute(
        "SELECT success FROM webhook_attempts WHERE event_number = ? ORDER BY number DESC LIMIT 1", (event_number,)
    ).fetchone()
    return row[0] if row else None
