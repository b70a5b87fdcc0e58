"""Query of an account's open work: missed visitors, appointments, failed webhook deliveries, refused sites, and first steps."""

from typing import NamedTuple

from chatsvc.domain.captures import InboxItem
from chatsvc.store import day_counts, inbox
from chatsvc.store.database import Connection, Database, change_any, reads, writes

MOST_FAILED = 20  # attempts read of each bot
_FOREVER = 2**62


class FailedDelivery(NamedTuple):
    """A failed delivery attempt of a webhook event that has no later attempt."""

    attempt_id: str
    bot_id: str
    event: str
    failed_at: int
    status_code: int | None
    error: str | None


class RefusedSite(NamedTuple):
    """A website that asked for a bot's widget but is not one of the bot's allowed sites."""

    bot_id: str
    site: str
    refused_at: int


class MissedVisitor(NamedTuple):
    """A visitor who waited for a person in vain, with the known contact data. `missed_at` is the time when the waiting ended."""

    conversation_id: str
    bot_id: str
    channel: str
    name: str | None
    email: str | None
    phone: str | None
    missed_at: int


class TodayRecords(NamedTuple):
    """Open work of an account, and the first steps that a new account has taken. Each list has at most `limit` records."""

    missed: list[MissedVisitor]
    appointments: list[InboxItem]
    failed: list[FailedDelivery]
    refused: list[RefusedSite]
    steps: dict[str, bool]


_APPOINTMENTS = """
    SELECT a.request FROM bots b CROSS JOIN appointments a ON a.number IN (
        SELECT n.number FROM appointments n
        WHERE n.bot_id = b.id AND n.appointment_at >= ?2 AND n.appointment_at < ?4 AND n.status <> 'canceled'
        ORDER BY n.appointment_at LIMIT ?3)
    WHERE b.account_id = ?1 ORDER BY a.appointment_at LIMIT ?3
"""
_FAILED = f"""
    SELECT a.id, a.bot_id, e.event, a.at, a.status_code, a.error FROM bots b CROSS JOIN webhook_attempts a ON a.number IN (
        SELECT n.number FROM webhook_attempts n WHERE n.bot_id = b.id AND n.success = 0 ORDER BY n.number DESC LIMIT {MOST_FAILED})
    CROSS JOIN webhook_events e ON e.number = a.event_number
    WHERE b.account_id = ?1 AND a.at >= ?2 AND e.event <> 'webhook.test'
        AND NOT EXISTS (SELECT 1 FROM webhook_attempts l WHERE l.event_number = a.event_number AND l.number > a.number)
    ORDER BY a.number DESC LIMIT ?3
"""
_REFUSED = """
    SELECT n.bot_id, n.refused_site, n.refused_at FROM bots b CROSS JOIN channels n ON n.bot_id = b.id
    WHERE b.account_id = ?1 AND n.refused_at >= ?2 ORDER BY n.refused_at DESC LIMIT ?3
"""
_MISSED = """
    SELECT c.id, c.bot_id, c.channel, c.visitor_name, c.visitor_email, (SELECT r.visitor_phone FROM requests r
        WHERE r.conversation = c.number AND r.visitor_phone IS NOT NULL ORDER BY r.created_at DESC LIMIT 1), c.missed_at
    FROM conversations c INDEXED BY conversations_missed WHERE c.account_id = ?1 AND c.missed_at IS NOT NULL
    ORDER BY c.last_message_at DESC, c.number DESC LIMIT ?2
"""
# Entries, a conversation or a trial, a valid key, a webhook, the widget.
STEPS = ("teach", "try", "key", "webhook", "embed")
_STEPS = """
    SELECT
        EXISTS (SELECT 1 FROM bots b CROSS JOIN knowledge_entries k ON k.bot_id = b.id WHERE b.account_id = ?1),
        EXISTS (SELECT 1 FROM conversation_counts WHERE account_id = ?1 AND conversations > 0)
            OR EXISTS (SELECT 1 FROM accounts WHERE id = ?1 AND tried_at IS NOT NULL),
        EXISTS (SELECT 1 FROM api_keys WHERE account_id = ?1 AND revoked_at IS NULL AND coalesce(expires_at, ?2 + 1) > ?2),
        EXISTS (SELECT 1 FROM bots b CROSS JOIN webhooks h ON h.bot_id = b.id WHERE b.account_id = ?1),
        EXISTS (SELECT 1 FROM bots b CROSS JOIN channels n ON n.bot_id = b.id AND n.channel = 'web' WHERE b.account_id = ?1)
"""


@reads
def read(connection: Connection, account_id: str, now: int, since: int, limit: int) -> TodayRecords:
    """Read an account's missed visitors, next appointments and first steps, and failed deliveries and refused sites since `since`."""
    return TodayRecords(
        [MissedVisitor(*row) for row in connection.execute(_MISSED, (account_id, limit))],
        _appointments(connection, account_id, now, _FOREVER, limit),
        [FailedDelivery(*row) for row in connection.execute(_FAILED, (account_id, since, limit))],
        [RefusedSite(*row) for row in connection.execute(_REFUSED, (account_id, since, limit))],
        dict(zip(STEPS, map(bool, connection.execute(_STEPS, (account_id, now)).fetchone()), strict=True)),
    )


def _appointments(connection: Connection, account_id: str, first: int, end: int, limit: int) -> list[InboxItem]:
    """Read an account's appointments from `first` until before `end` that are not canceled, in the order of their times."""
    rows = connection.execute(_APPOINTMENTS, (account_id, first, limit, end)).fetchall()
    return inbox.items_of(connection, [number for (number,) in rows])


appointments = reads(_appointments)


async def set_tried(db: Database, account_id: str, now: int) -> None:
    """Store the time of an account's first trial."""
    untried = "SELECT 1 FROM accounts WHERE id = ? AND tried_at IS NULL"
    await change_any(db, untried, (account_id,), "UPDATE accounts SET tried_at = ? WHERE id = ?", (now, account_id))


@writes
def count_trial(connection: Connection, bot_id: str, now: int, tokens: int, cost_micro_usd: int) -> None:
    """Add the tokens and the cost of a bot's trial to its counts of the day."""
    day_counts.add(connection, bot_id, now, {"trial_tokens": tokens, "trial_cost_micro_usd": cost_micro_usd})
