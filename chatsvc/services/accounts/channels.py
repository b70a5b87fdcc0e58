"""Channels of a bot: set, list, pause, resume and remove them; the widget's snippet."""

import uuid
from base64 import b64decode
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from chatsvc.domain import channels, refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.channels import ACTIVE, ANY_LINK, NEEDS_SECRET, PAUSED, SETTABLE, WEB, Channel, CheckSetting, SetChannel, optional_text
from chatsvc.domain.models import Bot
from chatsvc.services.accounts import accounts, channel_secrets
from chatsvc.services.accounts.channel_secrets import VISITORS, OpenChannel, new_web_secrets
from chatsvc.services.services import Services
from chatsvc.store import channels as stored

MOST_SECRET = 4096


class Snippet(NamedTuple):
    """The line of HTML that embeds a bot's widget."""

    snippet: str


async def put(services: Services, _: Caller, *, bot: Bot, channel: str, **settings: object) -> SetChannel:
    """Create or change a channel; settings that are not given do not change. The platform checks a token; a refused token is not stored.

    `settings` are those of _WEB or of the platform; the logo is a picture in base64. Raises Refused for settings that are invalid or
    missing, or that belong to another channel.
    """
    _known(channel)
    given = {name: value for name, value in settings.items() if value is not None}
    platform = services.platforms.get(channel)
    fitting = {*platform.settings, *platform.secrets} if platform else _WEB
    unfitting = [name for name in given if name not in fitting]
    if unfitting:
        raise refusals.channel_setting_unfitting(channel=channel, settings=unfitting)
    before = (await services.channels.of_bot(bot.id)).get(channel)
    after, secrets = _merged(services, bot.id, channel, before, given)
    fault = None
    if platform:
        # Imported here: an HTTP client takes long to import.
        from chatsvc.outbound.posting import PlatformRefused, check_token

        question = platform.question(after.identity or "", secrets["token"])
        try:
            # The platform is not asked for an account that another bot has.
            await stored.check_identity(services.db, after)
            fault = await check_token(services.egress, channel, services.config.channels[channel], question)
        except PlatformRefused as refusal:
            raise refusals.token_refused(channel=channel, fault=str(refusal)) from None
        except stored.IdentityTaken:
            raise refusals.channel_taken(channel=channel) from None
    try:
        written = await stored.put(services.db, after, lambda check, row: channel_secrets.seal(services.secret.of(check), row, secrets))
    except stored.IdentityTaken:
        raise refusals.channel_taken(channel=channel) from None
    finally:
        services.channels.changed(bot.id)
    warning = f"{channel} could not confirm the token: {fault}" if fault else None
    return SetChannel(written, warning, callback_url(services, channel, bot.id))


def callback_url(services: Services, channel: str, bot_id: str) -> str | None:
    """Return the URL at which a platform calls a bot, for its owner to enter there. Return None if the platform makes no calls."""
    platform = services.platforms.get(channel)
    if platform is None or platform.callback_path is None:
        return None
    return f"{services.config.server.public_url.rstrip('/')}{platform.callback_path}{bot_id}"


def _known(channel: str) -> None:
    if channel not in SETTABLE:
        raise refusals.channel_unknown(channel=channel, known=list(SETTABLE))


def _merged(
    services: Services, bot_id: str, channel: str, before: OpenChannel | None, given: Mapping[str, object]
) -> tuple[Channel, dict[str, str]]:
    """Check the given settings, and add them to those of `before` or of a new channel. Return the channel and its secrets."""
    platform = services.platforms.get(channel)
    checks, named, required = (platform.settings, platform.secrets, platform.required) if platform else (_WEB, (), ())
    secrets = dict(before.secrets) if before else {}
    settings = dict(before.channel.settings) if before else {}
    faults = refusals.Faults()
    for name, value in given.items():
        with faults:
            if name in named:
                secrets[name] = _secret(channel, str(value))
            else:
                settings[name] = checks[name](value)
    faults.refuse()
    settings = {name: value for name, value in settings.items() if value is not None}
    missing = [*(name for name in named if name not in secrets), *(name for name in required if name not in settings)]
    if missing:
        raise refusals.channel_incomplete(channel=channel, missing=missing)
    if channel == WEB and VISITORS not in secrets:
        secrets.update(new_web_secrets())
    identity = platform.identity(settings, secrets) if platform else None
    now = services.clock()
    state = PAUSED if before and before.channel.state == PAUSED else ACTIVE
    identifier, created_at = (before.channel.id, before.channel.created_at) if before else (str(uuid.uuid4()), now)
    return Channel(identifier, bot_id, channel, state, settings, identity, created_at, now), secrets


def _secret(channel: str, value: str) -> str:
    value = value.strip()
    if not value or len(value) > MOST_SECRET or not value.isascii() or not value.isprintable():
        raise refusals.token_invalid(channel=channel)
    return value


def _logo(encoded: str) -> str | None:
    """Return a base64 picture as a data URL, or None for "" (no logo). Raises `logo_invalid`."""
    if not encoded:
        return None
    try:
        data = b64decode(encoded, validate=True)
    except ValueError:
        data = b""
    kind = channels.logo_kind(data)
    if kind is None or len(data) > channels.MOST_LOGO:
        raise refusals.logo_invalid(most=channels.MOST_LOGO // 1024)
    return f"data:{kind};base64,{encoded}"


def _sites(given: object) -> list[str]:
    origins: list[str] = []
    for site in map(str, given if isinstance(given, list | tuple) else [given]):
        if not site.strip():
            continue
        try:
            origins.append(ANY_LINK if site.strip() == ANY_LINK else channels.origin_of(site))
        except (ValueError, UnicodeError):
            raise refusals.site_invalid(site=site) from None
    if len(origins) > channels.MOST_SITES:
        raise refusals.too_many_sites(most=channels.MOST_SITES)
    return list(dict.fromkeys(origins))


def _one_of(name: str, words: Sequence[str]) -> CheckSetting:
    return optional_text(words.__contains__, lambda _: refusals.channel_setting_unfitting(channel=WEB, settings=[name]))


def _label(name: str, most: int) -> CheckSetting:
    return lambda given: accounts.plain_text(str(given), name, most) if str(given).strip() else None


_WEB: Mapping[str, CheckSetting] = {
    "sites": _sites,
    "title": _label("title", channels.MOST_TITLE),
    "launcher": _label("launcher", channels.MOST_LAUNCHER),
    "position": _one_of("position", channels.POSITIONS),
    "theme": _one_of("theme", channels.THEMES),
    "color": optional_text(channels.is_color, lambda text: refusals.color_invalid(color=text)),
    "logo": _logo,
    "privacy_url": optional_text(channels.is_web_address, lambda text: refusals.web_address_invalid(address=text)),
}


async def list_all(services: Services, _: Caller, *, bot: Bot) -> list[Channel]:
    """List the channels of a bot."""
    return [channel for channel, _, _ in await stored.of_bot(services.db, bot.id)]


async def _find(services: Services, bot: Bot, channel: str) -> Channel:
    _known(channel)
    for existing, _, _ in await stored.of_bot(services.db, bot.id):
        if existing.channel == channel:
            return existing
    raise refusals.channel_not_found(bot=bot.id, channel=channel)


async def pause(services: Services, _: Caller, *, bot: Bot, channel: str) -> Channel:
    """Pause a channel. Visitors get the sentence for a closed channel, and operators' replies are refused."""
    before = await _find(services, bot, channel)
    return await _set_state(services, before, before.state if before.state == NEEDS_SECRET else PAUSED)


async def resume(services: Services, _: Caller, *, bot: Bot, channel: str) -> Channel:
    """Resume a paused channel; raises `channel_secret_missing` if the channel was imported without its secrets."""
    before = await _find(services, bot, channel)
    if before.state == NEEDS_SECRET:
        raise refusals.channel_secret_missing(bot=before.bot_id, channel=channel)
    return await _set_state(services, before, ACTIVE)


async def _set_state(services: Services, channel: Channel, state: str) -> Channel:
    after = channel._replace(state=state, updated_at=services.clock())
    changed = await stored.update(services.db, channel.id, {"state": state, "updated_at": after.updated_at})
    return _changed(services, after, is_there=changed)


def _changed(services: Services, channel: Channel, *, is_there: bool) -> Channel:
    """Notify the observers of a channel's change, and return the channel. Raises `channel_not_found` unless `is_there` is true."""
    services.channels.changed(channel.bot_id)
    if not is_there:
        raise refusals.channel_not_found(bot=channel.bot_id, channel=channel.channel)
    return channel


async def remove(services: Services, _: Caller, *, bot: Bot, channel: str) -> Channel:
    """Remove a channel with its secrets; its conversations stay."""
    before = await _find(services, bot, channel)
    return _changed(services, before, is_there=await stored.remove(services.db, before))


async def snippet(services: Services, _: Caller, *, bot: Bot) -> Snippet:
    """Return the line of HTML that embeds the widget. Raises `channel_not_found` if the bot has no web channel."""
    widget = await _find(services, bot, WEB)
    color = widget.text("color")
    attributes = f' data-bot="{widget.bot_id}"' + (f' data-color="{color}"' if color else "")
    return Snippet(f'<script src="{escape(services.config.server.public_url.rstrip("/"))}/widget.js"{attributes} async></script>')
