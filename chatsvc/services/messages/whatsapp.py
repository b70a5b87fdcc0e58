"""Receives WhatsApp's callbacks: stores them before acknowledgement, then has messages answered and marked read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, cast

from chatsvc import background
from chatsvc.domain import times
from chatsvc.domain.channels import ACTIVE, WHATSAPP, NewMessage, digest_of
from chatsvc.domain.hand_off import BOT
from chatsvc.domain.whatsapp import WhatsAppCallback, WhatsAppStatus
from chatsvc.outbound.posting import SendingFault
from chatsvc.services.accounts.channel_secrets import OpenChannel
from chatsvc.services.messages.outbox import sent_digest
from chatsvc.store import channels, whatsapp
from chatsvc.store.incoming_messages import StoredMessage
from chatsvc.store.whatsapp import AddressedMessage, NewStatus, ReceivedCallback, StoredCallback

if TYPE_CHECKING:
    from chatsvc.services.messages.platform_senders import WhatsAppSender
    from chatsvc.services.services import Services

log = logging.getLogger(__name__)

TYPING_AFTER_S = 0.7  # most replies of the knowledge come sooner
RECEIPT_S = 5.0


async def find(services: Services, bot_id: str) -> OpenChannel | None:
    """Find a bot's channel. None where the bot, its account or the channel does not exist."""
    found = (await services.channels.of_bot(bot_id)).get(WHATSAPP)
    state = await services.account_cache.account(found.account_id) if found else None
    return found if found is not None and state is not None and bot_id in state.bots else None


async def verified(services: Services, channel: OpenChannel) -> None:
    """Note that the platform has verified the callback."""
    await channels.note_verified(services.db, channel.channel.id, services.clock())


class WhatsAppInbox:
    """Receives callbacks and has their messages answered."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def receive(self, channel: OpenChannel, callback: WhatsAppCallback) -> None:
        """Store a callback, and begin to answer its new messages. Raises StoreUnavailable."""
        services, bot_id = self._services, channel.channel.bot_id
        arrived = ReceivedCallback(
            channel.channel.id,
            bot_id,
            [
                AddressedMessage(one.addresses, _message(channel, one.key, one.at, one.text)._replace(kind=one.kind))
                for one in callback.messages
            ],
            [
                (AddressedMessage(one.addresses, _message(channel, one.key, one.at, one.text)), sent_digest(bot_id, WHATSAPP, one.key))
                for one in callback.echoes
            ],
            [_status(bot_id, one) for one in callback.statuses],
            callback.moves,
        )
        done = await whatsapp.receive(services.db, arrived, services.clock())
        self._drop_caches(channel, done)
        keys = {digest_of(bot_id, WHATSAPP, one.key): one.key for one in callback.messages}
        messages = sorted(done.messages.items(), key=lambda item: (item[1].user_id, item[1].at, item[1].number))
        for _, of_visitor in groupby(messages, key=lambda item: item[1].user_id):
            new = list(of_visitor)
            self._begin(channel, [message for _, message in new], keys[new[-1][0]])

    def _drop_caches(self, channel: OpenChannel, done: StoredCallback) -> None:
        """Drop what is cached of the changed conversations, and wake those who wait for them."""
        if done.users:
            self._services.account_cache.drop_pages(channel.account_id)
        for user_id in done.users:
            self._services.events.notify((channel.channel.bot_id, WHATSAPP, user_id))

    def _begin(self, channel: OpenChannel, messages: Sequence[StoredMessage], last_key: str) -> None:
        """Begin to answer the new messages of a conversation. Where the bot answers they are marked as read."""
        last = messages[-1]
        is_recent = self._services.clock() - last.at <= times.DAY_MS
        is_marked = channel.channel.state == ACTIVE and is_recent and last.kind is None and last.handling in (None, BOT)
        done = self._receipt(channel, last_key) if is_marked else None
        for message in messages:
            self._services.answers.begin(channel.account_id, message, done if message is last else None)

    def _receipt(self, channel: OpenChannel, key: str) -> Callable[[], None]:
        """Mark a message as read soon. Return the function that is called at the end of its answer."""
        answered, is_begun = asyncio.Event(), False

        def begin() -> None:
            nonlocal is_begun
            timer.cancel()
            if not is_begun and not self._is_closed:
                is_begun = True
                task = background.start("read receipt", self._mark_read(channel, key, answered))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

        def end() -> None:
            answered.set()
            begin()

        timer = asyncio.get_running_loop().call_later(TYPING_AFTER_S, begin)
        return end

    async def _mark_read(self, channel: OpenChannel, key: str, answered: asyncio.Event) -> None:
        """Mark a message as read, and the bot as typing while it answers. A failure is not tried again."""
        try:
            async with asyncio.timeout(RECEIPT_S):
                sender = cast("WhatsAppSender", self._services.outbox.sender_of(channel))
                async with sender.receipts:
                    await sender.client.mark_read(key, RECEIPT_S, typing=not answered.is_set())
        except (TimeoutError, SendingFault) as fault:
            log.info("bot %s: a message could not be marked as read: %s", channel.channel.bot_id, str(fault) or "timeout")

    async def close(self) -> None:
        """Give up receipts."""
        self._is_closed = True
        await background.cancel(*self._tasks)


def _message(channel: OpenChannel, key: str, at: int, text: str) -> NewMessage:
    return NewMessage(channel.account_id, channel.channel.bot_id, WHATSAPP, "", text, key, at)


def _status(bot_id: str, status: WhatsAppStatus) -> NewStatus:
    conversation_id, _, rest = (status.opaque or "").partition(" ")
    message_id, _, part = rest.partition(" ")
    return NewStatus(
        sent_digest(bot_id, WHATSAPP, status.key), status.delivery, status.error, conversation_id, message_id, is_last=not part
    )
