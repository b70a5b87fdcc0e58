"""Channels of a bot: set, list, pause, resume and remove them; the widget's snippet. See DECISIONS.md section 7."""

import json
import uuid
from base64 import b64decode
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from chatsvc.domain import channels, refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.channels import ACTIVE, ANY_LINK, NEEDS_SECRET, PAUSED, SETTABLE, TELEGRAM, WEB, WHATSAPP, Channel, SetChannel
from chatsvc.services.accounts import bots, channel_secrets
from chatsvc.services.accounts.channel_secrets import VISITORS, OpenChannel, new_web_secrets
from chatsvc.services.services import Services
from chatsvc.store import channels as stored

MOST_MONTHLY = 100_000_000
MOST_SECRET = 4096
# Settings of each channel, and the secrets among them.
_SETTINGS = {
    WEB: ("sites", "title", "color", "logo", "privacy_url"),
    TELEGRAM: ("token",),
    WHATSAPP: ("phone_number_id", "token", "app_secret", "verify_token", "monthly_limit"),
}
_SECRETS = {WEB: (), TELEGRAM: ("token",), WHATSAPP: ("token", "app_secret", "verify_token")}


class Snippet(NamedTuple):
    """The line of HTML that embeds a bot's widget."""

    snippet: str


async def put(services: Services, caller: Caller, *, bot: str, channel: str, **settings: object) -> SetChannel:
    """Set a channel; settings that are not given stay. A platform's token is confirmed by a real call, and refused ones are not kept.

    `settings` are those of _SETTINGS; the logo is a picture in base64. Raises Refused for ones that are impossible, missing, or another
    channel's.
    """
    _known(channel)
    _, chatbot = await bots.resolve(services, caller, bot)
    given = {name: value for name, value in settings.items() if value is not None}
    unfitting = [name for name in given if name not in _SETTINGS[channel]]
    if unfitting:
        raise refusals.channel_setting_unfitting(channel=channel, settings=unfitting)
    before = (await services.channels.of_bot(chatbot.id)).get(channel)
    made, kept = _merged(services, chatbot.id, channel, before, given)
    warning = await _confirm(services, made, kept) if channel != WEB else None
    written = await _write(services, made, kept)
    return SetChannel(written, warning, callback_url(services, chatbot.id) if channel == WHATSAPP else None)


def callback_url(services: Services, bot_id: str) -> str:
    """Return the address that is entered at Meta's for a bot."""
    return f"{services.config.server.public_url.rstrip('/')}/channels/whatsapp/{bot_id}"


def _known(channel: str) -> None:
    if channel not in SETTABLE:
        raise refusals.channel_unknown(channel=channel, known=list(SETTABLE))


def _merged(
    services: Services, bot_id: str, channel: str, before: OpenChannel | None, given: Mapping[str, object]
) -> tuple[Channel, dict[str, str]]:
    """Merge checked settings into a channel's, or a new one's; return it with its secrets."""
    kept = dict(before.secrets) if before else {}
    settings = dict(before.channel.settings) if before else {}
    faults = refusals.Faults()
    for name, value in given.items():
        with faults:
            if name in _SECRETS[channel]:
                kept[name] = _secret(channel, str(value))
            else:
                settings[name] = _checked(name, value)
    faults.refuse()
    settings = {name: value for name, value in settings.items() if value is not None}
    missing = [name for name in _SECRETS[channel] if name not in kept]
    missing += ["phone_number_id"] if channel == WHATSAPP and "phone_number_id" not in settings else []
    if missing:
        raise refusals.channel_incomplete(channel=channel, missing=missing)
    if channel == WEB and VISITORS not in kept:
        kept.update(new_web_secrets())
    identity = channels.telegram_identity(kept["token"]) if channel == TELEGRAM else _text(settings, "phone_number_id")
    if channel == TELEGRAM and identity is None:
        raise refusals.token_invalid(channel=channel)
    now = services.clock()
    state = PAUSED if before and before.channel.state == PAUSED else ACTIVE
    identifier, created_at = (before.channel.id, before.channel.created_at) if before else (str(uuid.uuid4()), now)
    return Channel(identifier, bot_id, channel, state, settings, identity, created_at, now), kept


def _text(settings: Mapping[str, object], name: str) -> str | None:
    value = settings.get(name)
    return value if isinstance(value, str) else None


def _secret(channel: str, value: str) -> str:
    value = value.strip()
    if not value or len(value) > MOST_SECRET or not value.isascii() or not value.isprintable():
        raise refusals.token_invalid(channel=channel)
    return value


def _checked(name: str, value: object) -> object:
    """Check a setting; "" removes an optional one."""
    if name == "sites":
        return _sites(value if isinstance(value, list | tuple) else [str(value)])
    if name == "logo":
        return _logo(str(value))
    if name == "monthly_limit" and value != "":
        if not isinstance(value, int) or not 0 <= value <= MOST_MONTHLY:
            raise refusals.number_out_of_range(field=name, most=MOST_MONTHLY)
        return value
    text = str(value).strip()
    if not text:
        return None
    if name == "title":
        return _title(text)
    if name == "color" and not channels.is_color(text):
        raise refusals.color_invalid(color=text)
    if name == "privacy_url" and not channels.is_web_address(text):
        raise refusals.web_address_invalid(address=text)
    if name == "phone_number_id" and not channels.is_phone_number_id(text):
        raise refusals.phone_number_id_invalid(phone_number_id=text)
    return text


def _title(text: str) -> str:
    if len(text) > channels.MOST_TITLE:
        raise refusals.text_too_long(field="title", most=channels.MOST_TITLE, length=len(text))
    if not text.isprintable():
        raise refusals.text_unprintable(field="title")
    return text


def _logo(encoded: str) -> str | None:
    """Return a picture as the address that has it in itself; None for "", which takes it away."""
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


def _sites(given: Sequence[object]) -> list[str]:
    made: list[str] = []
    for site in map(str, given):
        if not site.strip():
            continue
        try:
            made.append(ANY_LINK if site.strip() == ANY_LINK else channels.origin_of(site))
        except (ValueError, UnicodeError):
            raise refusals.site_invalid(site=site) from None
    if len(made) > channels.MOST_SITES:
        raise refusals.too_many_sites(most=channels.MOST_SITES)
    return list(dict.fromkeys(made))


async def _confirm(services: Services, channel: Channel, kept: Mapping[str, str]) -> str | None:
    """Confirm the token at the platform. Return why it could not be, None where it was. Raises Refused."""
    # Imported here: an HTTP client takes long to import.
    from chatsvc.outbound import platforms

    if await stored.is_taken(services.db, channel):
        raise refusals.channel_taken(channel=channel.channel)
    url = services.config.channels.url_of(channel.channel)
    try:
        fault = await platforms.check(services.egress, channel.channel, url, channel.identity or "", kept["token"])
    except platforms.PlatformRefused as refusal:
        raise refusals.token_refused(channel=channel.channel, fault=str(refusal)) from None
    return f"{channel.channel} could not confirm the token: {fault}" if fault else None


async def _write(services: Services, channel: Channel, kept: Mapping[str, str]) -> Channel:
    text = json.dumps(kept)
    try:
        return await stored.put(services.db, channel, lambda check, row: channel_secrets.seal(services.secret.of(check), row, text))
    except stored.IdentityTaken:
        raise refusals.channel_taken(channel=channel.channel) from None
    finally:
        services.channels.changed(channel.bot_id)


async def list_all(services: Services, caller: Caller, *, bot: str) -> list[Channel]:
    """List the channels of a bot."""
    _, chatbot = await bots.resolve(services, caller, bot)
    return [one.channel for one in await stored.of_bot(services.db, chatbot.id)]


async def _find(services: Services, caller: Caller, bot: str, channel: str) -> Channel:
    _known(channel)
    found = [one for one in await list_all(services, caller, bot=bot) if one.channel == channel]
    if not found:
        raise refusals.channel_not_found(bot=bot, channel=channel)
    return found[0]


async def pause(services: Services, caller: Caller, *, bot: str, channel: str) -> Channel:
    """Pause a channel. Visitors get the sentence for a closed channel, and operators' replies are refused."""
    found = await _find(services, caller, bot, channel)
    return await _set_state(services, found, found.state if found.state == NEEDS_SECRET else PAUSED)


async def resume(services: Services, caller: Caller, *, bot: str, channel: str) -> Channel:
    """Resume a paused channel; raises `channel_secret_missing` for one that was imported without its secrets."""
    found = await _find(services, caller, bot, channel)
    if found.state == NEEDS_SECRET:
        raise refusals.channel_secret_missing(bot=found.bot_id, channel=channel)
    return await _set_state(services, found, ACTIVE)


async def _set_state(services: Services, channel: Channel, state: str) -> Channel:
    now = services.clock()
    changed = await stored.set_state(services.db, channel, state, now)
    services.channels.changed(channel.bot_id)
    if not changed:
        raise refusals.channel_not_found(bot=channel.bot_id, channel=channel.channel)
    return channel._replace(state=state, updated_at=now)


async def remove(services: Services, caller: Caller, *, bot: str, channel: str) -> Channel:
    """Remove a channel with its secrets; its conversations stay."""
    found = await _find(services, caller, bot, channel)
    removed = await stored.remove(services.db, found)
    services.channels.changed(found.bot_id)
    if not removed:
        raise refusals.channel_not_found(bot=found.bot_id, channel=channel)
    return found


async def snippet(services: Services, caller: Caller, *, bot: str) -> Snippet:
    """Return the line of HTML that embeds the widget. Raises `channel_not_found` before the channel is set."""
    found = await _find(services, caller, bot, WEB)
    color = found.text("color")
    attributes = f' data-bot="{found.bot_id}"' + (f' data-color="{color}"' if color else "")
    return Snippet(f'<script src="{escape(services.config.server.public_url.rstrip("/"))}/widget.js"{attributes} async></script>')
