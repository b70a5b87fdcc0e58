"""Conversations and their messages, read; store/exchanges.py writes them."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from chatsvc.domain.cursors import Position
from chatsvc.domain.models import CHANNELS, Conversation, Message, Said
from chatsvc.store.database import Database, Together

COLUMNS = "id, bot_id, channel, user_id, visitor_name, visitor_email, last_message_at, created_at, updated_at, message_count"


class Page(NamedTuple):
    """One page of a list, the total of all that match, and whether more follow; `last` is the keyset position of the last item."""

    items: list[Conversation]
    total: int
    has_more: bool
    last: tuple[int, int] | None


async def page(
    db: Database, account_id: str, limit: int, *, bot_id: str | None = None, channel: str | None = None, after: Position | None = None
) -> Page:
    """Conversations by `last_message_at`, newest first: of a bot, which the caller has checked to be its own, or of an account."""
    channels = CHANNELS if channel is None else tuple(known for known in CHANNELS if known == channel)
    owner, name = (bot_id, "bot_id") if bot_id is not None else (account_id, "account_id")
    counts = f"SELECT coalesce(sum(conversations), 0) FROM conversation_counts WHERE account_id = ? {'AND bot_id = ?' if bot_id else ''}"
    # One walk of an index for each channel, merged as far as the page goes: two indexes serve every filter.
    behind = "AND (last_message_at, number) < (?, ?)" if after else ""
    one = f"SELECT {COLUMNS}, number FROM conversations WHERE {name} = ? AND channel = ? {behind}"
    union = " UNION ALL ".join([one] * len(channels)) + " ORDER BY last_message_at DESC, number DESC LIMIT ?"
    arguments: list[object] = []
    for each in channels:
        arguments += [owner, each, *((after.instant, after.number) if after else ())]

    def unit(connection: sqlite3.Connection) -> Page:
        if not channels:
            return Page([], 0, False, None)
        by_channel = f"{counts} AND channel IN ({', '.join('?' * len(channels))})"
        owners = (account_id, bot_id) if bot_id else (account_id,)
        total = connection.execute(by_channel, (*owners, *channels)).fetchone()[0]
        rows = connection.execute(union, (*arguments, limit + 1)).fetchall()
        has_more = len(rows) > limit
        rows = rows[:limit]
        last = (rows[-1][6], rows[-1][-1]) if rows else None
        return Page([Conversation(*row[:-1]) for row in rows], total, has_more, last)

    return await db.read(unit)


class Thread(NamedTuple):
    """A conversation with its newest messages, oldest first."""

    conversation: Conversation
    messages: list[Message]


def _messages(connection: sqlite3.Connection, number: int, limit: int) -> list[Message]:
    rows = connection.execute(
        "SELECT id, role, content, created_at FROM messages WHERE conversation = ? ORDER BY number DESC LIMIT ?", (number, limit)
    ).fetchall()
    return [Message(*row) for row in reversed(rows)]


async def find(db: Database, account_id: str | None, conversation_id: str, message_limit: int) -> Thread | None:
    """One conversation of the account, with its newest messages; for the administrator (`account_id` None) of any."""

    def unit(connection: sqlite3.Connection) -> Thread | None:
        row = connection.execute(
            f"SELECT {COLUMNS}, number FROM conversations WHERE id = ? AND account_id = coalesce(?, account_id)",
            (conversation_id, account_id),
        ).fetchone()
        return Thread(Conversation(*row[:-1]), _messages(connection, row[-1], message_limit)) if row else None

    return await db.read(unit)


class Past(NamedTuple):
    """What a conversation brings to its next answer: its newest messages, the engine's own note, and what it captured lately."""

    history: list[Said]
    dialogue: str | None
    captured: int


NO_PAST = Past([], None, 0)


def _pasts(connection: sqlite3.Connection, asked: list[tuple[str, str, str, int, int]]) -> list[Past]:
    return [_past(connection, one) for one in asked]


def _past(connection: sqlite3.Connection, asked: tuple[str, str, str, int, int]) -> Past:
    rows = connection.execute(
        """
        SELECT m.role, m.content, c.dialogue,
            (SELECT count(*) FROM requests r WHERE r.conversation = c.number AND r.created_at >= ?5)
        FROM conversations c LEFT JOIN messages m ON m.conversation = c.number
        WHERE c.bot_id = ?1 AND c.channel = ?2 AND c.user_id = ?3 ORDER BY m.number DESC LIMIT ?4
        """,
        asked,
    ).fetchall()
    if not rows:
        return NO_PAST
    # A conversation has messages, unless what wrote it was not this program; the join gives one row then, of nothing.
    return Past([Said(*row[:2]) for row in reversed(rows) if row[0] is not None], *rows[0][2:])


async def past(db: Database, conversation: tuple[str, str, str], limit: int, since: int) -> Past:
    """The past of a conversation (bot, channel, user): `limit` messages, oldest first, and the number of requests since an instant."""
    return await db.read(Together(_pasts, (*conversation, limit, since)))
