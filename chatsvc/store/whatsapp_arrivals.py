"""Stores WhatsApp's callbacks as they arrive, those of one batch together with few statements.

Callbacks whose order matters are stored one by one by store/whatsapp.py.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import NamedTuple

from chatsvc.store.database import Connection, Database, Together
from chatsvc.store.incoming_messages import StoredMessage, store_all
from chatsvc.store.whatsapp import AddressedMessage, ReceivedCallback, StoredCallback, receive_one

_SEEN_MS = 30_000  # between two notes of a channel's last update


class Arrival(NamedTuple):
    """A callback with the time of its arrival."""

    callback: ReceivedCallback
    now: int


async def receive(db: Database, callback: ReceivedCallback, now: int, applied: Callable[[StoredCallback], None]) -> StoredCallback:
    """Store a callback. What came before changes nothing. Callbacks of one batch are stored together."""
    return await db.write(Together(receive_all, Arrival(callback, now)), applied)


def receive_all(connection: Connection, arrivals: list[Arrival]) -> list[StoredCallback]:
    """Store callbacks within a unit; the result is that of storing them one by one."""
    for channel_id, now in {one.callback.channel_id: one.now for one in arrivals}.items():
        connection.execute(
            "UPDATE channels SET seen_at = ?1 WHERE id = ?2 AND coalesce(seen_at, 0) NOT BETWEEN ?1 - ?3 AND ?1",
            (now, channel_id, _SEEN_MS),
        )
    independent = _independent([one.callback for one in arrivals])
    stored = _receive_together(connection, independent, arrivals[-1].now) if independent is not None else None
    if stored is None:
        return [receive_one(connection, *one) for one in arrivals]
    results = []
    for one in arrivals:
        digests = [message.message.digest for message in one.callback.messages]
        messages = {digest: stored[digest] for digest in digests if digest in stored}
        results.append(StoredCallback(messages, {message.user_id for message in messages.values()}))
    return results


def _independent(callbacks: Sequence[ReceivedCallback]) -> list[AddressedMessage] | None:
    """Return the messages of callbacks where their order does not matter: nothing else, and no two of one person. Else None."""
    if any(one.echoes or one.statuses or one.moves for one in callbacks):
        return None
    messages = [message for one in callbacks for message in one.messages]
    places = [(one.message.bot_id, *address) for one in messages for address in one.addresses]
    are_distinct = len(set(places)) == len(places) and len({one.message.digest for one in messages}) == len(messages)
    return messages if are_distinct else None


def _receive_together(connection: Connection, messages: Sequence[AddressedMessage], now: int) -> dict[bytes, StoredMessage] | None:
    """Store independent messages with few statements; return the new ones. None, and nothing written, where conversations are linked."""
    digests = [one.message.digest for one in messages]
    known = {digest for (digest,) in connection.at_once("SELECT digest FROM incoming_keys WHERE digest IN (", "?", digests, ")")}
    new = [one for one in messages if one.message.digest not in known]
    places: list[object] = []
    for one in new:
        for address in one.addresses:
            places += one.message.bot_id, *address
    found = connection.at_once(
        """
        SELECT a.bot_id, a.kind, a.value, c.user_id FROM whatsapp_addresses a JOIN conversations c ON c.number = a.conversation
        WHERE a.is_current = 1 AND (a.bot_id, a.kind, a.value) IN (VALUES
        """,
        "(?, ?, ?)",
        places,
        ")",
    )
    users = {(bot_id, kind, value): user_id for bot_id, kind, value, user_id in found}
    of = {one.message.digest: {users.get((one.message.bot_id, *address)) for address in one.addresses} - {None} for one in new}
    if any(len(of_one) > 1 for of_one in of.values()):
        return None
    addressed_ones = [one.message._replace(user_id=next(iter(of[one.message.digest]), None) or uuid.uuid4().hex) for one in new]
    stored = [one if isinstance(one, StoredMessage) else None for one in store_all(connection, addressed_ones)]
    numbers = [one.number for one in stored if one is not None]
    conversations = dict(connection.at_once("SELECT number, conversation FROM messages WHERE number IN (", "?", numbers, ")"))
    made = {one.message.digest: message for one, message in zip(new, stored, strict=True) if message is not None}
    rows: list[object] = []
    for one in new:
        message = made.get(one.message.digest)
        if message is None:
            continue
        for address in one.addresses:
            if (one.message.bot_id, *address) not in users:
                rows += one.message.bot_id, conversations[message.number], *address, now
    begin = "INSERT INTO whatsapp_addresses (bot_id, conversation, kind, value, is_current, created_at) VALUES "
    connection.at_once(begin, "(?, ?, ?, ?, 1, ?)", rows)
    return made
