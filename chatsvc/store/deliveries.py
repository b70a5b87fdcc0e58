"""Writes and lists delivery attempts of webhook events, with their outcomes (help/webhooks.md 2).

The queue that sends them is delivery/webhooks.py.
"""

import uuid
from collections.abc import Callable, Sequence
from typing import NamedTuple

from chatsvc.domain.webhooks import DELIVERED, FAILED, IN_FLIGHT, Attempt, AttemptDetail, PostResult, Webhook
from chatsvc.store.database import LAST, Connection, reads, writes
from chatsvc.store.owners import ALL_BOTS, BOT_IN_SCOPE, ONE_BOT, SOME_BOTS, Accounts, listed
from chatsvc.store.webhooks import ATTEMPTED, KEPT, NEW_ATTEMPT, Event, add_event, find_in

EVENT = "number, bot_id, event, record_id, data, created_at, follows"


class Sending(NamedTuple):
    """A recorded attempt to deliver an event. It is sent unless it failed at once: `refusal` is the reason, and `url` may be empty."""

    attempt_id: str
    event_number: int
    bot_id: str
    delivery_id: str
    url: str
    event: str
    body: bytes
    signature: str
    refusal: str | None


class UnusableKey(Exception):
    """The signing key of a webhook cannot be decrypted."""


# Makes the bytes of a delivery and their signature: (event, delivery_id, webhook) -> (body, signature). Raises UnusableKey.
Sign = Callable[[Event, str, Webhook], tuple[bytes, str]]


class Terms(NamedTuple):
    """Parameters of all attempts: the plans that have webhooks, the function that signs, and the process that sends."""

    plans: frozenset[str]
    sign: Sign
    node: str | None


# The current webhook of a bot, and the reason for which nothing can be sent.
_Standing = tuple[Webhook | None, str | None]


def _standing(connection: Connection, bot_id: str, plans: frozenset[str]) -> _Standing | None:
    """Read a bot's webhook and the reason why nothing can be sent to it, if any. Return None if the account was deleted."""
    row = connection.execute(
        "SELECT plan FROM bots JOIN accounts ON accounts.id = bots.account_id WHERE bots.id = ? AND deleted_at IS NULL", (bot_id,)
    ).fetchone()
    if row is None:
        return None
    webhook = find_in(connection, bot_id)
    return webhook, "plan_lost" if row[0] not in plans else None if webhook and webhook.url else "webhook_removed"


def _record(connection: Connection, events: Sequence[Event], now: int, standing: _Standing, terms: Terms) -> list[Sending]:
    """Record an attempt to deliver each of a bot's events. An attempt that cannot be sent is recorded as failed."""
    webhook, cause = standing
    url = (webhook.url if webhook else None) or ""
    sendings: list[Sending] = []
    for event in events:
        attempt_id, delivery_id, refusal, body, signature = str(uuid.uuid4()), str(uuid.uuid4()), cause, b"", ""
        if webhook and not cause:
            try:
                body, signature = terms.sign(event, delivery_id, webhook)
            except UnusableKey:
                refusal = "unusable_key"
        sendings.append(Sending(attempt_id, event.number, event.bot_id, delivery_id, url, event.event, body, signature, refusal))
    rows: list[tuple[object, ...]] = []
    for sending in sendings:
        outcome = (0, sending.refusal, 0) if sending.refusal else (None,) * 3
        rows.append((*sending[:4], sending.url or None, sending.body, now, *outcome, sending.signature or None, terms.node))
    connection.executemany(f"INSERT INTO webhook_attempts ({NEW_ATTEMPT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    return sendings


def settle(connection: Connection, attempt_id: str, result: PostResult) -> None:
    """Write the outcome of a delivery attempt within a unit, unless the attempt already has an outcome."""
    connection.execute(
        "UPDATE webhook_attempts SET success = ?, status_code = ?, error = ?, duration_ms = ?, answer = ? WHERE id = ? AND success IS NULL",
        (result.success, result.status_code, result.error, result.duration_ms, result.answer, attempt_id),
    )


def pending(connection: Connection, bot_id: str, room: int) -> list[Event]:
    """Read at most `room` pending events of a bot. An event that follows another is left out while that is pending or in flight."""
    rows = connection.execute(
        f"""
        SELECT {EVENT} FROM webhook_events e WHERE bot_id = ? AND state = 0 AND NOT EXISTS
            (SELECT 1 FROM webhook_events f WHERE f.number = e.follows AND (f.state = 0 OR EXISTS
                (SELECT 1 FROM webhook_attempts a WHERE a.event_number = f.number AND success IS NULL)))
        ORDER BY number LIMIT ?
        """,
        (bot_id, room),
    )
    return [Event(*row) for row in rows]


def begin(connection: Connection, bot_id: str, events: list[Event], now: int, terms: Terms) -> list[Sending]:
    """Record an attempt for each of these events. Return no attempts if the webhook only stores events, or the account was deleted."""
    standing = _standing(connection, bot_id, terms.plans)
    if standing is None:
        return []
    # The webhook may have been changed to `--pull`: then events are only recorded.
    webhook, cause = standing
    pulled = webhook is not None and cause == "webhook_removed"
    state = KEPT if pulled else ATTEMPTED
    connection.executemany("UPDATE webhook_events SET state = ? WHERE number = ?", [(state, event.number) for event in events])
    return [] if pulled else _record(connection, events, now, standing, terms)


@writes
def send_test(connection: Connection, event: Event, now: int, terms: Terms) -> Sending | None:
    """Write a test event with its attempt. Return None for a deleted account."""
    standing = _standing(connection, event.bot_id, terms.plans)
    if standing is None:
        return None
    written = event._replace(number=add_event(connection, event, ATTEMPTED))
    return _record(connection, [written], now, standing, terms)[0]


@writes
def send_again(connection: Connection, event_number: int, now: int, terms: Terms, *, failed: bool = False) -> Sending | None:
    """Record another attempt for an event. If `failed` is true, do so only if the latest attempt failed.

    Return None if nothing is recorded, for instance if the event was deleted with its account.
    """
    row = connection.execute(f"SELECT {EVENT} FROM webhook_events WHERE number = ?", (event_number,)).fetchone()
    standing = _standing(connection, row[1], terms.plans) if row else None
    latest = "SELECT success FROM webhook_attempts WHERE event_number = ? ORDER BY number DESC LIMIT 1"
    if standing is None or (failed and connection.execute(latest, (event_number,)).fetchone() != (0,)):
        return None
    return _record(connection, [Event(*row)], now, standing, terms)[0]


_ATTEMPT_COLUMNS = "a.id, a.delivery_id, e.event, e.record_id, a.url, a.at, a.success, a.status_code, a.error, a.duration_ms, a.bot_id"

_IN_SCOPE = BOT_IN_SCOPE.replace("= bot_id", "= a.bot_id")
_OF_EVENT = "EXISTS (SELECT 1 FROM webhook_events f WHERE f.number = n.event_number AND f.event = ?5)"
_OF_STATUS = {None: "true", DELIVERED: "n.success = 1", FAILED: "n.success = 0", IN_FLIGHT: "n.success IS NULL"}


def _attempt(row: tuple[object, ...]) -> Attempt:
    attempt = Attempt(*row[: len(Attempt._fields)])  # type: ignore[arg-type]  # the columns are the fields
    return attempt._replace(success=None if attempt.success is None else bool(attempt.success))


@reads
def find(connection: Connection, attempt_id: str, accounts: Accounts) -> AttemptDetail | None:
    """Read a delivery attempt of these accounts (None for all) with its request and answer. Return None if there is none."""
    row = connection.execute(
        f"""
        SELECT {_ATTEMPT_COLUMNS}, a.event_number, e.created_at, a.signature, a.body, a.answer FROM webhook_attempts a
        JOIN webhook_events e ON e.number = a.event_number WHERE a.id = ?2 AND {_IN_SCOPE}
        """,
        (listed(accounts), attempt_id),
    ).fetchone()
    return AttemptDetail(_attempt(row), *row[len(Attempt._fields) :]) if row else None


@reads
def attempts(
    connection: Connection,
    accounts: Accounts,
    bot_id: str | None,
    limit: int,
    after: int = LAST,
    *,
    status: str | None = None,
    event: str | None = None,
) -> list[tuple[Attempt, int]]:
    """Read delivery attempts with their row numbers, newest first. `after` is the number of the last attempt of the previous page.

    They are the attempts of the bot `bot_id`, which the caller has checked, or without `bot_id` of all bots of `accounts` (None for all).
    `status` is one of domain.webhooks.STATUSES.
    """
    bots = ONE_BOT if bot_id is not None else ALL_BOTS if accounts is None else SOME_BOTS
    rows = connection.execute(
        f"""
        SELECT {_ATTEMPT_COLUMNS}, a.number FROM {bots} CROSS JOIN webhook_attempts a ON a.number IN (
            SELECT n.number FROM webhook_attempts n WHERE n.bot_id = b.id AND n.number < ?3 AND {_OF_STATUS[status]}
                AND {_OF_EVENT if event else "true"} ORDER BY n.number DESC LIMIT ?4)
        CROSS JOIN webhook_events e ON e.number = a.event_number ORDER BY a.number DESC LIMIT ?4
        """,
        (listed(accounts), bot_id, after, limit, event)[: 5 if event else 4],
    )
    return [(_attempt(row), row[-1]) for row in rows]


@reads
def failed_since(connection: Connection, accounts: Accounts, bot_id: str | None, since: int, after: int) -> list[tuple[int, str]]:
    """List the events whose latest attempt failed at `since` or later, each with its bot. The oldest come first.

    `after` is the number of the last event of the previous page. Test events are left out. For `accounts` and `bot_id` see `attempts`.
    """
    bots = ONE_BOT if bot_id is not None else ALL_BOTS if accounts is None else SOME_BOTS
    return connection.execute(
        f"""
        SELECT a.event_number, a.bot_id FROM {bots} CROSS JOIN webhook_attempts a ON a.bot_id = b.id
        CROSS JOIN webhook_events e ON e.number = a.event_number
        WHERE a.success = 0 AND a.at >= ?3 AND a.event_number > ?4 AND e.event <> 'webhook.test'
            AND a.number = (SELECT max(number) FROM webhook_attempts WHERE event_number = a.event_number)
        ORDER BY a.event_number
        """,
        (listed(accounts), bot_id, since, after),
    ).fetchall()


@reads
def events_since(connection: Connection, bot_id: str, since: int, after: int, limit: int) -> list[Event]:
    """Read a bot's events since an instant, oldest first, without test events.

    `after` is the number of the last event of the previous page.
    """
    rows = connection.execute(
        f"""
        SELECT {EVENT} FROM webhook_events
        WHERE bot_id = ? AND created_at >= ? AND number > ? AND event <> 'webhook.test' ORDER BY number LIMIT ?
        """,
        (bot_id, since, after, limit),
    )
    return [Event(*row) for row in rows]
