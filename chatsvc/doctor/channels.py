"""Check of the platforms of active channels: each token is taken. Nothing is sent, and no message is asked for."""

import asyncio
from collections.abc import Callable, Iterator

from chatsvc.config import Config
from chatsvc.doctor import files, report
from chatsvc.doctor.report import Finding
from chatsvc.domain.channels import TELEGRAM
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

    places = config.channels
    try:
        if channel.channel == TELEGRAM:
            fault = await platforms.check_telegram(egress, places.telegram_api_url, token)
        else:
            fault = await platforms.check_whatsapp(egress, places.whatsapp_graph_url, channel.identity or "", token)
    except platforms.PlatformRefused:
        return report.channel_token_refused(bot=channel.bot, channel=channel.channel)
    return report.channel_unreachable(channel=channel.channel, reason=fault) if fault else None
