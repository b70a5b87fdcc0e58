"""Channels of a bot: how each is set up, its state, and the widget's line of HTML."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.channels import ANY_LINK, DEFAULT_COLOR, MOST_LOGO, TELEGRAM, WEB, WHATSAPP, Channel, is_color, is_dark
from chatsvc.domain.refusals import Refused
from chatsvc.domain.targets import with_https
from chatsvc.http.response import HttpResponse
from chatsvc.usecases import web_visits
from chatsvc.usecases.channels import callback_url
from chatsvc.usecases.whatsapp_usage import WhatsAppUsage

TEMPLATE = "channels.html"


async def show(page: Page) -> HttpResponse:
    """Show each channel with its state and the form that sets it."""
    return page.render(TEMPLATE, **await _values(page))


async def _values(page: Page, channel: str = "", typed: Typed | None = None, warning: str | None = None) -> dict[str, Any]:
    """Return the values of the page. `typed` takes the place of what is kept in the form of one channel."""
    bot = await page.perform("bot.show", bot=page.params["bot"])
    channels = {one.channel: one for one in await page.perform("channel.list", bot=bot.id)}
    snippet = (await page.perform("channel.snippet", bot=bot.id)).snippet if WEB in channels else None
    public_url = page.services.config.server.public_url.rstrip("/")
    kept = {name: form.kept(channels.get(name)) for name, form in FORMS.items()}
    web = channels.get(WEB)
    shown = str((typed if typed is not None and channel == WEB else kept[WEB])["color"])
    color = shown if is_color(shown) else DEFAULT_COLOR
    return {
        "bot": bot,
        "channels": channels,
        "snippet": snippet,
        "link": f"{public_url}/chat/{bot.id}",
        "callback_url": callback_url(page.services, bot.id),
        "sent": await _sent(page, bot.id) if WHATSAPP in channels else 0,
        "any_link": ANY_LINK,
        "typed": kept | ({channel: typed} if typed is not None else {}),
        "refused": channel,
        "warning": warning,
        "now": page.services.clock(),
        "logo": web.text("logo") if web else None,
        "opening": web_visits.opening(page.services, bot, page.language),
        "color": color,
        "is_dark": is_dark(color),
    }


async def _sent(page: Page, bot_id: str) -> int:
    """Return the messages that the bot has sent by WhatsApp this month."""
    usage: list[WhatsAppUsage] = await page.perform("usage.whatsapp", account=page.account_id)
    return sum(one.sent for one in usage if one.bot_id == bot_id)


def _path(page: Page) -> str:
    return f"/bots/{page.params['bot']}/channels"


Typed = dict[str, Any]


class ChannelForm(NamedTuple):
    """Form of a channel: values that it shows at first, and the settings that it sends with what was typed.

    Secrets are never shown again, so they are no part of what was typed.
    """

    kept: Callable[[Channel | None], Typed]
    read: Callable[[Fields], tuple[dict[str, object], Typed]]


def _kept_web(web: Channel | None) -> Typed:
    if web is None:
        return {"site": "", "any_link": False, "title": "", "color": DEFAULT_COLOR, "privacy_url": ""}
    looks = {"title": web.text("title") or "", "color": web.text("color") or DEFAULT_COLOR, "privacy_url": web.text("privacy_url") or ""}
    return {**looks, "site": "\n".join(site for site in web.sites if site != ANY_LINK), "any_link": ANY_LINK in web.sites}


def _read_web(fields: Fields) -> tuple[dict[str, object], Typed]:
    """Read sites one a line, looks and privacy notice."""
    sites = [line.strip() for text in fields.all("site") for line in text.splitlines() if line.strip()]
    looks = {name: fields.text(name) for name in ("title", "color", "privacy_url")}
    shown = "\n".join(site for site in sites if site != ANY_LINK)
    links = [site if site == ANY_LINK else with_https(site) for site in sites]
    given: dict[str, object] = {**looks, "sites": links, "privacy_url": fields.address("privacy_url")}
    if uploads := fields.uploads("logo"):
        given["logo"] = b64encode(uploads[0].file.read(MOST_LOGO + 1)).decode()
    elif fields.checked("no_logo"):
        given["logo"] = ""
    return given, {**looks, "site": shown, "any_link": ANY_LINK in sites}


def _read_telegram(fields: Fields) -> tuple[dict[str, object], Typed]:
    return {"token": fields.optional("token")}, {}


def _kept_whatsapp(whatsapp: Channel | None) -> Typed:
    limit = whatsapp.settings.get("monthly_limit") if whatsapp else None
    return {"phone_number_id": whatsapp.text("phone_number_id") or "" if whatsapp else "", "monthly_limit": "" if limit is None else limit}


def _read_whatsapp(fields: Fields) -> tuple[dict[str, object], Typed]:
    """Read the settings. Empty secrets stay as they are; an empty limit removes it."""
    typed = {name: fields.text(name) for name in ("phone_number_id", "monthly_limit")}
    limit: object = typed["monthly_limit"]
    if isinstance(limit, str) and limit.isascii() and limit.isdigit():
        limit = int(limit)
    secrets = {name: fields.optional(name) for name in ("token", "app_secret", "verify_token")}
    return {"phone_number_id": fields.optional("phone_number_id"), "monthly_limit": limit, **secrets}, typed


# A channel's form is in the template channel_NAME.html.
FORMS: Mapping[str, ChannelForm] = {
    WEB: ChannelForm(_kept_web, _read_web),
    TELEGRAM: ChannelForm(lambda _: {}, _read_telegram),
    WHATSAPP: ChannelForm(_kept_whatsapp, _read_whatsapp),
}


async def put(page: Page) -> HttpResponse:
    """Set a channel."""
    fields = await page.form()
    channel = fields.text("channel")
    form = FORMS.get(channel, FORMS[WEB])
    settings, typed = form.read(fields)
    try:
        done = await page.perform("channel.set", bot=page.params["bot"], channel=channel, **settings)
    except Refused as fault:
        return page.refused(TEMPLATE, fault, **await _values(page, channel, typed))
    if done.warning:
        return page.render(TEMPLATE, **await _values(page, warning=channel))
    return page.redirect(_path(page), done="saved")


async def pause(page: Page) -> HttpResponse:
    """Pause a channel."""
    return await _set_state(page, "channel.pause")


async def resume(page: Page) -> HttpResponse:
    """Resume a paused channel."""
    return await _set_state(page, "channel.resume")


async def _set_state(page: Page, operation: str) -> HttpResponse:
    try:
        await page.perform(operation, bot=page.params["bot"], channel=page.params["channel"])
    except Refused as fault:
        return page.refused(TEMPLATE, fault, **await _values(page))
    return page.redirect(_path(page), done="saved")


async def remove(page: Page) -> HttpResponse:
    """Remove a channel with its secrets."""
    try:
        (await page.form()).require_confirmation()
        await page.perform("channel.remove", bot=page.params["bot"], channel=page.params["channel"])
    except Refused as fault:
        return page.refused(TEMPLATE, fault, **await _values(page))
    return page.redirect(_path(page), done="removed")


ROUTES = (
    Route("GET", "/bots/{bot}/channels", show, Access.OWNER),
    Route("POST", "/bots/{bot}/channels", put, Access.OWNER),
    Route("POST", "/bots/{bot}/channels/{channel}/pause", pause, Access.OWNER),
    Route("POST", "/bots/{bot}/channels/{channel}/resume", resume, Access.OWNER),
    Route("POST", "/bots/{bot}/channels/{channel}/remove", remove, Access.OWNER),
)
