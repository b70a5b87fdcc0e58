"""Channels of a bot: how each is set up, its state, and the widget's line of HTML."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.views import Action, View
from chatsvc.domain.channels import ANY_LINK, DEFAULT_COLOR, MOST_LOGO, TELEGRAM, WEB, WHATSAPP, Channel, SetChannel, is_color, is_dark
from chatsvc.domain.targets import with_https
from chatsvc.http.response import HttpResponse
from chatsvc.services.accounts.analytics import WhatsAppUsage
from chatsvc.services.accounts.channels import callback_url
from chatsvc.services.messages import web_visits

PATH = "/bots/{bot}/channels"


async def _values(page: Page, fields: Fields) -> dict[str, Any]:
    """Return each channel with its state and the form that sets it. What was typed takes the place of what is kept in one form."""
    channel = fields.text("channel")
    typed = FORMS.get(channel, FORMS[WEB]).read(fields)[1] if channel else None
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
        "warning": None,
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


show = View("channels.html", _values)


def _given(_: Page, fields: Fields) -> dict[str, object]:
    channel = fields.text("channel")
    return {"channel": channel, **FORMS.get(channel, FORMS[WEB]).read(fields)[0]}


async def _warn(page: Page, done: SetChannel) -> HttpResponse:
    """Show the page with a warning where the platform did not confirm the token."""
    warning = done.channel.channel if done.warning else None
    return await show.show(page, warning=warning) if warning else page.redirect(page.request.path, done="saved")


put = Action("channel.set", show, _given, then=_warn)
pause = Action("channel.pause", show, to=PATH, done="saved")
resume = Action("channel.resume", show, to=PATH, done="saved")
remove = Action("channel.remove", show, to=PATH, done="removed", confirm=True)
