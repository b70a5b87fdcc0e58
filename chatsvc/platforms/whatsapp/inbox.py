"""Receives WhatsApp's callbacks: stores them before acknowledgement, then has messages answered and marked read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, cast

from chatsvc.domain import times
from chatsvc.domain.channels import ACTIVE, NewMessage, digest_of
from chatsvc.domain.hand_off import BOT
from chatsvc.platforms.whatsapp import NAME
from chatsvc.platforms.whatsapp.callbacks import WhatsAppCallback, WhatsAppMessage, WhatsAppStatus
from chatsvc.services.accounts.channel_secrets import OpenChannel
from chatsvc.services.messages.channel_answers import ChannelAnswers
from chatsvc.services.messages.outbox import Outbox, sent_digest
from chatsvc.store import callbacks
from chatsvc.store.callbacks import AddressedMessage, NewStatus, ReceivedCallback
from chatsvc.store.incoming_messages import StoredMessage

if TYPE_CHECKING:
    from chatsvc.platforms.whatsapp.sender import WhatsAppSender
    from chatsvc.services.services import Services


async def find(services: Services, bot_id: str) -> OpenChannel | None:
    """Find a bot's channel. None where the bot, its account or the channel does not exist."""
    found = (await services.channels.of_bot(bot_id)).get(NAME)
    state = await services.account_cache.account(found.account_id) if found else None
    return found if found is not None and state is not None and bot_id in state.bots else None


async def receive(services: Services, channel: OpenChannel, callback: WhatsAppCallback) -> None:
    """Store a callback, and begin to answer its new messages. Raises StoreUnavailable."""
    bot_id = channel.channel.bot_id
    arrived = ReceivedCallback(
        channel.channel.id,
        bot_id,
        NAME,
        [AddressedMessage(one.addresses, _message(channel, one)._replace(kind=one.kind)) for one in callback.messages],
        [(AddressedMessage(one.addresses, _message(channel, one)), sent_digest(bot_id, NAME, one.key)) for one in callback.echoes],
        [_status(bot_id, one) for one in callback.statuses],
        callback.moves,
    )
    done = await callbacks.receive(services.db, arrived, services.clock())
    for user_id in done.users:
        services.events.notify((bot_id, NAME, user_id))
    keys = {digest_of(bot_id, NAME, one.key): one.key for one in callback.messages}
    messages = sorted(done.messages.items(), key=lambda item: (item[1].user_id, item[1].at, item[1].number))
    for _, of_visitor in groupby(messages, key=lambda item: item[1].user_id):
        new = list(of_visitor)
        _begin(services, channel, [message for _, message in new], keys[new[-1][0]])


def _begin(services: Services, channel: OpenChannel, messages: Sequence[StoredMessage], last_key: str) -> None:
    """Begin to answer the new messages of a conversation. Where the bot answers they are marked as read."""
    last = messages[-1]
    is_recent = services.clock() - last.at <= times.DAY_MS
    is_marked = channel.channel.state == ACTIVE and is_recent and last.kind is None and last.handling in (None, BOT)
    done = cast("WhatsAppSender", services.part(Outbox).sender_of(channel)).receipt(last_key) if is_marked else None
    for message in messages:
        services.part(ChannelAnswers).begin(channel.account_id, message, done if message is last else None)


def _message(channel: OpenChannel, one: WhatsAppMessage) -> NewMessage:
    return NewMessage(channel.account_id, channel.channel.bot_id, NAME, "", one.text, one.key, one.at)


def _status(bot_id: str, status: WhatsAppStatus) -> NewStatus:
    conversation_id, _, rest = (status.opaque or "").partition(" ")
    message_id, _, part = rest.partition(" ")
    return NewStatus(sent_digest(bot_id, NAME, status.key), status.delivery, status.error, conversation_id, message_id, is_last=not part)
