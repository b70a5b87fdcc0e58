"""Queries for conversations: pages, single conversations, an engine's history and exports. search_queries.py has the filters."""

import json
from collections import Counter
from itertools import starmap
from operator import itemgetter
from typing import Any, NamedTuple

from chatsvc.domain import refusals
from chatsvc.domain.captures import CapturedRecord
from chatsvc.domain.models import CHANNELS, Conversation, ConversationKey, HistoryMessage, Message
from chatsvc.domain.paging import Position
from chatsvc.store import captures
from chatsvc.store.database import LAST, Connection, assign, quick, reads, writes
from chatsvc.store.owners import ACCOUNT_IN_SCOPE, Accounts, listed

MAX_RECORDS = 20
COLUMNS = (
    "id, bot_id, channel, user_id, visitor_name, visitor_email, last_message_at, created_at, updated_at, message_count,"
    " handling, handling_since, operator_id, operator_name, source_page_host, missed_at"
)
MESSAGE_COLUMNS = ", ".join(Message._fields)


OF_A_PAGE = ", ".join(f"c.{name.strip()}" for name in COLUMNS.split(","))


# ?1 is the account, ?2 the bot, ?3 are the channels, ?4 is the limit, ?5 and ?6 the position. Two indexes serve every filter: their first
# rows of each channel are merged, and the records of those that come out of that alone are read.
_PAGES = {
    owner: f"""
        SELECT {OF_A_PAGE}, c.number, total.conversations FROM (
            SELECT coalesce(sum(conversations), 0) AS conversations FROM conversation_counts
            WHERE account_id = ?1 AND (?2 IS NULL OR bot_id = ?2) AND channel IN (SELECT value FROM json_each(?3))
        ) total
        LEFT JOIN (
            SELECT c.last_message_at, c.number FROM json_each(?3) channel CROSS JOIN conversations c ON c.number IN (
                SELECT n.number FROM conversations n
                WHERE {owner} AND n.channel = channel.value AND (n.last_message_at, n.number) < (?5, ?6)
                ORDER BY n.last_message_at DESC, n.number DESC LIMIT ?4)
            ORDER BY c.last_message_at DESC, c.number DESC LIMIT ?4
        ) page ON true
        LEFT JOIN conversations c ON c.number = page.number
    """
    for owner in ("n.account_id = ?1", "n.bot_id = ?2")
}


@quick
def page(
    connection: Connection,
    account_id: str,
    limit: int,
    *,
    bot_id: str | None = None,
    channel: str | None = None,
    after: Position | None = None,
) -> tuple[list[Conversation], int, tuple[int, int] | None]:
    """Read the conversations of an account, or of one of its bots, newest first. The caller has checked the bot.

    Return a page, the number of all matching conversations, and the keyset position of the page's last conversation if more follow.
    """
    channels = json.dumps([known for known in CHANNELS if channel in (None, known)])
    position = after[:2] if after else (LAST, LAST)
    pages = _PAGES["n.account_id = ?1" if bot_id is None else "n.bot_id = ?2"]
    rows = connection.execute(pages, (account_id, bot_id, channels, limit + 1, *position)).fetchall()
    *_, last, total = rows[0]
    if last is None:
        return [], total, None
    # They come in the order of the subquery, which SQL does not promise.
    rows.sort(key=itemgetter(6, -2), reverse=True)
    following = (rows[limit - 1][6], rows[limit - 1][-2]) if len(rows) > limit else None
    return [Conversation(*row[:-2]) for row in rows[:limit]], total, following


class Thread(NamedTuple):
    """A conversation with its newest messages, oldest first."""

    conversation: Conversation
    messages: list[Message]


def owned(connection: Connection, accounts: Accounts, conversation_id: str) -> tuple[Conversation, int]:
    """Read a conversation of these accounts (None for all) and its row number, within a unit; raises `conversation_not_found`."""
    find = f"SELECT {COLUMNS}, number FROM conversations WHERE id = ?2 AND {ACCOUNT_IN_SCOPE}"
    row = connection.execute(find, (listed(accounts), conversation_id)).fetchone()
    if row is None:
        raise refusals.conversation_not_found(conversation=conversation_id)
    return Conversation(*row[:-1]), row[-1]


@reads
def find(connection: Connection, accounts: Accounts, conversation_id: str, message_limit: int = 0) -> Thread:
    """Read a conversation of these accounts (None for all) with its newest messages; raises `conversation_not_found`."""
    conversation, number = owned(connection, accounts, conversation_id)
    newest = f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE conversation = ? ORDER BY number DESC LIMIT ?"
    messages = connection.execute(newest, (number, message_limit)).fetchall() if message_limit else []
    return Thread(conversation, [Message(*message) for message in reversed(messages)])


CHANGEABLE = frozenset(
    {"handling", "handling_since", "operator_id", "operator_name", "missed_at", "waiting_since", "updated_at", "assignee", "labels"}
    | {"set_aside_at", "set_aside_until", "visitor_name", "visitor_email", "visitor_phone", "visitor_note"}
)


def update(connection: Connection, number: int, **changes: object) -> Conversation:
    """Write the columns of a conversation that `changes` names, within a unit. Return the changed conversation."""
    statement = f"UPDATE conversations SET {assign(changes, CHANGEABLE)} WHERE number = ? RETURNING {COLUMNS}"
    return Conversation(*connection.execute(statement, (*changes.values(), number)).fetchone())


class ConversationHistory(NamedTuple):
    """A conversation's newest messages, the dialogue's state, the number of recent captures, and its newest records, oldest first."""

    messages: list[HistoryMessage]
    dialogue: str | None
    captured: int
    records: tuple[CapturedRecord, ...] = ()


NO_HISTORY = ConversationHistory([], None, 0)


@quick
def history(connection: Connection, conversation: ConversationKey, limit: int, since: int) -> ConversationHistory:
    """Read the history of a conversation: its newest `limit` messages, oldest first, and its captures from `since` on."""
    row = connection.execute(
        """
        SELECT c.number, c.dialogue, (SELECT min(r.conversation) FROM requests r WHERE r.conversation = c.number),
            (SELECT count(*) FROM requests r WHERE r.conversation = c.number AND r.created_at >= ? AND r.follows IS NULL)
        FROM conversations c WHERE c.bot_id = ? AND c.channel = ? AND c.user_id = ?
        """,
        (since, *conversation),
    ).fetchone()
    if row is None:
        return NO_HISTORY
    number, dialogue, capturing, captured = row
    messages = connection.execute(
        """
        SELECT replace(role, 'operator', 'assistant'), content FROM messages
        WHERE conversation = ? AND pending IS NULL ORDER BY number DESC LIMIT ?
        """,
        (number, limit),
    ).fetchall()
    records = captures.of_conversation(connection, number, MAX_RECORDS) if capturing is not None else ()
    return ConversationHistory(list(starmap(HistoryMessage, reversed(messages))), dialogue, captured, records)


@writes
def move_user(connection: Connection, bot_id: str, channel: str, before: str, after: str) -> None:
    """Move a conversation from the user_id `before` to `after`, unless `after` has a conversation already."""
    for table, others in (("conversations", "bot_id = ?1"), ("unanswered_askers", "bot_id = ?1 AND o.question = t.question")):
        connection.execute(
            f"""
            UPDATE {table} AS t SET user_id = ?4 WHERE bot_id = ?1 AND channel = ?2 AND user_id = ?3
            AND NOT EXISTS (SELECT 1 FROM {table} AS o WHERE o.{others} AND o.channel = ?2 AND o.user_id = ?4)
            """,
            (bot_id, channel, before, after),
        )


EXPORT_PAGE = 1_000_000  # characters of messages, or a little more
_EACH = 200  # what a record takes beside its text

# The conversation at a position, and the next one behind it, of the bot or of all.
_SAME, _NEXT_OF_BOT, _NEXT = (
    f"SELECT {COLUMNS}, number FROM conversations WHERE {condition} AND {ACCOUNT_IN_SCOPE} ORDER BY bot_id, channel, user_id LIMIT 1"
    for condition in (
        "bot_id = ?2 AND channel = ?3 AND user_id = ?4",
        "bot_id = ?2 AND (channel, user_id) > (?3, ?4)",
        "(bot_id, channel, user_id) > (?2, ?3, ?4)",
    )
)


class TranscriptPosition(NamedTuple):
    """Position in an export of conversations. `read_to` is the row number of the last message that was read.

    `until` is the row number of the conversation's last message when its export began. Later messages are left out.
    """

    bot_id: str
    channel: str = ""
    user_id: str = ""
    read_to: int = 0
    until: int = 0


class Part(NamedTuple):
    """Part of an exported conversation: some messages, oldest first. `begins` and `ends` tell whether the part is the first and the last.

    `conversation` is None if the conversation was erased during the export.
    """

    conversation: Conversation | None
    messages: list[Message]
    begins: bool
    ends: bool


@reads
def walk(
    connection: Connection, accounts: Accounts, bot_id: str | None, after: TranscriptPosition | None
) -> tuple[list[Part], TranscriptPosition | None]:
    """Read the next page of conversations, ordered by bot, channel and visitor. Return it with the next position, or None at the end."""
    position, room = after or TranscriptPosition(bot_id or ""), EXPORT_PAGE
    parts: list[Part] = []
    while room > 0:
        begins = position.read_to >= position.until
        statement = _SAME if not begins else _NEXT if bot_id is None else _NEXT_OF_BOT
        row: tuple[Any, ...] | None = connection.execute(statement, (listed(accounts), *position[:3])).fetchone()
        if begins and row is None:
            return parts, None
        if begins and row is not None:
            last = connection.execute("SELECT coalesce(max(number), 0) FROM messages WHERE conversation = ?", row[-1:]).fetchone()[0]
            position = TranscriptPosition(row[1], row[2], row[3], 0, last)
        messages: list[Message] = []
        read_to = position.until
        if row is not None:
            room -= _EACH
            rows = connection.execute(
                """
                SELECT number, id, role, content, created_at FROM messages
                WHERE conversation = ? AND number BETWEEN ? AND ? ORDER BY number
                """,
                (row[-1], position.read_to + 1, position.until),
            )
            for number, *message in rows:
                messages.append(Message(*message))
                room -= len(message[2]) + _EACH
                if room <= 0:
                    rows.close()
                    read_to = number
                    break
        position = position._replace(read_to=read_to)
        parts.append(Part(Conversation(*row[:-1]) if row else None, messages, begins, read_to >= position.until))
    return parts, position


@reads
def questions(connection: Connection, bot_id: str, limit: int) -> list[tuple[str, int]]:
    """List the distinct texts of visitors' messages to a bot, each with its count. At most `limit` messages are read."""
    rows = connection.execute(
        """
        SELECT m.content FROM conversations c CROSS JOIN messages m ON m.conversation = c.number
        WHERE c.bot_id = ? AND m.role = 'user' ORDER BY c.channel DESC, c.last_message_at DESC, c.number DESC LIMIT ?
        """,
        (bot_id, limit),
    )
    return list(Counter(content for (content,) in rows).items())
