"""Stores callbacks of messaging platforms, visitors' addresses there, and the numbers of messages that bots send in a month.

A callback's messages, echoes, delivery statuses and changed numbers are written in one transaction. An address, which is a phone number or
a business-scoped id, leads to a conversation. If two conversations belong to the same person, the older one continues; the newer one keeps
its messages and its address, which is no longer current.
"""

import json
import uuid
from collections.abc import Sequence
from typing import NamedTuple

from chatsvc.domain.channels import PHONE, PLATFORMS, RANKS, AddressMove, NewMessage, PlatformAddress
from chatsvc.domain.models import BOT, ConversationKey
from chatsvc.domain.times import MINUTE_MS
from chatsvc.store import day_counts
from chatsvc.store.channel_messages import StoredMessage, addressed, store_one
from chatsvc.store.database import Connection, quick, reads, writes

_ON_PLATFORM = f"c.channel IN ({', '.join(repr(name) for name in PLATFORMS)})"


@quick
def address(connection: Connection, visitor: ConversationKey) -> PlatformAddress | None:
    """Return the latest address of a visitor, or None if there is none. A phone number is preferred to another address."""
    row = connection.execute(
        """
        SELECT a.kind, a.value FROM conversations c JOIN whatsapp_addresses a ON a.conversation = c.number
        WHERE c.bot_id = ? AND c.channel = ? AND c.user_id = ? ORDER BY a.is_current DESC, a.kind = ? DESC, a.number DESC LIMIT 1
        """,
        (*visitor, PHONE),
    ).fetchone()
    return PlatformAddress(*row) if row else None


@reads
def linked(connection: Connection, bot_id: str, user_id: str) -> list[str]:
    """List the user_ids of other conversations of the same person, found by an address that both conversations have had."""
    rows = connection.execute(
        f"""
        SELECT DISTINCT o.user_id FROM conversations c JOIN whatsapp_addresses a ON a.conversation = c.number
        JOIN whatsapp_addresses b ON b.bot_id = a.bot_id AND b.kind = a.kind AND b.value = a.value AND b.conversation <> c.number
        JOIN conversations o ON o.number = b.conversation
        WHERE c.bot_id = ?1 AND {_ON_PLATFORM} AND c.user_id = ?2 AND (
            (a.is_current = 1 AND b.is_current = 0 AND (o.created_at, o.number) > (c.created_at, c.number))
            OR (a.is_current = 0 AND b.is_current = 1 AND (o.created_at, o.number) < (c.created_at, c.number)))
        """,
        (bot_id, user_id),
    )
    return [user for (user,) in rows]


@reads
def phones(connection: Connection, conversation_ids: Sequence[str]) -> dict[str, str]:
    """Return the latest phone numbers of the visitors of conversations, by the conversations' ids. Visitors without one are left out."""
    rows = connection.execute(
        """
        SELECT c.id, '+' || a.value FROM json_each(?) page CROSS JOIN conversations c ON c.id = page.value
        JOIN whatsapp_addresses a ON a.conversation = c.number WHERE a.kind = ? ORDER BY a.is_current, a.number
        """,
        (json.dumps(conversation_ids), PHONE),
    )
    return dict(rows.fetchall())


@reads
def last_word_at(connection: Connection, conversation_id: str) -> int | None:
    """Return the time of the visitor's last message in a conversation."""
    row = connection.execute(
        """
        SELECT max(m.created_at) FROM conversations c JOIN messages m ON m.conversation = c.number
        WHERE c.id = ? AND m.role = 'user'
        """,
        (conversation_id,),
    ).fetchone()
    return row[0]  # type: ignore[no-any-return]


@writes
def reserve_send(connection: Connection, bot_id: str, month: str, limit: int | None) -> bool:
    """Count a message that is about to be sent. Return False and count nothing if the month's limit is reached."""
    connection.execute("INSERT INTO whatsapp_sends (bot_id, month, sent) VALUES (?, ?, 0) ON CONFLICT DO NOTHING", (bot_id, month))
    count = "UPDATE whatsapp_sends SET sent = sent + 1 WHERE bot_id = ?1 AND month = ?2 AND (?3 IS NULL OR sent < ?3)"
    return connection.execute(count, (bot_id, month, limit)).rowcount == 1


@writes
def release_send(connection: Connection, bot_id: str, month: str) -> None:
    """Subtract a message that was counted but certainly not sent."""
    connection.execute("UPDATE whatsapp_sends SET sent = sent - 1 WHERE bot_id = ? AND month = ? AND sent > 0", (bot_id, month))


@reads
def sends(connection: Connection, bot_ids: Sequence[str], month: str) -> dict[str, int]:
    """Return the number of messages that each bot has sent in a month, by the bot's id."""
    rows = connection.execute(
        "SELECT bot_id, sent FROM whatsapp_sends WHERE month = ? AND bot_id IN (SELECT value FROM json_each(?))",
        (month, json.dumps(bot_ids)),
    )
    return dict.fromkeys(bot_ids, 0) | dict(rows.fetchall())


PHONE_OPERATOR = "phone"  # who has a conversation that the owner answers in the app
_SEEN_MS = 30_000  # between two notes of a channel's last update


class AddressedMessage(NamedTuple):
    """A message of a visitor or of the bot's owner, before its conversation is known. `message.user_id` is empty."""

    addresses: tuple[PlatformAddress, ...]
    message: NewMessage


class NewStatus(NamedTuple):
    """A delivery status of a sent message. The message is found by the digest of the platform's id, or by conversation and message id.

    `is_last` is False if the status is that of a part and more parts of the message follow.
    """

    platform_id: bytes
    delivery: str
    error: str | None
    conversation_id: str = ""
    message_id: str = ""
    is_last: bool = True


class ReceivedCallback(NamedTuple):
    """A platform's callback to store for a channel. An echo reports a sent message; its digest finds the message if the service sent it."""

    channel_id: str
    bot_id: str
    channel: str
    messages: Sequence[AddressedMessage] = ()
    echoes: Sequence[tuple[AddressedMessage, bytes]] = ()
    statuses: Sequence[NewStatus] = ()
    moves: Sequence[AddressMove] = ()


@writes
def receive(connection: Connection, callback: ReceivedCallback, now: int) -> tuple[dict[bytes, StoredMessage], set[str]]:
    """Store a callback. Return the new messages of visitors by their digests, and the user_ids of all conversations that have changed."""
    connection.execute(
        "UPDATE channels SET seen_at = ?1 WHERE id = ?2 AND coalesce(seen_at, 0) NOT BETWEEN ?1 - ?3 AND ?1",
        (now, callback.channel_id, _SEEN_MS),
    )
    messages: dict[bytes, StoredMessage] = {}
    for addresses, message in callback.messages:
        user_id = _conversation(connection, message.bot_id, addresses)[1] or uuid.uuid4().hex
        stored = store_one(connection, message._replace(user_id=user_id))
        if stored is not None and stored.handling is not None:  # a message that was delivered again has none
            messages[message.digest] = stored
            (conversation,) = connection.execute("SELECT conversation FROM messages WHERE number = ?", (stored.number,)).fetchone()
            _lead(connection, stored.bot_id, conversation, addresses, now)
    users = {message.user_id for message in messages.values()}
    for move in callback.moves:
        _move(connection, callback.bot_id, move, now)
    users |= {user for item, sent in callback.echoes if (user := _echo(connection, item, sent, now)) is not None}
    users |= {user for item in callback.statuses if (user := _status(connection, callback, item)) is not None}
    return messages, users


def _conversation(connection: Connection, bot_id: str, addresses: Sequence[PlatformAddress]) -> tuple[int | None, str]:
    """Return number and user_id of the oldest conversation linked to one of the addresses. Return None and "" if there is none."""
    find = """
        SELECT c.created_at, c.number, c.user_id FROM whatsapp_addresses a JOIN conversations c ON c.number = a.conversation
        WHERE a.bot_id = ? AND a.kind = ? AND a.value = ? AND a.is_current = 1
    """
    conversations = [row for address in addresses for row in connection.execute(find, (bot_id, *address))]
    _, number, user_id = min(conversations, default=(0, None, ""))
    return number, user_id


def _lead(connection: Connection, bot_id: str, conversation: int, addresses: Sequence[PlatformAddress], now: int) -> None:
    """Link all addresses of a visitor to a conversation."""
    for address in addresses:
        _unlink(connection, bot_id, address, conversation)
        connection.execute(
            """
            INSERT INTO whatsapp_addresses (bot_id, conversation, kind, value, is_current, created_at) VALUES (?, ?, ?, ?, 1, ?)
            ON CONFLICT DO NOTHING
            """,
            (bot_id, conversation, *address, now),
        )


def _unlink(connection: Connection, bot_id: str, address: PlatformAddress, other_than: int = 0) -> None:
    """Unlink an address from its conversation, unless `other_than` is the number of that conversation."""
    connection.execute(
        """
        UPDATE whatsapp_addresses SET is_current = 0 WHERE bot_id = ? AND kind = ? AND value = ? AND is_current = 1 AND conversation <> ?
        """,
        (bot_id, *address, other_than),
    )


def _move(connection: Connection, bot_id: str, move: AddressMove, now: int) -> None:
    """Link a new phone number to the conversation of the old number, which may belong to somebody else later."""
    conversation, _ = _conversation(connection, bot_id, (*move.before, *move.after))
    if conversation is None:
        return
    replaced = {kind for kind, _ in move.after}
    for address in move.before:
        if address.kind in replaced and address not in move.after:
            _unlink(connection, bot_id, address)
    _lead(connection, bot_id, conversation, move.after, now)


def _echo(connection: Connection, addressed_message: AddressedMessage, sent: bytes, now: int) -> str | None:
    """Store a message that the owner wrote by phone, which may take the conversation over. Return the user_id, or None if not stored."""
    message, addresses = addressed_message.message, addressed_message.addresses
    if connection.execute("SELECT 1 FROM messages WHERE platform_id = ?", (sent,)).fetchone():
        return None
    new_key = """
        INSERT INTO incoming_keys (digest, bot_id, created_at) SELECT ?, ?, ? FROM accounts WHERE id = ? AND deleted_at IS NULL
        ON CONFLICT DO NOTHING
    """
    if not connection.execute(new_key, (message.digest, message.bot_id, message.sent_at, message.account_id)).rowcount:
        return None
    user_id = _conversation(connection, message.bot_id, addresses)[1] or uuid.uuid4().hex
    conversation, *_ = addressed(connection, message._replace(user_id=user_id))
    _lead(connection, message.bot_id, conversation, addresses, now)
    connection.execute(
        """
        INSERT INTO messages (conversation, id, role, content, created_at, author, delivery, incoming, kind)
        VALUES (?, ?, 'operator', ?, ?, ?, 'sent', ?, ?)
        """,
        (conversation, str(uuid.uuid4()), message.text, message.sent_at, PHONE_OPERATOR, message.digest, message.kind),
    )
    # An echo that is too old takes nothing over, and an operator who has the conversation keeps it.
    (before,) = connection.execute("SELECT handling FROM conversations WHERE number = ?", (conversation,)).fetchone()
    taken = connection.execute(
        """
        UPDATE conversations SET handling = 'operator', handling_since = max(coalesce(handling_since, 0), ?2),
            operator_id = CASE handling WHEN 'operator' THEN operator_id END,
            operator_name = CASE handling WHEN 'operator' THEN operator_name ELSE ?3 END, updated_at = max(updated_at, ?2)
        WHERE number = ?1 AND ?2 > ?4 - (SELECT b.hand_off_return FROM bots b WHERE b.id = bot_id) * ?5
        """,
        (conversation, message.sent_at, PHONE_OPERATOR, now, MINUTE_MS),
    ).rowcount
    if taken:
        connection.execute("UPDATE messages SET pending = NULL WHERE conversation = ? AND pending = 1", (conversation,))
        if before == BOT:
            day_counts.add(connection, message.bot_id, message.sent_at, {"handed_over": 1})
        day_counts.note_response(connection, conversation, message.sent_at)
    return user_id


def _status(connection: Connection, callback: ReceivedCallback, status: NewStatus) -> str | None:
    """Write a delivery status unless a later one is known. Return the user_id of the conversation, or None if nothing was written."""
    # Both queries find the same message: its id at the platform may not be known yet.
    row = connection.execute(
        """
        SELECT m.number, m.delivery, c.user_id FROM messages m JOIN conversations c ON c.number = m.conversation WHERE m.platform_id = ?1
        UNION ALL
        SELECT m.number, m.delivery, c.user_id FROM conversations c JOIN messages m ON m.conversation = c.number
        WHERE c.id = ?2 AND c.bot_id = ?3 AND c.channel = ?4 AND m.id = ?5 AND m.role <> 'user' AND m.incoming IS NULL LIMIT 1
        """,
        (status.platform_id, status.conversation_id, callback.bot_id, callback.channel, status.message_id),
    ).fetchone()
    if row is None or RANKS.get(row[1], 0) >= RANKS[status.delivery]:
        return None
    number, _, user_id = row
    if not status.is_last:
        # A part that fails fails the message; that it arrived says nothing of the others.
        statement = "UPDATE messages SET delivery = ?, error = ? WHERE number = ? AND outbox IS NULL"
        if status.delivery != "failed" or not connection.execute(statement, (status.delivery, status.error, number)).rowcount:
            return None
        return str(user_id)
    connection.execute(
        """
        UPDATE messages SET delivery = ?, error = ?, platform_id = coalesce(platform_id, ?), outbox = NULL, in_flight = NULL
        WHERE number = ?
        """,
        (status.delivery, status.error, status.platform_id, number),
    )
    return str(user_id)
