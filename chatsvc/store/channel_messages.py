"""Stores visitors' messages on channels, how their turns end, delivery states and feedback.

Replies of an engine are stored by store/exchanges.py.

A turn is the handling of one visitor's message, which is `pending` until the turn ends: with a reply, with a sentence in place of a reply,
or without a message while an operator has the conversation. A reply with the delivery state `queued` waits to be sent.
"""

import json
import uuid
from typing import NamedTuple

from chatsvc.domain.channels import START, NewMessage, TooManyConversations, outbox_of
from chatsvc.domain.models import WAITING, Conversation, ConversationKey, Message
from chatsvc.domain.times import DAY_MS
from chatsvc.store import day_counts, mail_notices
from chatsvc.store.conversations import COLUMNS, MESSAGE_COLUMNS
from chatsvc.store.database import LAST, Connection, quick, reads, writes

# Platforms deliver again for up to seven days.
KEYS_MS = 8 * DAY_MS
_CLEANED = 8  # old keys deleted with each new one


class StoredMessage(NamedTuple):
    """A stored message of a visitor. `handling` tells who handles its conversation; it is None if the message had arrived already."""

    number: int
    conversation_id: str
    account_id: str
    bot_id: str
    channel: str
    user_id: str
    text: str
    created_at: int
    source_page_host: str
    kind: str | None = None
    handling: str | None = None

    @property
    def conversation(self) -> ConversationKey:
        return self.bot_id, self.channel, self.user_id


_MESSAGES = """
    SELECT m.number, c.id, c.account_id, c.bot_id, c.channel, c.user_id, m.content, m.created_at, c.source_page_host, m.kind, c.handling
    FROM messages m{} JOIN conversations c ON c.number = m.conversation
"""
# The index named, since SQLite would rather walk all messages than sort the few of the index.
_STORED, _PENDING = _MESSAGES.format(""), _MESSAGES.format(" INDEXED BY messages_pending")


@writes
def store(connection: Connection, messages: list[NewMessage]) -> list[StoredMessage | None]:
    """Store visitors' messages in one transaction, each like `store_one`. If TooManyConversations is raised, no message is stored."""
    return [store_one(connection, message) for message in messages]


def store_one(connection: Connection, m: NewMessage) -> StoredMessage | None:
    """Store a visitor's message within a unit. If its digest is known, return the message that was stored before.

    Return None if the earlier message or the account was erased. Raises TooManyConversations.
    """
    if not connection.execute("SELECT 1 FROM accounts WHERE id = ? AND deleted_at IS NULL", (m.account_id,)).fetchone():
        return None
    connection.execute(
        "DELETE FROM incoming_keys WHERE digest IN (SELECT digest FROM incoming_keys WHERE bot_id = ? AND created_at <= ? LIMIT ?)",
        (m.bot_id, m.sent_at - KEYS_MS, _CLEANED),
    )
    key_insert = "INSERT INTO incoming_keys (digest, bot_id, created_at) VALUES (?, ?, ?) ON CONFLICT (digest) DO NOTHING"
    if not connection.execute(key_insert, (m.digest, m.bot_id, m.sent_at)).rowcount:
        row = connection.execute(f"{_STORED} WHERE m.incoming = ?", (m.digest,)).fetchone()
        return StoredMessage(*row)._replace(handling=None) if row else None
    if m.most_new is not None:
        begun = connection.execute(
            "SELECT begun FROM conversation_counts WHERE account_id = ? AND bot_id = ? AND channel = ? AND day = ?",
            (m.account_id, m.bot_id, m.channel, m.sent_at // DAY_MS),
        ).fetchone()
        known = "SELECT 1 FROM conversations WHERE bot_id = ? AND channel = ? AND user_id = ?"
        is_known = connection.execute(known, (m.bot_id, m.channel, m.user_id)).fetchone() is not None
        if not is_known and (begun[0] if begun else 0) >= m.most_new:
            raise TooManyConversations
    conversation, conversation_id, handling, page_host = addressed(connection, m)
    (number,) = connection.execute(
        """
        INSERT INTO messages (conversation, id, role, content, created_at, incoming, kind, pending) VALUES (?, ?, 'user', ?, ?, ?, ?, 1)
        RETURNING number
        """,
        (conversation, str(uuid.uuid4()), m.text, m.sent_at, m.digest, m.kind),
    ).fetchone()
    host = m.source_page_host or page_host
    return StoredMessage(number, conversation_id, m.account_id, m.bot_id, m.channel, m.user_id, m.text, m.sent_at, host, m.kind, handling)


def addressed(connection: Connection, m: NewMessage) -> tuple[int, str, str, str]:
    """Insert or update a message's conversation within a unit. Return its row number, id, handling and the host of the visitor's page."""
    new_id = str(uuid.uuid4())
    number, conversation_id, handling, page_host = connection.execute(
        """
        INSERT INTO conversations (id, account_id, bot_id, channel, user_id, last_message_at, created_at, updated_at, message_count,
            source_page_host) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?6, 1, ?7)
        ON CONFLICT (bot_id, channel, user_id) DO UPDATE SET
            message_count = conversations.message_count + 1,
            last_message_at = max(conversations.last_message_at, excluded.last_message_at),
            updated_at = max(conversations.updated_at, excluded.updated_at),
            source_page_host = CASE excluded.source_page_host WHEN '' THEN conversations.source_page_host
                ELSE excluded.source_page_host END
        RETURNING number, id, handling, source_page_host
        """,
        (new_id, m.account_id, m.bot_id, m.channel, m.user_id, m.sent_at, m.source_page_host),
    ).fetchone()
    if conversation_id == new_id:
        connection.execute(
            """
            INSERT INTO conversation_counts (account_id, bot_id, channel, day, conversations, begun) VALUES (?, ?, ?, ?, 1, 1)
            ON CONFLICT (account_id, bot_id, channel) DO UPDATE SET
                conversations = conversation_counts.conversations + 1,
                begun = 1 + CASE conversation_counts.day WHEN excluded.day THEN conversation_counts.begun ELSE 0 END,
                day = excluded.day
            """,
            (m.account_id, m.bot_id, m.channel, m.sent_at // DAY_MS),
        )
    return number, conversation_id, handling, page_host


@reads
def unsettled(connection: Connection, message: StoredMessage) -> list[StoredMessage]:
    """List the pending messages of the conversation of `message`, up to `message`, ordered by time."""
    rows = connection.execute(
        f"""
        {_STORED} WHERE m.pending = 1 AND (m.created_at, m.number) <= (?1, ?2) AND c.bot_id = ?3
            AND c.channel = ?4 AND c.user_id = ?5 ORDER BY m.created_at, m.number
        """,
        (message.created_at, message.number, *message.conversation),
    )
    return [StoredMessage(*row) for row in rows]


@reads
def follows_no_text(connection: Connection, message: StoredMessage) -> bool:
    """Return whether the visitor's message before `message` was something other than a text."""
    row = connection.execute(
        """
        SELECT coalesce(kind, ?2) FROM messages WHERE conversation = (SELECT conversation FROM messages WHERE number = ?1)
            AND number < ?1 AND role = 'user' ORDER BY number DESC LIMIT 1
        """,
        (message.number, START),
    ).fetchone()
    return row is not None and row[0] != START


class NoticeSentence(NamedTuple):
    """A sentence of the bot that is not the reply of an engine. If `dialogue` is given, it replaces the stored state of the dialogue.

    `choices` are shown as buttons if the channel has buttons.
    """

    text: str
    created_at: int
    delivery: str | None
    dialogue: str | None = None
    choices: tuple[str, ...] = ()


@writes
def settle(
    connection: Connection, number: int, sentence: NoticeSentence | None, handling: str | None = None, *, sends_mail: bool = False
) -> bool:
    """End the turn of a pending message without charge, with `sentence` or silently if it is None. `number` is the message's row number.

    With a sentence, `handling` becomes the conversation's handling. If `sends_mail` is true, operators get a mail about a waiting visitor.

    Return False and write nothing if the turn has ended before. If the bot no longer handles the conversation, no sentence is stored.
    """
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
        (bot_id,) = connection.execute(
            "UPDATE conversations SET handling = ?1, handling_since = ?2, waiting_since = ?2 WHERE number = ?3 RETURNING bot_id",
            (handling, sentence.created_at, conversation),
        ).fetchone()
        day_counts.add(connection, bot_id, sentence.created_at, {"handed_over": 1})
        if handling == WAITING and sends_mail:
            mail_notices.note(connection, WAITING, bot_id, conversation, sentence.created_at)
    return True


def say(connection: Connection, conversation: int, sentence: NoticeSentence, role: str = "assistant", author: str | None = None) -> int:
    """Append a message of the bot or an operator to a conversation, within a unit. Return the message's row number."""
    s = sentence
    bot_id, channel = connection.execute("SELECT bot_id, channel FROM conversations WHERE number = ?", (conversation,)).fetchone()
    outbox, choices = outbox_of(channel, bot_id, s.delivery), json.dumps(s.choices) if s.choices else None
    (number,) = connection.execute(
        """
        INSERT INTO messages (conversation, id, role, content, created_at, author, delivery, outbox, choices)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number
        """,
        (conversation, str(uuid.uuid4()), role, s.text, s.created_at, author, s.delivery, outbox, choices),
    ).fetchone()
    connection.execute(
        """
        UPDATE conversations SET message_count = message_count + 1, last_message_at = max(last_message_at, ?2),
            updated_at = max(updated_at, ?2), dialogue = coalesce(?3, dialogue) WHERE number = ?1
        """,
        (conversation, s.created_at, s.dialogue),
    )
    return int(number)


@reads
def pending(connection: Connection, until: int = LAST) -> list[StoredMessage]:
    """List the pending messages of all channels that were sent up to the time `until`, oldest first."""
    rows = connection.execute(f"{_PENDING} WHERE m.pending = 1 AND m.created_at <= ? ORDER BY m.number", (until,))
    return [StoredMessage(*row) for row in rows]


class News(NamedTuple):
    """A conversation with some of its messages, oldest first.

    `confirmed` are the row numbers of operators' messages that the visitor's page has confirmed, but that are not yet stored as delivered.
    """

    conversation: Conversation
    messages: list[Message]
    confirmed: list[int]


@quick
def news(connection: Connection, visitor: ConversationKey, after: str, limit: int, before: str = "") -> News | None:
    """Read the messages of a conversation between the ids `after` and `before`. Return None if there is no such conversation.

    If `after` is unknown, read from the beginning of the conversation. If `before` is empty, read to its end. If there are more than
    `limit` messages, read the newest.
    """
    row = connection.execute(
        f"SELECT {COLUMNS}, number FROM conversations WHERE bot_id = ? AND channel = ? AND user_id = ?", visitor
    ).fetchone()
    if row is None:
        return None
    *fields, number = row

    def number_of(message_id: str) -> int:
        # Searched from the newest message on, which is nearly always the one that was seen last.
        number_row = connection.execute(
            "SELECT number FROM messages WHERE conversation = ? AND id = ? ORDER BY number DESC LIMIT 1", (number, message_id)
        ).fetchone()
        return int(number_row[0]) if number_row else 0

    start, end = number_of(after), number_of(before) if before else LAST
    newest = f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE conversation = ? AND number > ? AND number < ? ORDER BY number DESC LIMIT ?"
    messages = connection.execute(newest, (number, start, end, limit)).fetchall()
    unseen = "SELECT number FROM messages WHERE conversation = ? AND role = 'operator' AND delivery = 'queued' AND number <= ?"
    confirmed = connection.execute(unseen, (number, start)).fetchall()
    return News(Conversation(*fields), [Message(*message) for message in reversed(messages)], [message for (message,) in confirmed])


@writes
def deliver(connection: Connection, numbers: list[int], delivery: str, error: str | None = None) -> None:
    """Write the delivery state and the error (or None) of messages. `numbers` are their row numbers."""
    connection.executemany(
        "UPDATE messages SET delivery = ?, error = ? WHERE number = ?", [(delivery, error, number) for number in numbers]
    )


@writes
def rate(connection: Connection, visitor: tuple[str, str, str], message_id: str, feedback: str | None) -> bool:
    """Write a visitor's rating of a reply, or remove it if `feedback` is None. Return False if the conversation has no such reply."""
    row = connection.execute(
        """
        SELECT m.number, m.feedback, m.created_at FROM conversations c CROSS JOIN messages m ON m.conversation = c.number
        WHERE c.bot_id = ? AND c.channel = ? AND c.user_id = ? AND m.id = ? AND m.role = 'assistant'
        """,
        (*visitor, message_id),
    ).fetchone()
    if row is None:
        return False
    number, before, replied_at = row
    connection.execute("UPDATE messages SET feedback = ? WHERE number = ?", (feedback, number))
    # Counted on the day of the reply, so that a thumb that turns is taken back where it was counted.
    if before is not None:
        day_counts.take_back(connection, visitor[0], replied_at, before)
    if feedback is not None:
        day_counts.add(connection, visitor[0], replied_at, {feedback: 1})
    # A reply that did not help is no answer.
    if feedback == "down" and before != "down":
        day_counts.take_back(connection, visitor[0], replied_at, "answered")
    elif before == "down" and feedback != "down":
        day_counts.add(connection, visitor[0], replied_at, {"answered": 1})
    return True


@reads
def asked_before(connection: Connection, visitor: tuple[str, str, str], message_id: str) -> str | None:
    """Return the text of the visitor's message that a reply answers. Return None if there is no such message."""
    row = connection.execute(
        """
        SELECT q.content FROM conversations c CROSS JOIN messages m ON m.conversation = c.number
        CROSS JOIN messages q ON q.conversation = c.number
        WHERE c.bot_id = ? AND c.channel = ? AND c.user_id = ? AND m.id = ? AND q.role = 'user' AND q.number < m.number
        ORDER BY q.number DESC LIMIT 1
        """,
        (*visitor, message_id),
    ).fetchone()
    return row[0] if row else None


def interrupt_all(connection: Connection) -> None:
    """End all turns and give up all queued messages after a restore. Replies and messages may have been sent after the backup was made."""
    connection.execute("UPDATE messages SET pending = NULL WHERE pending = 1")
    connection.execute("UPDATE messages SET delivery = 'unknown', outbox = NULL, in_flight = NULL WHERE delivery = 'queued'")
