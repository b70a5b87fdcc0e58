"""Read queries for delivery attempts and events of webhooks (SPEC.md 6.5).

store/deliveries.py writes attempts, store/webhook_events.py events.
"""

from __future__ import annotations

from typing import NamedTuple

from chatsvc.domain.webhooks import DELIVERED, FAILED, IN_FLIGHT, Attempt
from chatsvc.store.database import Connection, reads
from chatsvc.store.deliveries import EVENT
from chatsvc.store.owners import ALL_BOTS, BOT_IN_SCOPE, ONE_BOT, SOME_BOTS, Accounts, listed
from chatsvc.store.webhook_events import Event

_ATTEMPT_COLUMNS = "a.id, a.delivery_id, e.event, e.record_id, a.url, a.at, a.success, a.status_code, a.error, a.duration_ms, a.bot_id"

_OF_BOT = "SELECT n.number FROM webhook_attempts n WHERE n.bot_id = b.id AND n.number < ?3"
_OF_EVENT = " AND EXISTS (SELECT 1 FROM webhook_events f WHERE f.number = n.event_number AND f.event = ?5)"
_OF_STATUS = {
    None: "",
    DELIVERED: " AND n.success = 1",
    FAILED: " AND n.success = 0",
    IN_FLIGHT: " AND n.success IS NULL",
}
_ONE = f"""
    SELECT {_ATTEMPT_COLUMNS}, a.event_number FROM (SELECT * FROM webhook_attempts WHERE id = ?2 AND {BOT_IN_SCOPE}) a
    JOIN webhook_events e ON e.number = a.event_number
"""
_DETAIL = f"""
    SELECT {_ATTEMPT_COLUMNS}, e.created_at, a.signature, a.body, a.answer FROM webhook_attempts a
    JOIN webhook_events e ON e.number = a.event_number WHERE a.id = ?2 AND {BOT_IN_SCOPE.replace("= bot_id", "= a.bot_id")}
"""
LAST = 2**63 - 1


class StoredDelivery(NamedTuple):
    """An attempt with its request. `signature` is None where nothing was signed, or by a version that did not keep it."""

    attempt: Attempt
    event_created_at: int
    signature: str | None
    body: bytes
    answer: bytes | None


def _attempt(row: tuple[object, ...]) -> Attempt:
    attempt = Attempt(*row[: len(Attempt._fields)])  # type: ignore[arg-type]  # the columns are the fields
    return attempt._replace(success=None if attempt.success is None else bool(attempt.success))


@reads
def attempt(connection: Connection, attempt_id: str, accounts: Accounts) -> tuple[Attempt, int] | None:
    """Read an attempt of these accounts (None for all), with the number of its event."""
    row = connection.execute(_ONE, (listed(accounts), attempt_id)).fetchone()
    return (_attempt(row), row[-1]) if row else None


@reads
def detail(connection: Connection, attempt_id: str, accounts: Accounts) -> StoredDelivery | None:
    """Read an attempt of these accounts (None for all) with its request and answer."""
    row = connection.execute(_DETAIL, (listed(accounts), attempt_id)).fetchone()
    return StoredDelivery(_attempt(row), *row[len(Attempt._fields) :]) if row else None


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
    """Read attempts with their numbers, newest first, behind the one numbered `after`.

    Of one bot, which the caller has looked up in its scope, or of all bots of `accounts` (None for all); `status` is one of
    domain.webhooks.STATUSES.
    """
    bots = ONE_BOT if bot_id is not None else ALL_BOTS if accounts is None else SOME_BOTS
    chosen = f"{_OF_BOT}{_OF_STATUS[status]}{_OF_EVENT if event else ''} ORDER BY n.number DESC LIMIT ?4"
    rows = connection.execute(
        f"""
        SELECT {_ATTEMPT_COLUMNS}, a.number FROM {bots} CROSS JOIN webhook_attempts a ON a.number IN ({chosen})
        CROSS JOIN webhook_events e ON e.number = a.event_number ORDER BY a.number DESC LIMIT ?4
        """,
        (listed(accounts), bot_id, after, limit, event)[: 5 if event else 4],
    )
    return [(_attempt(row), row[-1]) for row in rows]


@reads
def failed_since(connection: Connection, accounts: Accounts, bot_id: str | None, since: int, after: int) -> list[tuple[int, str]]:
    """List events behind number `after` whose latest attempt, at `since` or later, failed. With their bots, oldest first.

    Tests are left out. For `accounts` and `bot_id` see `attempts`.
    """
    bots = ONE_BOT if bot_id is not None else ALL_BOTS if accounts is None else SOME_BOTS
    rows = connection.execute(
        f"""
        SELECT a.event_number, a.bot_id FROM {bots} CROSS JOIN webhook_attempts a ON a.bot_id = b.id
        CROSS JOIN webhook_events e ON e.number = a.event_number
        WHERE a.success = 0 AND a.at >= ?3 AND a.event_number > ?4 AND e.event <> 'webhook.test'
            AND a.number = (SELECT max(number) FROM webhook_attempts WHERE event_number = a.event_number)
        ORDER BY a.event_number
        """,
        (listed(accounts), bot_id, since, after),
    )
    return rows.fetchall()


@reads
def events_since(connection: Connection, bot_id: str, since: int, after: int, limit: int) -> list[Event]:
    """Read a bot's events since an instant, oldest first, without test events.

    after: number of the last event of the page before.
    """
    rows = connection.execute(
        f"""
        SELECT {EVENT} FROM webhook_events
        WHERE bot_id = ? AND created_at >= ? AND number > ? AND event <> 'webhook.test' ORDER BY number LIMIT ?
        """,
        (bot_id, since, after, limit),
    )
    return [Event(*row) for row in rows]
