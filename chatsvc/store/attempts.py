"""Queries about webhook events and their delivery attempts (SPEC.md 6.5)."""

from __future__ import annotations

from chatsvc.domain.webhooks import Attempt
from chatsvc.store.database import Connection, Database
from chatsvc.store.owners import ALL_BOTS, BOT_IN_SCOPE, ONE_BOT, SOME_BOTS, Accounts, listed
from chatsvc.store.webhooks import EVENT, Event

_ATTEMPT_COLUMNS = "a.id, a.delivery_id, e.event, e.record_id, a.url, a.at, a.success, a.status_code, a.error, a.duration_ms"

_OF_BOT = """
    SELECT n.number FROM webhook_attempts n WHERE n.bot_id = b.id AND n.number < ?3 ORDER BY n.number DESC LIMIT ?4
"""
_ONE = f"""
    SELECT {_ATTEMPT_COLUMNS}, a.event_number FROM (SELECT * FROM webhook_attempts WHERE id = ?2 AND {BOT_IN_SCOPE}) a
    JOIN webhook_events e ON e.number = a.event_number
"""
LAST = 2**63 - 1


def _attempt(row: tuple[object, ...]) -> Attempt:
    attempt = Attempt(*row[:-1])  # type: ignore[arg-type]  # the columns are the fields
    return attempt._replace(success=None if attempt.success is None else bool(attempt.success))


async def attempt(db: Database, attempt_id: str, accounts: Accounts) -> tuple[Attempt, int] | None:
    """Read an attempt of these accounts (None for all), with the number of its event."""

    def unit(connection: Connection) -> tuple[Attempt, int] | None:
        row = connection.execute(_ONE, (listed(accounts), attempt_id)).fetchone()
        return (_attempt(row), row[-1]) if row else None

    return await db.read(unit)


async def attempts(db: Database, accounts: Accounts, bot_id: str | None, limit: int, after: int = LAST) -> list[tuple[Attempt, int]]:
    """Read attempts with their numbers, newest first, behind the one numbered `after`.

    Of one bot, which the caller has looked up in its scope, or of all bots of `accounts` (None for all).
    """
    bots = ONE_BOT if bot_id is not None else ALL_BOTS if accounts is None else SOME_BOTS

    def unit(connection: Connection) -> list[tuple[Attempt, int]]:
        rows = connection.execute(
            f"""
            SELECT {_ATTEMPT_COLUMNS}, a.number FROM {bots} CROSS JOIN webhook_attempts a ON a.number IN ({_OF_BOT})
            CROSS JOIN webhook_events e ON e.number = a.event_number ORDER BY a.number DESC LIMIT ?4
            """,
            (listed(accounts), bot_id, after, limit),
        )
        return [(_attempt(row), row[-1]) for row in rows]

    return await db.read(unit)


async def failed_since(db: Database, bot_id: str, since: int, after: int) -> list[int]:
    """The events behind the one with the number `after` whose latest attempt, made at `since` or later, failed; oldest first.

    Tests are not among them.
    """

    def unit(connection: Connection) -> list[int]:
        rows = connection.execute(
            """
            SELECT a.event_number FROM webhook_attempts a JOIN webhook_events e ON e.number = a.event_number
            WHERE a.bot_id = ? AND a.at >= ? AND a.event_number > ? AND a.success = 0 AND e.event <> 'webhook.test'
              AND a.number = (SELECT max(number) FROM webhook_attempts WHERE event_number = a.event_number)
            ORDER BY a.event_number
            """,
            (bot_id, since, after),
        )
        return [row[0] for row in rows]

    return await db.read(unit)


async def events_since(db: Database, bot_id: str, since: int, after: int, limit: int) -> list[Event]:
    """Read a bot's events since an instant, oldest first, without test events.

    after: number of the last event of the page before.
    """

    def unit(connection: Connection) -> list[Event]:
        rows = connection.execute(
            f"""
            SELECT {EVENT} FROM webhook_events
            WHERE bot_id = ? AND created_at >= ? AND number > ? AND event <> 'webhook.test' ORDER BY number LIMIT ?
            """,
            (bot_id, since, after, limit),
        )
        return [Event(*row) for row in rows]

    return await db.read(unit)
