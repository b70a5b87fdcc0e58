"""Functions that make the sender of a channel, by messaging platform; and the one of WhatsApp. A new platform adds its line."""

import asyncio
import logging
from collections.abc import Mapping

from chatsvc.domain import times
from chatsvc.domain.channels import TELEGRAM, TOKEN_REFUSED, WHATSAPP
from chatsvc.domain.outgoing import OutgoingPart, split
from chatsvc.domain.whatsapp import error_name
from chatsvc.outbound.posting import NotConnected, RetryLater, SendingRefused
from chatsvc.outbound.telegram import TelegramClient
from chatsvc.outbound.whatsapp import MOST_TEXT, TOKEN_CODE, WhatsAppClient
from chatsvc.services.accounts import channel_secrets
from chatsvc.services.accounts.channel_secrets import OpenChannel
from chatsvc.services.messages.outbox import MakeSender
from chatsvc.services.services import Services
from chatsvc.store import whatsapp
from chatsvc.store.database import StoreUnavailable

log = logging.getLogger(__name__)

RECEIPTS = 16  # of a bot at a time
_RETRY_S = 1.0
# The button that opens a list of choices.
_LABELS = {"tr": "Seçenekler", "en": "Choose"}


class WhatsAppSender:
    """Sender of one bot's messages with a monthly limit, which the store counts; notes a refused token. See PlatformSender."""

    def __init__(self, services: Services, channel: OpenChannel) -> None:
        self._services, self._channel = services, channel.channel
        graph_url = services.config.channels.whatsapp_graph_url
        self.client = WhatsAppClient(services.egress, graph_url, self._channel.identity or "", channel.secrets["token"])
        self.receipts = asyncio.Semaphore(RECEIPTS)
        limit = self._channel.settings.get("monthly_limit")
        self._is_refused = self._channel.fault is not None
        self._limit = limit if isinstance(limit, int) else None

    def parts(self, text: str) -> list[str]:
        return split(text, MOST_TEXT)

    async def send(self, part: OutgoingPart) -> str:
        db, bot_id, month = self._services.db, self._channel.bot_id, times.month(self._services.clock())
        try:
            address = await whatsapp.address(db, (bot_id, part.user_id))
            if address is None:
                raise SendingRefused("visitor_unknown")
            if not await whatsapp.reserve_send(db, bot_id, month, self._limit):
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
            await whatsapp.release_send(self._services.db, self._channel.bot_id, month)
        except StoreUnavailable as outage:
            log.error("a message that was not sent stays counted: %s", outage)
        if isinstance(fault, SendingRefused) and fault.code == error_name(TOKEN_CODE):
            await self._note_token(TOKEN_REFUSED)

    async def _note_token(self, fault: str | None) -> None:
        self._is_refused = fault is not None
        try:
            await channel_secrets.note_fault(self._services, self._channel, fault)
        except StoreUnavailable as outage:
            log.error("the state of a channel's token is not stored: %s", outage)

    async def close(self) -> None:
        await self.client.close()


def _label(text: str) -> str:
    from chatsvc.engines import language

    return _LABELS.get(language.guess(text) or "", _LABELS["en"])


def _telegram(services: Services, channel: OpenChannel) -> TelegramClient:
    return TelegramClient(services.egress, services.config.channels.telegram_api_url, channel.secrets["token"])


SENDERS: Mapping[str, MakeSender] = {TELEGRAM: _telegram, WHATSAPP: WhatsAppSender}
