"""Erases conversations, and deletes old rows by the retention rules of the tables, in small batches.

Each batch is one transaction: other writers hardly wait, and a crash between two batches leaves a shorter but consistent conversation.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from chatsvc.domain.models import CHANNELS, ConversationKey
from chatsvc.store import unanswered
from chatsvc.store.database import Connection, Database, reads, writes
from chatsvc.store.open_turns import IDEMPOTENCY_MS
from chatsvc.store.tables import BY_NAME, CHILDREN_FIRST, erasing, old_rows

BATCH = 200  # rows
_STATEMENTS = {by: erasing(by) for by in ("requests", "conversation")}
_ANSWERS = getattr(BY_NAME["idempotency_keys"].visitor, "rows", "")


class Erased(NamedTuple):
    """Numbers of deleted records of each kind."""

    conversations: int = 0
    messages: int = 0
    requests: int = 0
    appointments: int = 0
    events: int = 0
    attempts: int = 0
    questions: int = 0

    def plus(self, other: Erased) -> Erased:
        """Return the sums of these numbers and those of `other`."""
        return Erased(*(count + added for count, added in zip(self, other, strict=True)))


@reads
def conversations(connection: Connection, user_id: str, bot_id: str | None) -> list[ConversationKey]:
    """List the conversations of a visitor with one bot, or with all bots."""
    channels = ", ".join("?" * len(CHANNELS))
    return connection.execute(
        f"""
        SELECT c.bot_id, c.channel, c.user_id FROM bots b CROSS JOIN conversations c
        ON c.bot_id = b.id AND c.channel IN ({channels}) AND c.user_id = ? WHERE b.id = coalesce(?, b.id)
        """,
        (*CHANNELS, user_id, bot_id),
    ).fetchall()


@writes
def some_of(connection: Connection, conversation: ConversationKey) -> Erased | None:
    """Erase one batch of a conversation's records. Return None if the conversation does not exist any more."""
    find = "SELECT number FROM conversations WHERE bot_id = ? AND channel = ? AND user_id = ?"
    row = connection.execute(find, conversation).fetchone()
    return some_in(connection, row[0]) if row else None


def some_in(connection: Connection, conversation: int) -> Erased:
    """Erase one batch of a conversation's records within a unit: first requests, then messages, at last the conversation."""
    requests = "SELECT number FROM requests WHERE conversation = ? ORDER BY created_at LIMIT ?"
    numbers = [number for (number,) in connection.execute(requests, (conversation, BATCH))]
    if numbers:
        return _deleted(connection, "requests", (json.dumps(numbers),))
    messages = connection.execute(
        "DELETE FROM messages WHERE number IN (SELECT number FROM messages WHERE conversation = ? ORDER BY number LIMIT ?)",
        (conversation, BATCH),
    ).rowcount
    if messages == BATCH:
        connection.execute("UPDATE conversations SET message_count = message_count - ? WHERE number = ?", (messages, conversation))
        return Erased(messages=messages)
    owner = connection.execute("SELECT account_id, bot_id, channel FROM conversations WHERE number = ?", (conversation,)).fetchone()
    connection.execute(
        "UPDATE conversation_counts SET conversations = conversations - 1 WHERE account_id = ? AND bot_id = ? AND channel = ?", owner
    )
    # Few messages are left, or none.
    return _deleted(connection, "conversation", (conversation,)).plus(Erased(messages=messages))


def _deleted(connection: Connection, by: str, values: tuple[object, ...]) -> Erased:
    numbers = [(counted, connection.execute(statement, values).rowcount) for counted, statement in _STATEMENTS[by]]
    return Erased(**{counted: number for counted, number in numbers if counted})


async def forget_answers(db: Database, user_id: str, bot_id: str, until: int) -> None:
    """Delete the idempotency records of a visitor's messages that were accepted up to `until`."""
    delete = "DELETE FROM idempotency_keys WHERE account_id = ? AND key = ?"
    find = f"SELECT account_id, key FROM idempotency_keys WHERE {_ANSWERS} AND created_at <= ?4"
    values = bot_id, user_id, json.dumps(user_id), until
    keys = await db.read(lambda connection: connection.execute(find, values).fetchall())
    for start in range(0, len(keys), BATCH):
        batch = keys[start : start + BATCH]
        await db.write(lambda connection, batch=batch: connection.executemany(delete, batch))  # type: ignore[misc]  # bound here


RULES = {table.name: table.retention for table in CHILDREN_FIRST if table.retention}
_OLD = {name: old_rows(BY_NAME[name], rule) for name, rule in RULES.items()}
_DELETE = {name: f"DELETE FROM {name} WHERE {' AND '.join(f'{column} = ?' for column in BY_NAME[name].key)}" for name in RULES}


@writes
def expire(connection: Connection, table: str, before: int, now: int) -> set[str] | bool:
    """Delete a batch of a table's rows older than `before`. Return whether more old rows may be left.

    For the table of conversations, return the accounts whose conversations were erased: an empty set once no old conversation is left.
    """
    if table == "conversations":
        return _conversations(connection, before)
    # An idempotency record is of no use after a day, however long conversations are kept.
    limit = now - IDEMPOTENCY_MS + 1 if table == "idempotency_keys" else before
    old = connection.execute(_OLD[table], (limit, BATCH)).fetchall()
    if table == "unanswered_askers":
        unanswered.forget_askers(connection, [number for (number,) in old])
    else:
        if table == "webhook_events":
            connection.executemany("DELETE FROM webhook_attempts WHERE event_number = ?", old)
        connection.executemany(_DELETE[table], old)
    return len(old) == BATCH


def _conversations(connection: Connection, before: int) -> set[str]:
    """Erase a batch of old conversations and return their accounts. Return an empty set once no old conversation is left."""
    accounts: set[str] = set()
    old, room = connection.execute(_OLD["conversations"], (before, BATCH)).fetchall(), BATCH
    while old and room > 0:
        (number,) = old[-1]
        account = connection.execute("SELECT account_id FROM conversations WHERE number = ?", (number,)).fetchone()
        erased = some_in(connection, number)
        accounts.update(account)
        room -= sum(erased)
        if erased.conversations:
            old.pop()
    return accounts
