"""Table of functions that make the sender of a channel, by messaging platform.

A new platform adds its line.
"""

from collections.abc import Mapping

from chatsvc.domain.channels import TELEGRAM, WHATSAPP
from chatsvc.outbound.telegram import TelegramClient, TelegramSender
from chatsvc.services.accounts.channel_secrets import OpenChannel
from chatsvc.services.messages.outbox import MakeSender
from chatsvc.services.messages.whatsapp_sending import LimitedSender
from chatsvc.services.services import Services


def _telegram(services: Services, channel: OpenChannel) -> TelegramSender:
    return TelegramSender(TelegramClient(services.egress, services.config.channels.telegram_api_url, channel.secrets["token"]))


SENDERS: Mapping[str, MakeSender] = {TELEGRAM: _telegram, WHATSAPP: LimitedSender}
