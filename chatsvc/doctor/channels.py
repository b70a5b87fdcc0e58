"""Checks of the platforms of channels: each token is taken. Nothing is sent, and no message is asked for."""

import asyncio
from collections.abc import Callable, Iterator, Mapping

from chatsvc.config import Config
from chatsvc.doctor import files, report
from chatsvc.doctor.report import Finding
from chatsvc.domain.platforms import Platform
from chatsvc.outbound.egress import Egress
from chatsvc.store.examination import Examined, PlatformChannel
from chatsvc.store.master_key import MasterKey

TokenOf = Callable[[MasterKey, str, bytes], str | None]
AT_ONCE = 10


def tokens(
    config: Config, examined: Examined | None, token_of: TokenOf, platforms: Mapping[str, Platform], egress: Egress
) -> Iterator[Finding]:
    """Ask the platforms about each token. `token_of` opens one, `egress` is the ledger that counts the connections."""
    key = files.master_key_of(config)
    if key is None or examined is None or not examined.platform_channels:
        return
    # Imported here: most installations have no such channel, and an HTTP client takes long to import.
    from chatsvc.outbound.posting import PlatformRefused, check_token

    opened = [(channel, token_of(MasterKey(key), channel.id, channel.secrets)) for channel in examined.platform_channels]
    # Without a token: the check of the master key tells why, or the channel waits for its secrets.
    slots = asyncio.Semaphore(AT_ONCE)

    async def ask(channel: PlatformChannel, token: str) -> Finding | None:
        async with slots:
            question = platforms[channel.channel].question(channel.identity or "", token)
            try:
                fault = await check_token(egress, channel.channel, config.channels[channel.channel], question)
            except PlatformRefused:
                return report.fault("channels", "channel_token_refused", bot=channel.bot, channel=channel.channel)
            return report.fault("channels", "channel_unreachable", channel=channel.channel, reason=fault) if fault else None

    async def ask_all() -> list[Finding | None]:
        return await asyncio.gather(*(ask(channel, token) for channel, token in opened if token is not None))

    # Several bots may tell of the same outage.
    findings = [finding for finding in asyncio.run(ask_all()) if finding is not None]
    yield from (finding for index, finding in enumerate(findings) if finding not in findings[:index])
