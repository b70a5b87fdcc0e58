"""Reads whole conversations page by page in bounded memory, and visitors' questions to a bot.

Conversations come by bot, channel and visitor, which no new message changes.
"""

from collections import Counter
from typing import Any, NamedTuple

from chatsvc.domain.models import Conversation, Message
from chatsvc.store.conversations import COLUMNS
from chatsvc.store.database import Connection, reads
from chatsvc.store.owners import ACCOUNT_IN_SCOPE, Accounts, listed

PAGE = 1_000_000  # characters of messages, or a little more
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
    """Position of an export of conversations.

    told: number of the last message read. until: number of the last message when the conversation was begun.
    """

    bot_id: str
    channel: str = ""
    user_id: str = ""
    told: int = 0
    until: int = 0


class Part(NamedTuple):
    """Some messages of a conversation, oldest first. Says whether they are its first and its last.

    conversation: None if it was erased meanwhile.
    """

    conversation: Conversation | None
    messages: list[Message]
    begins: bool
    ends: bool


@reads
def walk(
    connection: Connection, accounts: Accounts, bot_id: str | None, after: TranscriptPosition | None
) -> tuple[list[Part], TranscriptPosition | None]:
    """Read the next page of conversations, of one bot or of all `accounts`.

    Returns the position behind it as well, None at the end.
    """
    position, room = after or TranscriptPosition(bot_id or ""), PAGE
    parts: list[Part] = []
    while room > 0:
        begins = position.told >= position.until
        statement = _SAME if not begins else _NEXT if bot_id is None else _NEXT_OF_BOT
        row: tuple[Any, ...] | None = connection.execute(statement, (listed(accounts), *position[:3])).fetchone()
        if begins and row is None:
            return parts, None
        if begins and row is not None:
            last = connection.execute("SELECT coalesce(max(number), 0) FROM messages WHERE conversation = ?", row[-1:]).fetchone()[0]
            position = TranscriptPosition(row[1], row[2], row[3], 0, last)
        messages, told, room = _messages(connection, row[-1], position, room) if row else ([], position.until, room)
        position = position._replace(told=told)
        parts.append(Part(Conversation(*row[:-1]) if row else None, messages, begins, told >= position.until))
    return parts, position


@reads
def questions(connection: Connection, bot_id: str, limit: int) -> list[tuple[str, int]]:
    """List the visitors' messages to a bot, each text once with its count. `limit` messages are read."""
    rows = connection.execute(
        """
        SELECT m.content FROM conversations c CROSS JOIN messages m ON m.conversation = c.number
        WHERE c.bot_id = ? AND m.role = 'user' ORDER BY c.channel DESC, c.last_message_at DESC, c.number DESC LIMIT ?
        """,
        (bot_id, limit),
    )
    return list(Counter(content for (content,) in rows).items())


def _messages(connection: Connection, conversation: int, position: TranscriptPosition, room: int) -> tuple[list[Message], int, int]:
    """Messages as far as there is room. The number of the last one told, and the room that is left."""
    rows = connection.execute(
        "SELECT number, id, role, content, created_at FROM messages WHERE conversation = ? AND number > ? AND number <= ? ORDER BY number",
        (conversation, *position[3:]),
    )
    messages: list[Message] = []
    room -= _EACH
    for number, *message in rows:
        messages.append(Message(*message))
        room -= len(message[2]) + _EACH
        if room <= 0:
            rows.close()
            return messages, number, room
    return messages, position.until, room
