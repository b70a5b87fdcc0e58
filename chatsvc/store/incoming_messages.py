"""Stores visitors' messages of the channels before they are answered, each once.

Those of one batch are stored together. A limit on new conversations in a day may refuse one.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from chatsvc.domain.channels import TooManyConversations
from chatsvc.domain.times import DAY_MS
from chatsvc.store import search
from chatsvc.store.database import Connection, Database, Together
from chatsvc.store.exchanges import id_by_time

# Platforms deliver again for up to seven days.
KEYS_MS = 8 * DAY_MS
_CLEANED = 8  # old keys deleted with each new one


class NewMessage(NamedTuple):
    """A visitor's message as its channel brought it. `digest` is that of the key with which it was sent, `at` its time.

    `kind` is None for a text, START for the beginning of a conversation, and else that of its content, such as "photo".
    `most_new`: conversations that may begin on the channel in a UTC day, None for any number.
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
    most_new: int | None = None


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


_Result = StoredMessage | TooManyConversations | None
FIELDS = "m.number, c.id, c.bot_id, c.channel, c.user_id, m.content, m.created_at, c.source_page_host, m.kind"
FROM = "FROM messages m JOIN conversations c ON c.number = m.conversation"
STORED = f"SELECT {FIELDS} {FROM}"


async def store(db: Database, message: NewMessage, applied: Callable[[StoredMessage | None], None]) -> StoredMessage | None:
    """Store a visitor's message. Return the stored one for a key that came before, None where that or the account was erased.

    Raises TooManyConversations. Messages of one batch are stored together.
    """

    def committed(result: _Result) -> None:
        applied(None if isinstance(result, TooManyConversations) else result)

    result = await db.write(Together(store_all, message), committed)
    if isinstance(result, TooManyConversations):
        raise result
    return result


async def store_several(
    db: Database, messages: list[NewMessage], applied: Callable[[list[StoredMessage]], None]
) -> list[StoredMessage | None]:
    """Store messages that no limit refuses, in one unit; see store. `applied` gets those that are stored."""

    def unit(connection: Connection) -> list[StoredMessage | None]:
        return [None if isinstance(result, TooManyConversations) else result for result in store_all(connection, messages)]

    return await db.write(unit, lambda results: applied([one for one in results if one is not None]))


def store_all(connection: Connection, messages: list[NewMessage]) -> list[_Result]:
    """Store messages in order; the result is that of storing them one by one. Runs within a unit."""
    accounts = {m.account_id for m in messages}
    sql = "SELECT 1 FROM accounts WHERE id = ? AND deleted_at IS NULL"
    deleted = {account for account in accounts if not connection.execute(sql, (account,)).fetchone()}
    # The same message may come twice in one batch.
    first = {m.digest: m for m in reversed(messages) if m.account_id not in deleted}
    unseen = _keep_keys(connection, [m for m in messages if first.get(m.digest) is m])
    refused = _over_limit(connection, unseen)
    if refused:
        connection.executemany("DELETE FROM incoming_keys WHERE digest = ?", [(digest,) for digest in refused])
    stored = _insert(connection, [m for m in unseen if m.digest not in refused])
    results: list[_Result] = []
    for m in messages:
        if m.account_id in deleted:
            results.append(None)
        elif m.digest in refused:
            results.append(TooManyConversations())
        else:
            results.append(stored.pop(m.digest, None) or _stored_before(connection, m.digest))
    return results


def _stored_before(connection: Connection, digest: bytes) -> StoredMessage | None:
    row = connection.execute(f"{STORED} WHERE m.incoming = ?", (digest,)).fetchone()
    return StoredMessage(*row) if row else None


def _keep_keys(connection: Connection, messages: list[NewMessage]) -> list[NewMessage]:
    """Keep the keys of messages and delete old ones; return the messages with new keys."""
    newest = {m.bot_id: m.at for m in sorted(messages, key=lambda m: m.at)}
    for bot_id, count in Counter(m.bot_id for m in messages).items():
        connection.execute(
            "DELETE FROM incoming_keys WHERE digest IN (SELECT digest FROM incoming_keys WHERE bot_id = ? AND created_at <= ? LIMIT ?)",
            (bot_id, newest[bot_id] - KEYS_MS, _CLEANED * count),
        )
    rows: list[object] = []
    for m in messages:
        rows += m.digest, m.bot_id, m.at
    begin = "INSERT INTO incoming_keys (digest, bot_id, created_at) VALUES "
    kept = {digest for (digest,) in connection.at_once(begin, "(?, ?, ?)", rows, " ON CONFLICT (digest) DO NOTHING RETURNING digest")}
    return [m for m in messages if m.digest in kept]


def _over_limit(connection: Connection, messages: list[NewMessage]) -> set[bytes]:
    """Return the digests of messages that would begin too many conversations in a day."""
    groups: dict[tuple[str, str, str, int], list[NewMessage]] = {}
    for m in messages:
        if m.most_new is not None:
            groups.setdefault((m.account_id, m.bot_id, m.channel, m.at // DAY_MS), []).append(m)
    refused: set[bytes] = set()
    for place, group in groups.items():
        row = connection.execute(
            "SELECT begun FROM conversation_counts WHERE account_id = ? AND bot_id = ? AND channel = ? AND day = ?", place
        ).fetchone()
        left = (group[0].most_new or 0) - (row[0] if row else 0)
        if len(group) > left:
            refused |= _beyond(connection, group, left)
    return refused


def _beyond(connection: Connection, messages: list[NewMessage], left: int) -> set[bytes]:
    """Return the digests of messages that begin conversations beyond the first `left` ones."""
    known: set[str] = set()
    refused: set[bytes] = set()
    for m in messages:
        sql = "SELECT 1 FROM conversations WHERE bot_id = ? AND channel = ? AND user_id = ?"
        if m.user_id in known or connection.execute(sql, (m.bot_id, m.channel, m.user_id)).fetchone():
            continue
        if left > 0:
            left -= 1
            known.add(m.user_id)
        else:
            refused.add(m.digest)
    return refused


def _insert(connection: Connection, messages: list[NewMessage]) -> dict[bytes, StoredMessage]:
    """Insert messages with their conversations; return them by their digests."""
    if not messages:
        return {}
    ids = [id_by_time(m.at) for m in messages]
    conversations = addressed(connection, messages, ids)
    of = {m.digest: conversations[m.bot_id, m.channel, m.user_id] for m in messages}
    search.queue(connection, [one.number for one in conversations.values()])
    rows: list[object] = []
    for m in messages:
        rows += of[m.digest].number, str(uuid.uuid4()), m.text, m.at, m.digest, m.kind
    begin = "INSERT INTO messages (conversation, id, role, content, created_at, incoming, kind, pending) VALUES "
    written = connection.at_once(begin, "(?, ?, 'user', ?, ?, ?, ?, 1)", rows, " RETURNING incoming, number")
    numbers = dict(written)
    waiting = _first_pending(connection, messages, of, set(ids))
    made = {}
    for m, conversation_id in zip(messages, ids, strict=True):
        found, number = of[m.digest], numbers[m.digest]
        made[m.digest] = StoredMessage(
            number,
            found.id,
            m.bot_id,
            m.channel,
            m.user_id,
            m.text,
            m.at,
            m.source_page_host or found.page_host,
            m.kind,
            is_new=True,
            begins=found.id == conversation_id,
            handling=None if waiting.get(found.number, number) < number else found.handling,
        )
    return made


class AddressedConversation(NamedTuple):
    """A conversation to which messages are added."""

    id: str
    number: int
    handling: str
    page_host: str


def addressed(connection: Connection, messages: list[NewMessage], ids: list[str]) -> dict[tuple[str, str, str], AddressedConversation]:
    """Insert or update the conversations of messages within a unit. `ids` are those of the ones that are new."""
    # One row for a conversation: a statement may not change a row twice.
    merged: dict[tuple[str, str, str], list[Any]] = {}
    for m, conversation_id in zip(messages, ids, strict=True):
        place = m.bot_id, m.channel, m.user_id
        row = merged.setdefault(place, [conversation_id, m.account_id, *place, m.at, m.at, m.at, 0, ""])
        row[5:] = max(row[5], m.at), row[6], max(row[7], m.at), row[8] + 1, m.source_page_host or row[9]
    written = list(
        connection.at_once(
            """
        INSERT INTO conversations (id, account_id, bot_id, channel, user_id, last_message_at, created_at, updated_at, message_count,
            source_page_host) VALUES
        """,
            "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [value for row in merged.values() for value in row],
            """
        ON CONFLICT (bot_id, channel, user_id) DO UPDATE SET
            message_count = conversations.message_count + excluded.message_count,
            last_message_at = max(conversations.last_message_at, excluded.last_message_at),
            updated_at = max(conversations.updated_at, excluded.updated_at),
            source_page_host = CASE excluded.source_page_host WHEN '' THEN conversations.source_page_host
                ELSE excluded.source_page_host END
        RETURNING id, number, handling, source_page_host, bot_id, channel, user_id
        """,
        )
    )
    begun = {row[0] for row in written} & set(ids)
    new = Counter(
        (m.account_id, m.bot_id, m.channel, m.at // DAY_MS)
        for m, conversation_id in zip(messages, ids, strict=True)
        if conversation_id in begun
    )
    for counted, count in new.items():
        connection.execute(
            """
            INSERT INTO conversation_counts (account_id, bot_id, channel, day, conversations, begun) VALUES (?1, ?2, ?3, ?4, ?5, ?5)
            ON CONFLICT (account_id, bot_id, channel) DO UPDATE SET
                conversations = conversation_counts.conversations + excluded.conversations,
                begun = excluded.begun + CASE conversation_counts.day WHEN excluded.day THEN conversation_counts.begun ELSE 0 END,
                day = excluded.day
            """,
            (*counted, count),
        )
    return {(bot_id, channel, user_id): AddressedConversation(*row) for *row, bot_id, channel, user_id in written}


def _first_pending(
    connection: Connection, messages: list[NewMessage], of: dict[bytes, AddressedConversation], new: set[str]
) -> dict[int, int]:
    """Return the first unsettled message of each conversation that may have several. Not asked for one that has just begun."""
    times = Counter(of[m.digest].number for m in messages)
    asked = [one.number for one in set(of.values()) if one.id not in new or times[one.number] > 1]
    sql = "SELECT conversation, min(number) FROM messages WHERE pending = 1 AND conversation IN ("
    return dict(connection.at_once(sql, "?", asked, ") GROUP BY conversation"))
