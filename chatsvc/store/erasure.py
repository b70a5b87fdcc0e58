"""What goes with a conversation when it goes: because its visitor asks for it, or because it is old.

Small batches, each a transaction that leaves the counts right, so that nobody beside waits noticeably and a crash between two of
them leaves a conversation that is shorter and whole.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import NamedTuple

from chatsvc.domain.models import CHANNELS
from chatsvc.store.database import Database

BATCH = 200


class Erased(NamedTuple):
    """How many records of each kind have gone."""

    conversations: int = 0
    messages: int = 0
    requests: int = 0
    appointments: int = 0
    events: int = 0
    attempts: int = 0

    def plus(self, other: Erased) -> Erased:
        """Both together."""
        return Erased(*(one + more for one, more in zip(self, other, strict=True)))


class Place(NamedTuple):
    """Which conversation: at most one for each bot, channel and visitor."""

    account_id: str
    bot_id: str
    channel: str
    user_id: str


async def places(db: Database, user_id: str, bot_id: str | None) -> list[Place]:
    """The conversations of a visitor, with one bot or with all."""
    channels = ", ".join("?" * len(CHANNELS))

    def unit(connection: sqlite3.Connection) -> list[Place]:
        rows = connection.execute(
            f"""
            SELECT c.account_id, c.bot_id, c.channel, c.user_id FROM bots b CROSS JOIN conversations c
            ON c.bot_id = b.id AND c.channel IN ({channels}) AND c.user_id = ? WHERE b.id = coalesce(?, b.id)
            """,
            (*CHANNELS, user_id, bot_id),
        )
        return [Place(*row) for row in rows]

    return await db.read(unit)


async def some_of(db: Database, place: Place, applied: Callable[[Erased], None]) -> Erased | None:
    """Erase one batch of a conversation with what hangs on it; None once nothing of it is left."""

    def unit(connection: sqlite3.Connection) -> Erased | None:
        row = connection.execute("SELECT number FROM conversations WHERE bot_id = ? AND channel = ? AND user_id = ?", place[1:]).fetchone()
        return some_in(connection, row[0]) if row else None

    return await db.write(unit, lambda erased: applied(erased) if erased else None)


def some_in(connection: sqlite3.Connection, conversation: int) -> Erased:
    """Erase one batch of a conversation within a unit: what it captured first, then its messages, itself at the end."""
    erased = _captures(connection, conversation)
    if erased.requests:
        return erased
    messages = connection.execute(
        "DELETE FROM messages WHERE number IN (SELECT number FROM messages WHERE conversation = ? ORDER BY number LIMIT ?)",
        (conversation, BATCH),
    ).rowcount
    if messages == BATCH:
        connection.execute("UPDATE conversations SET message_count = message_count - ? WHERE number = ?", (messages, conversation))
        return Erased(messages=messages)
    owner = connection.execute(
        "DELETE FROM conversations WHERE number = ? RETURNING account_id, bot_id, channel", (conversation,)
    ).fetchone()
    connection.execute(
        "UPDATE conversation_counts SET conversations = conversations - 1 WHERE account_id = ? AND bot_id = ? AND channel = ?", owner
    )
    return Erased(conversations=1, messages=messages)


def _captures(connection: sqlite3.Connection, conversation: int) -> Erased:
    records = connection.execute(
        """
        SELECT r.number, r.bot_id, r.created_at, r.id, a.id FROM requests r LEFT JOIN appointments a ON a.request = r.number
        WHERE r.conversation = ? ORDER BY r.created_at LIMIT ?
        """,
        (conversation, BATCH),
    ).fetchall()
    if not records:
        return Erased()
    # An event bears the time of the request that it tells of, which is how the index finds it.
    find = "SELECT number FROM webhook_events WHERE bot_id = ? AND created_at = ? AND record_id IN (?, ?)"
    events = [event for record in records for event in connection.execute(find, record[1:]).fetchall()]
    numbers = [record[:1] for record in records]
    attempts = connection.executemany("DELETE FROM webhook_attempts WHERE event_number = ?", events).rowcount if events else 0
    connection.executemany("DELETE FROM webhook_events WHERE number = ?", events)
    appointments = connection.executemany("DELETE FROM appointments WHERE request = ?", numbers).rowcount
    connection.executemany("DELETE FROM requests WHERE number = ?", numbers)
    return Erased(0, 0, len(records), appointments, len(events), attempts)


async def forget_answers(db: Database, user_id: str, bot_id: str | None, until: int) -> None:
    """Forget the answers kept under an Idempotency-Key for a visitor's messages that were accepted up to an instant."""

    def find(connection: sqlite3.Connection) -> list[tuple[str, str]]:
        # The first two fields of the exchange are the bot and the visitor; looking for the text alone spares most rows the parsing.
        return connection.execute(
            """
            SELECT account_id, key FROM idempotency_keys WHERE created_at <= ?1 AND instr(exchange, ?2)
            AND json_extract(exchange, '$[1]') = ?3 AND json_extract(exchange, '$[0]') = coalesce(?4, json_extract(exchange, '$[0]'))
            """,
            (until, json.dumps(user_id), user_id, bot_id),
        ).fetchall()

    kept = await db.read(find)
    while kept:
        batch, kept = kept[:BATCH], kept[BATCH:]
        await db.write(_forgetting(batch))


def _forgetting(batch: list[tuple[str, str]]) -> Callable[[sqlite3.Connection], int]:
    return lambda connection: connection.executemany("DELETE FROM idempotency_keys WHERE account_id = ? AND key = ?", batch).rowcount
