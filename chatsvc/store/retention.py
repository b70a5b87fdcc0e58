"""What is too old to be kept, deleted a batch at a time: each is a unit so small that the writers beside it hardly notice."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from chatsvc.domain.models import CHANNELS
from chatsvc.domain.times import DAY_MS
from chatsvc.store import erasure
from chatsvc.store.database import Database

BATCH = erasure.BATCH

# CROSS JOIN holds SQLite to the order: the few bots or accounts first, and of each only what an index finds.
_CHANNELS = ", ".join(f"'{channel}'" for channel in CHANNELS)
_OLD_CONVERSATIONS = f"""
    SELECT c.number, c.account_id FROM bots b CROSS JOIN conversations c
    ON c.bot_id = b.id AND c.channel IN ({_CHANNELS}) AND c.last_message_at < ? LIMIT ?
"""
# What was sent again lately, is on its way or is still to be sent is not old.
_OLD_EVENTS = """
    SELECT e.number FROM bots b CROSS JOIN webhook_events e ON e.bot_id = b.id AND e.created_at < ?1
    WHERE e.state <> 0 AND NOT EXISTS
        (SELECT 1 FROM webhook_attempts a WHERE a.event_number = e.number AND (a.success IS NULL OR a.at >= ?1)) LIMIT ?2
"""


async def conversations(db: Database, before: int, applied: Callable[[set[str]], None]) -> set[str]:
    """Delete from conversations whose last message is older, with all that hangs on them; gives their accounts, none at the end."""

    def unit(connection: sqlite3.Connection) -> set[str]:
        accounts: set[str] = set()
        old, room = connection.execute(_OLD_CONVERSATIONS, (before, BATCH)).fetchall(), BATCH
        while old and room > 0:
            number, account = old[-1]
            erased = erasure.some_in(connection, number)
            accounts.add(account)
            room -= sum(erased)
            if erased.conversations:
                old.pop()
        return accounts

    return await db.write(unit, applied)


async def answers(db: Database, now: int) -> bool:
    """Delete answers kept under an Idempotency-Key for longer than they are good for; False at the end."""
    statement = """
        DELETE FROM idempotency_keys WHERE (account_id, key) IN
            (SELECT account_id, key FROM idempotency_keys WHERE created_at <= ? LIMIT ?)
    """
    return await db.write(lambda connection: connection.execute(statement, (now - DAY_MS, BATCH)).rowcount == BATCH)


async def events(db: Database, before: int) -> bool:
    """Delete webhook events that are older, with their attempts; False at the end."""

    def unit(connection: sqlite3.Connection) -> bool:
        old = connection.execute(_OLD_EVENTS, (before, BATCH)).fetchall()
        connection.executemany("DELETE FROM webhook_attempts WHERE event_number = ?", old)
        connection.executemany("DELETE FROM webhook_events WHERE number = ?", old)
        return len(old) == BATCH

    return await db.write(unit)


async def usage(db: Database, before: int) -> bool:
    """Delete usage records that are older; False at the end."""
    statement = """
        DELETE FROM usage_records WHERE number IN
            (SELECT u.number FROM accounts a CROSS JOIN usage_records u ON u.account_id = a.id AND u.created_at < ? LIMIT ?)
    """
    return await db.write(lambda connection: connection.execute(statement, (before, BATCH)).rowcount == BATCH)
