"""Sender of one bot's messages on WhatsApp, with a monthly limit, which the store counts. It also marks messages as read."""

import asyncio
import logging
from collections.abc import Callable

from chatsvc import background
from chatsvc.domain import times
from chatsvc.domain.channels import TOKEN_REFUSED
from chatsvc.domain.outgoing import OutgoingPart, split
from chatsvc.outbound.posting import NotConnected, RetryLater, SendingFault, SendingRefused
from chatsvc.platforms.whatsapp import NAME
from chatsvc.platforms.whatsapp.callbacks import MOST_TEXT, error_name
from chatsvc.platforms.whatsapp.client import TOKEN_CODE, WhatsAppClient
from chatsvc.services.accounts.channel_secrets import OpenChannel
from chatsvc.services.services import Services
from chatsvc.store import platforms
from chatsvc.store.database import StoreUnavailable

log = logging.getLogger(__name__)

RECEIPTS = 16  # of a bot at a time
RECEIPT_S = 5.0
TYPING_AFTER_S = 0.7  # most replies of the knowledge come sooner
_RETRY_S = 1.0
# The button that opens a list of choices.
_LABELS = {"tr": "Seçenekler", "en": "Choose"}


class WhatsAppSender:
    """Notes a refused token; see PlatformSender."""

    def __init__(self, services: Services, channel: OpenChannel) -> None:
        self._services, self._channel = services, channel.channel
        url, number = services.config.channels[NAME], self._channel.identity or ""
        self.client = WhatsAppClient(services.egress, url, number, channel.secrets["token"])
        self._slots = asyncio.Semaphore(RECEIPTS)
        self._receipts: set[asyncio.Task[None]] = set()
        self._is_closed = False
        limit = self._channel.settings.get("monthly_limit")
        self._is_refused = self._channel.fault is not None
        self._limit = limit if isinstance(limit, int) else None

    def parts(self, text: str) -> list[str]:
        return split(text, MOST_TEXT)

    async def send(self, part: OutgoingPart) -> str:
        db, bot_id, month = self._services.db, self._channel.bot_id, times.month(self._services.clock())
        try:
            address = await platforms.address(db, (bot_id, NAME, part.user_id))
            if address is None:
                raise SendingRefused("visitor_unknown")
            if not await platforms.reserve_send(db, bot_id, month, self._limit):
                raise SendingRefused("monthly_limit")
        except StoreUnavailable:
            raise RetryLater("store_unavailable", _RETRY_S) from None
        try:
            key = await self.client.send(part, address, _label)
        except (SendingRefused, RetryLater, NotConnected) as fault:
            await self._not_sent(month, fault)
            raise
        if self._is_refused:
            await self._note_token(None)
        return key

    async def _not_sent(self, month: str, fault: Exception) -> None:
        try:
            await platforms.release_send(self._services.db, self._channel.bot_id, month)
        except StoreUnavailable as outage:
            log.error("a message that was not sent stays counted: %s", outage)
        if isinstance(fault, SendingRefused) and fault.code == error_name(TOKEN_CODE):
            await self._note_token(TOKEN_REFUSED)

    async def _note_token(self, fault: str | None) -> None:
        self._is_refused = fault is not None
        try:
            await self._services.channels.note_fault(self._channel, fault)
        except StoreUnavailable as outage:
            log.error("the state of a channel's token is not stored: %s", outage)

    def receipt(self, key: str) -> Callable[[], None]:
        """Mark a message as read soon. Return the function that is called at the end of its answer."""
        answered, is_begun = asyncio.Event(), False

        def begin() -> None:
            nonlocal is_begun
            timer.cancel()
            if not is_begun and not self._is_closed:
                is_begun = True
                background.start("read receipt", self._mark_read(key, answered), self._receipts)

        def end() -> None:
            answered.set()
            begin()

        timer = asyncio.get_running_loop().call_later(TYPING_AFTER_S, begin)
        return end

    async def _mark_read(self, key: str, answered: asyncio.Event) -> None:
        """Mark a message as read, and the bot as typing while it answers. A failure is not tried again."""
        try:
            async with asyncio.timeout(RECEIPT_S), self._slots:
                await self.client.mark_read(key, RECEIPT_S, typing=not answered.is_set())
        except (TimeoutError, SendingFault) as fault:
            log.info("bot %s: a message could not be marked as read: %s", self._channel.bot_id, str(fault) or "timeout")

    async def close(self) -> None:
        """Give up receipts."""
        self._is_closed = True
        await background.cancel(*self._receipts)
        await self.client.close()


def _label(text: str) -> str:
    from chatsvc.engines import language

    return _LABELS.get(language.guess(text) or "", _LABELS["en"])
