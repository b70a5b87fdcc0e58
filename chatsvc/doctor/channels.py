"""Checks of the platforms of channels and of the team's group: each token is taken. Nothing is sent, and no message is asked for."""

import asyncio
from collections.abc import Callable, Iterator

from chatsvc.config import Config
from chatsvc.doctor import files, report
from chatsvc.doctor.report import Finding
from chatsvc.domain.channels import TOKEN_ELSEWHERE
from chatsvc.outbound.egress import Egress
from chatsvc.store.examination import Examined, PlatformChannel
from chatsvc.store.master_key import MasterKey

TokenOf = Callable[[MasterKey, str, bytes], str | None]
AT_ONCE = 10


def tokens(config: Config, examined: Examined | None, token_of: TokenOf, egress: Egress | None = None) -> Iterator[Finding]:
    """Ask Telegram and WhatsApp about each token. `token_of` opens one, `egress` is the ledger that counts the connections."""
    key = files.master_key_of(config)
    if key is None or examined is None or not examined.platform_channels:
        return
    opened = [(one, token_of(MasterKey(key), one.id, one.secrets)) for one in examined.platform_channels]
    # Without a token: the check of the master key tells why, or the channel waits for its secrets.
    yield from asyncio.run(_asked(config, [(one, token) for one, token in opened if token is not None], egress or Egress()))


async def _asked(config: Config, channels: list[tuple[PlatformChannel, str]], egress: Egress) -> list[Finding]:
    slots = asyncio.Semaphore(AT_ONCE)

    async def ask(channel: PlatformChannel, token: str) -> Finding | None:
        async with slots:
            return await _ask(config, channel, token, egress)

    # Several bots may tell of the same outage.
    found: list[Finding] = []
    for one in await asyncio.gather(*(ask(*one) for one in channels)):
        if one is not None and one not in found:
            found.append(one)
    return found


async def _ask(config: Config, channel: PlatformChannel, token: str, egress: Egress) -> Finding | None:
    # Imported here: most installations have no such channel, and an HTTP client takes long to import.
    from chatsvc.outbound import platforms

    try:
        fault = await platforms.check(egress, channel.channel, config.channels.url_of(channel.channel), channel.identity or "", token)
    except platforms.PlatformRefused:
        return report.channel_token_refused(bot=channel.bot, channel=channel.channel)
    return report.channel_unreachable(channel=channel.channel, reason=fault) if fault else None


_FAULTS = {TOKEN_ELSEWHERE: report.notices_token_elsewhere}
LIMIT_S = 5.0  # for each call


def group(config: Config, egress: Egress | None = None) -> Iterator[Finding]:
    """Ask Telegram about the bot and the group. `egress` is the ledger that counts the connection."""
    settings = config.notices.telegram
    if settings is None:
        return
    if settings.token is None:
        yield report.team_without_token()
        return
    yield asyncio.run(_asked_of_team(config.channels.telegram_api_url, settings.token.reveal(), settings.chat_id, egress or Egress()))


def noted(config: Config, examined: Examined | None) -> Iterator[Finding]:
    """Name what the running service has noted. Asking for messages here would take them from it."""
    if config.notices.telegram is not None and examined is not None and examined.team_fault in _FAULTS:
        yield _FAULTS[examined.team_fault]()


async def _asked_of_team(api_url: str, token: str, chat: int, egress: Egress) -> Finding:
    # Imported here: most installations have no such group.
    from chatsvc.outbound.posting import NotConnected, RetryLater, SendingRefused, SendingUncertain
    from chatsvc.outbound.telegram import TelegramClient

    client = TelegramClient(egress, api_url, token)
    try:
        try:
            await client.call("getMe", {}, LIMIT_S)
        except SendingRefused as refusal:
            return report.team_token_refused(answer=str(refusal))
        try:
            await client.call("getChat", {"chat_id": chat}, LIMIT_S)
        except SendingRefused as refusal:
            return report.team_chat_refused(chat=chat, answer=str(refusal))
    except (NotConnected, RetryLater, SendingUncertain) as fault:
        return report.team_unreachable(reason=str(fault))
    finally:
        await client.close()
    return report.team_good()
