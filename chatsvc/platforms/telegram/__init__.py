"""The platform Telegram. The service asks it for messages by long polling, which works behind any firewall."""

import re
from collections.abc import Mapping

from chatsvc.domain import refusals
from chatsvc.domain.channels import Platform

NAME = "telegram"
_TOKEN = re.compile(r"([0-9]{1,20}):[A-Za-z0-9_-]{1,100}")


def bot_of(token: str) -> str | None:
    """Return the id of the Telegram bot to which a token belongs. Return None if the text is not a token."""
    match = _TOKEN.fullmatch(token)
    return match[1] if match else None


def _identity(_: Mapping[str, object], secrets: Mapping[str, str]) -> str:
    identity = bot_of(secrets["token"])
    if identity is None:
        raise refusals.token_invalid(channel=NAME)
    return identity


TELEGRAM = Platform(
    NAME,
    "Telegram",
    _identity,
    question=lambda _, token: (f"/bot{token}/getMe", {}),
    sender="chatsvc.platforms.telegram.client:sender",
    poller="chatsvc.platforms.telegram.pollers:TelegramPollers",
    examine="chatsvc.platforms.telegram.team:examine",
)
