"""Stores visitors' messages of the channels before they are answered, each once.

A limit on new conversations in a day may refuse one.
"""

import uuid
from typing import NamedTuple

from chatsvc.domain.channels import NewMessage, TooManyConversations
from chatsvc.domain.models import ConversationKey
from chatsvc.domain.times import DAY_MS
from chatsvc.store.database import Connection, Database, writes

# Platforms deliver again for up to seven days.
KEYS_MS = 8 * DAY_MS
_CLEANED = 8  # old keys deleted with each new one


class StoredMessage(NamedTuple):
    """A stored message of a visitor; where it came again, `text` is what came first. `handling` is that of a new message's conversation."""

    number: int
    conversation_id: str
    bot_id: str
    channel: str
    user_id: str
    text: str
    at: int
    source_page_host: str
    kind: str | None = None
    handling: str | None = None

    @property
    def conversation(self) -> ConversationKey:
        return self.bot_id, self.channel, self.user_id


_Result = StoredMessage | TooManyConversations | None
FIELDS = "m.number, c.id, c.bot_id, c.channel, c.user_id, m.content, m.created_at, c.source_page_host, m.kind"
FROM = "FROM messages m JOIN conversations c ON c.number = m.conversation"
STORED = f"SELECT {FIELDS} {FROM}"


async def store(db: Database, message: NewMessage) -> StoredMessage | None:
    """Store a visitor's message. Return the stored one for a key that came before, None where that or the account was erased.

    Raises TooManyConversations.
    """
    result = await db.write(lambda connection: store_one(connection, message))
    if isinstance(result, TooManyConversations):
        raise result
    return result


@writes
def store_several(connection: Connection, messages: list[NewMessage]) -> list[StoredMessage | None]:
    """Store messages that no limit refuses, in one unit; see store."""
    results = [store_one(connection, message) for message in messages]
    return [None if isinstance(result, TooManyConversations) else result for result in results]


def store_one(connection: Connection, m: NewMessage) -> _Result:
    """Store a message within a unit. TooManyConversations is returned, so that the others of a unit are stored."""
    if not connection.execute("SELECT 1 FROM accounts WHERE id = ? AND deleted_at IS NULL", (m.account_id,)).fetchone():
        return None
    connection.execute(
        "DELETE FROM incoming_keys WHERE digest IN (SELECT digest FROM incoming_keys WHERE bot_id = ? AND created_at <= ? LIMIT ?)",
        (m.bot_id, m.sent_at - KEYS_MS, _CLEANED),
    )
    key_insert = "INSERT INTO incoming_keys (digest, bot_id, created_at) VALUES (?, ?, ?) ON CONFLICT (digest) DO NOTHING"
    if not connection.execute(key_insert, (m.digest, m.bot_id, m.sent_at)).rowcount:
        row = connection.execute(f"{STORED} WHERE m.incoming = ?", (m.digest,)).fetchone()
        return StoredMessage(*row) if row else None
    if _begins_one_too_many(connection, m):
        connection.execute("DELETE FROM incoming_keys WHERE digest = ?", (m.digest,))
        return TooManyConversations()
    conversation_row = addressed(connection, m, str(uuid.uuid4()))
    (number,) = connection.execute(
        """
        INSERT INTO messages (conversation, id, role, content, created_at, incoming, kind, pending) VALUES (?, ?, 'user', ?, ?, ?, ?, 1)
        RETURNING number
        """,
        (conversation_row.number, str(uuid.uuid4()), m.text, m.sent_at, m.digest, m.kind),
    ).fetchone()
    page_host = m.source_page_host or conversation_row.page_host
    parameters = number, conversation_row.id, m.bot_id, m.channel, m.user_id, m.text, m.sent_at, page_host, m.kind
    return StoredMessage(*parameters, conversation_row.handling)


def _begins_one_too_many(connection: Connection, m: NewMessage) -> bool:
    """Report whether a message would begin more conversations in a day than its channel may."""
    if m.most_new is None:
        return False
    row = connection.execute(
        "SELECT begun FROM conversation_counts WHERE account_id = ? AND bot_id = ? AND channel = ? AND day = ?",
        (m.account_id, m.bot_id, m.channel, m.sent_at // DAY_MS),
    ).fetchone()
    if (row[0] if row else 0) < m.most_new:
        return False
    sql = "SELECT 1 FROM conversations WHERE bot_id = ? AND channel = ? AND user_id = ?"
    return connection.execute(sql, (m.bot_id, m.channel, m.user_id)).fetchone() is None


class AddressedConversation(NamedTuple):
    """A conversation to which a message is added."""

    id: str
    number: int
    handling: str
    page_host: str


def addressed(connection: Connection, m: NewMessage, new_id: str) -> AddressedConversation:
    """Insert or update the conversation of a message within a unit. `new_id` is its id where it is new."""
    row = connection.execute(
        """
        INSERT INTO conversations (id, account_id, bot_id, channel, user_id, last_message_at, created_at, updated_at, message_count,
            source_page_host) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?6, 1, ?7)
        ON CONFLICT (bot_id, channel, user_id) DO UPDATE SET
            message_count = conversations.message_count + 1,
            last_message_at = max(conversations.last_message_at, excluded.last_message_at),
            updated_at = max(conversations.updated_at, excluded.updated_at),
            source_page_host = CASE excluded.source_page_host WHEN '' THEN conversations.source_page_host
                ELSE excluded.source_page_host END
        RETURNING id, number, handling, source_page_host
        """,
        (new_id, m.account_id, m.bot_id, m.channel, m.user_id, m.sent_at, m.source_page_host),
    ).fetchone()
    conversation_row = AddressedConversation(*row)
    if conversation_row.id == new_id:
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
    return conversation_row
