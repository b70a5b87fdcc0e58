"""Messages of the channels. Stored before they are answered, and replies stored before they are sent.

A visitor's message is `pending` until its turn is settled: by a reply, by a sentence in place of one, or by silence while an operator
has the conversation. A reply with the delivery state `queued` waits to be sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

from chatsvc.domain.channels import START, outbox_of
from chatsvc.domain.models import CHANNELS, Conversation, Message
from chatsvc.domain.times import DAY_MS
from chatsvc.store import search
from chatsvc.store.conversations import COLUMNS, MESSAGE_COLUMNS
from chatsvc.store.database import Connection, Database
from chatsvc.store.exchanges import id_by_time, new_ids

# Platforms deliver again for up to seven days.
KEYS_MS = 8 * DAY_MS
_MOST_NUMBER = 2**63 - 1
_CLEANED = 8  # old keys deleted with each new one


class NewMessage(NamedTuple):
    """A visitor's message as its channel brought it. `digest` is that of the key with which it was sent, `at` its time.

    `kind` is None for a text, START for the beginning of a conversation, and else that of its content, such as "photo".
    """

    account_id: str
    bot_id: str
    channel: str
    user_id: str
    text: str
    digest: bytes
    at: int
    source_page_host: str = ""
    kind: str | None = None


class StoredMessage(NamedTuple):
    """A stored message of a visitor. `is_new` is False where it had come before; `text` is what came first.

    `begins`: it is the first of its conversation. `handling` is that of the conversation where no other message waits, else None.
    """

    number: int
    conversation_id: str
    bot_id: str
    channel: str
    user_id: str
    text: str
    at: int
    source_page_host: str
    kind: str | None = None
    is_new: bool = False
    begins: bool = False
    handling: str | None = None


_FIELDS = "m.number, c.id, c.bot_id, c.channel, c.user_id, m.content, m.created_at, c.source_page_host, m.kind"
_FROM = "FROM messages m JOIN conversations c ON c.number = m.conversation"
_STORED = f"SELECT {_FIELDS} {_FROM}"


async def receive(db: Database, message: NewMessage, applied: Callable[[StoredMessage | None], None]) -> StoredMessage | None:
    """Store a visitor's message. Return the stored one for a key that came before, None where that or the account was erased."""

    def unit(connection: Connection) -> StoredMessage | None:
        m = message
        if not connection.execute("SELECT 1 FROM accounts WHERE id = ? AND deleted_at IS NULL", (m.account_id,)).fetchone():
            return None
        if connection.execute("SELECT 1 FROM incoming_keys WHERE digest = ?", (m.digest,)).fetchone():
            row = connection.execute(f"{_STORED} WHERE m.incoming = ?", (m.digest,)).fetchone()
            return StoredMessage(*row) if row else None
        connection.execute(
            "DELETE FROM incoming_keys WHERE digest IN (SELECT digest FROM incoming_keys WHERE bot_id = ? AND created_at <= ? LIMIT ?)",
            (m.bot_id, m.at - KEYS_MS, _CLEANED),
        )
        connection.execute("INSERT INTO incoming_keys (digest, bot_id, created_at) VALUES (?, ?, ?)", (m.digest, m.bot_id, m.at))
        conversation, begins = _conversation(connection, m)
        search.queue(connection, [conversation])
        cursor = connection.execute(
            """
            INSERT INTO messages (conversation, id, role, content, created_at, incoming, kind, pending)
            VALUES (?, ?, 'user', ?, ?, ?, ?, 1)
            """,
            (conversation, *new_ids(1), m.text, m.at, m.digest, m.kind),
        )
        row = connection.execute(
            f"""
            SELECT {_FIELDS}, CASE WHEN EXISTS (SELECT 1 FROM messages o WHERE o.conversation = ?2 AND o.pending = 1 AND o.number < ?1)
                THEN NULL ELSE c.handling END {_FROM} WHERE m.number = ?1
            """,
            (cursor.lastrowid, conversation),
        ).fetchone()
        return StoredMessage(*row[:-1])._replace(is_new=True, begins=begins, handling=row[-1])

    return await db.write(unit, applied)


def _conversation(connection: Connection, m: NewMessage) -> tuple[int, bool]:
    """Insert or update the conversation of a visitor's message. Returns its number, and whether it is new."""
    row = connection.execute(
        """
        UPDATE conversations SET message_count = message_count + 1, last_message_at = max(last_message_at, ?4),
            updated_at = max(updated_at, ?4), source_page_host = CASE ?5 WHEN '' THEN source_page_host ELSE ?5 END
        WHERE bot_id = ?1 AND channel = ?2 AND user_id = ?3 RETURNING number
        """,
        (m.bot_id, m.channel, m.user_id, m.at, m.source_page_host),
    ).fetchone()
    if row:
        return int(row[0]), False
    cursor = connection.execute(
        """
        INSERT INTO conversations (id, account_id, bot_id, channel, user_id, last_message_at, created_at, updated_at, message_count,
            source_page_host)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?6, 1, ?7)
        """,
        (id_by_time(m.at), m.account_id, m.bot_id, m.channel, m.user_id, m.at, m.source_page_host),
    )
    connection.execute(
        """
        INSERT INTO conversation_counts (account_id, bot_id, channel, conversations) VALUES (?, ?, ?, 1)
        ON CONFLICT DO UPDATE SET conversations = conversations + 1
        """,
        (m.account_id, m.bot_id, m.channel),
    )
    return int(cursor.lastrowid or 0), True


async def unsettled(db: Database, message: StoredMessage) -> list[tuple[StoredMessage, str]]:
    """List a conversation's unsettled messages up to this one by their own times. Each comes with the handling."""

    def unit(connection: Connection) -> list[tuple[StoredMessage, str]]:
        rows = connection.execute(
            f"""
            SELECT {_FIELDS}, c.handling {_FROM} WHERE m.pending = 1 AND (m.created_at, m.number) <= (?1, ?2) AND c.bot_id = ?3
                AND c.channel = ?4 AND c.user_id = ?5 ORDER BY m.created_at, m.number
            """,
            (message.at, message.number, message.bot_id, message.channel, message.user_id),
        )
        return [(StoredMessage(*row[:-1]), row[-1]) for row in rows]

    return await db.read(unit)


async def follows_no_text(db: Database, message: StoredMessage) -> bool:
    """Report whether the visitor's message before this one was no text either."""

    def unit(connection: Connection) -> bool:
        row = connection.execute(
            """
            SELECT coalesce(kind, ?2) FROM messages WHERE conversation = (SELECT conversation FROM messages WHERE number = ?1)
                AND number < ?1 AND role = 'user' ORDER BY number DESC LIMIT 1
            """,
            (message.number, START),
        ).fetchone()
        return row is not None and row[0] != START

    return await db.read(unit)


class NoticeSentence(NamedTuple):
    """A sentence of the bot that is no reply of an engine. `dialogue` replaces the state of the dialogue where it is given.

    `choices` are offered as buttons where the channel has them.
    """

    text: str
    at: int
    delivery: str | None
    dialogue: str | None = None
    choices: tuple[str, ...] = ()


async def settle(db: Database, number: int, sentence: NoticeSentence | None, handling: str | None = None) -> bool:
    """Settle a turn without charge: with a sentence, or silently. `handling` is that of the conversation from then on.

    Returns False and writes nothing where it was settled before. Where an operator took over meanwhile nothing is said.
    """

    def unit(connection: Connection) -> bool:
        row = connection.execute(
            "UPDATE messages SET pending = NULL WHERE number = ? AND pending = 1 RETURNING conversation", (number,)
        ).fetchone()
        if row is None:
            return False
        conversation = int(row[0])
        now = connection.execute("SELECT handling FROM conversations WHERE number = ?", (conversation,)).fetchone()[0]
        if sentence is None or now != "bot":
            return True
        say(connection, conversation, sentence)
        if handling is not None:
            connection.execute(
                "UPDATE conversations SET handling = ?, handling_since = ? WHERE number = ?", (handling, sentence.at, conversation)
            )
        return True

    return await db.write(unit)


def say(connection: Connection, conversation: int, sentence: NoticeSentence, role: str = "assistant", author: str | None = None) -> int:
    """Append a message to a conversation within a unit; return its number."""
    s = sentence
    bot_id, channel = connection.execute("SELECT bot_id, channel FROM conversations WHERE number = ?", (conversation,)).fetchone()
    outbox, choices = outbox_of(channel, bot_id, s.delivery), json.dumps(s.choices) if s.choices else None
    cursor = connection.execute(
        """
        INSERT INTO messages (conversation, id, role, content, created_at, author, delivery, outbox, choices)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (conversation, *new_ids(1), role, s.text, s.at, author, s.delivery, outbox, choices),
    )
    connection.execute(
        """
        UPDATE conversations SET message_count = message_count + 1, last_message_at = max(last_message_at, ?2),
            updated_at = max(updated_at, ?2), dialogue = coalesce(?3, dialogue) WHERE number = ?1
        """,
        (conversation, s.at, s.dialogue),
    )
    search.queue(connection, [conversation])
    return int(cursor.lastrowid or 0)


class UnfinishedTurn(NamedTuple):
    """Number, account and bot of a visitor's message whose turn is not settled."""

    account_id: str
    bot_id: str
    number: int


async def pending(db: Database) -> list[UnfinishedTurn]:
    """List the messages of all channels whose turns are not settled, oldest first."""

    def unit(connection: Connection) -> list[UnfinishedTurn]:
        rows = connection.execute(f"SELECT c.account_id, c.bot_id, m.number {_FROM} WHERE m.pending = 1 ORDER BY m.number")
        return [UnfinishedTurn(*row) for row in rows]

    return await db.read(unit)


async def pending_message(db: Database, number: int) -> StoredMessage | None:
    """Read a message whose turn is not settled. None where it has been settled or erased."""

    def unit(connection: Connection) -> StoredMessage | None:
        row = connection.execute(f"{_STORED} WHERE m.pending = 1 AND m.number = ?", (number,)).fetchone()
        return StoredMessage(*row) if row else None

    return await db.read(unit)


class News(NamedTuple):
    """A conversation with its messages behind a number, oldest first."""

    conversation: Conversation
    messages: list[Message]


async def news(db: Database, visitor: tuple[str, str, str], after: int, limit: int, before: int | None = None) -> News | None:
    """Read messages of a conversation (bot, channel, user) numbered between `after` and `before`. None where there is none.

    Of more than `limit` messages the newest are read.
    """

    def unit(connection: Connection) -> News | None:
        row = connection.execute(
            f"SELECT {COLUMNS}, number FROM conversations WHERE bot_id = ? AND channel = ? AND user_id = ?", visitor
        ).fetchone()
        if row is None:
            return None
        rows = connection.execute(
            f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE conversation = ? AND number > ? AND number < ? ORDER BY number DESC LIMIT ?",
            (row[-1], after, _MOST_NUMBER if before is None else before, limit),
        ).fetchall()
        return News(Conversation(*row[:-1]), [Message(*one) for one in reversed(rows)])

    return await db.read(unit)


async def deliver(db: Database, numbers: list[int], delivery: str, error: str | None = None) -> None:
    """Write the delivery state of messages."""

    def unit(connection: Connection) -> None:
        connection.executemany(
            "UPDATE messages SET delivery = ?, error = ? WHERE number = ?", [(delivery, error, number) for number in numbers]
        )

    await db.write(unit)


async def rate(db: Database, visitor: tuple[str, str, str], message_id: str, feedback: str | None) -> bool:
    """Write the visitor's thumb on a reply of the conversation. False where there is no such reply."""

    def unit(connection: Connection) -> bool:
        return (
            connection.execute(
                """
                UPDATE messages SET feedback = ?4 WHERE id = ?5 AND role = 'assistant' AND conversation =
                    (SELECT number FROM conversations WHERE bot_id = ?1 AND channel = ?2 AND user_id = ?3)
                """,
                (*visitor, feedback, message_id),
            ).rowcount
            == 1
        )

    return await db.write(unit)


async def begun_since(db: Database, bot_id: str, channel: str, since: int) -> int:
    """Count a bot's conversations on a channel that began at or after a time."""

    def unit(connection: Connection) -> int:
        row = connection.execute(
            "SELECT count(*) FROM conversations WHERE bot_id = ?1 AND channel = ?2 AND last_message_at >= ?3 AND created_at >= ?3",
            (bot_id, channel, since),
        ).fetchone()
        return int(row[0])

    return await db.read(unit)


_RECENT_CONVERSATIONS = 100  # of each channel


async def recent_evidence(db: Database, bot_id: str) -> list[str]:
    """List the origins (JSON) of the replies in a bot's most recent conversations."""

    def unit(connection: Connection) -> list[str]:
        rows = connection.execute(
            """
            SELECT m.evidence FROM json_each(?2) channel CROSS JOIN conversations c ON c.number IN (SELECT n.number FROM conversations n
                WHERE n.bot_id = ?1 AND n.channel = channel.value ORDER BY n.last_message_at DESC, n.number DESC LIMIT ?3)
            CROSS JOIN messages m ON m.conversation = c.number WHERE m.evidence IS NOT NULL
            """,
            (bot_id, json.dumps(CHANNELS), _RECENT_CONVERSATIONS),
        )
        return [evidence for (evidence,) in rows]

    return await db.read(unit)


def interrupt_all(connection: Connection) -> None:
    """Settle all turns and give up all queued messages, after a restore. They may have been sent since."""
    connection.execute("UPDATE messages SET pending = NULL WHERE pending = 1")
    connection.execute("UPDATE messages SET delivery = 'unknown', outbox = NULL, in_flight = NULL WHERE delivery = 'queued'")
