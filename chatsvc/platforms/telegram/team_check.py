"""Checks of `chatsvc doctor` for the team's group. They send nothing to the group and read no messages."""

import asyncio
from collections.abc import Iterator

from chatsvc.config import Config
from chatsvc.doctor import Finding
from chatsvc.domain.channels import TOKEN_ELSEWHERE
from chatsvc.outbound.egress import Egress
from chatsvc.outbound.posting import NotConnected, RetryLater, SendingRefused, SendingUncertain
from chatsvc.platforms.telegram import NAME
from chatsvc.platforms.telegram.client import TelegramClient
from chatsvc.store.examination import Examined

LIMIT_S = 5.0  # for each call


def examine(config: Config, examined: Examined | None, egress: Egress | None) -> Iterator[Finding]:
    """Check bot and group at Telegram, and report what the running service has noted. Polling here would take its messages."""
    settings = config.notices.team
    if settings is None:
        return
    if egress is not None:
        if settings.token is None:
            yield Finding.fault("notices", "team_without_token")
        else:
            client = TelegramClient(egress, config.channels[NAME], settings.token.reveal())
            yield asyncio.run(_asked(client, settings.chat_id))
    if examined is not None and examined.team_fault == TOKEN_ELSEWHERE:
        yield Finding.fault("notices", "notices_token_elsewhere")


async def _asked(client: TelegramClient, chat: int) -> Finding:
    try:
        try:
            await client.call("getMe", {}, LIMIT_S)
        except SendingRefused as refusal:
            return Finding.fault("notices", "team_token_refused", answer=str(refusal))
        try:
            await client.call("getChat", {"chat_id": chat}, LIMIT_S)
        except SendingRefused as refusal:
            return Finding.fault("notices", "team_chat_refused", chat=chat, answer=str(refusal))
    except (NotConnected, RetryLater, SendingUncertain) as fault:
        return Finding.fault("notices", "team_unreachable", reason=str(fault))
    finally:
        await client.close()
    return Finding.ok("notices", "team_good")
