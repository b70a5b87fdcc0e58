"""Channels of a bot: how each is set up, its state, and the widget's line of HTML."""

from base64 import b64encode
from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.views import Action, View
from chatsvc.domain.channels import ANY_LINK, DEFAULT_COLOR, MOST_LOGO, WEB, Channel, SetChannel, is_color, is_dark
from chatsvc.domain.platforms import Platform
from chatsvc.domain.targets import with_https
from chatsvc.services.accounts.analytics import SendUsage
from chatsvc.services.accounts.channels import callback_url
from chatsvc.services.messages import web_visits

PATH = "/bots/{bot}/channels"
LOOKS = ("title", "color", "position", "launcher", "theme", "privacy_url")


async def _values(page: Page, fields: Fields) -> dict[str, Any]:
    """Return each channel with its state and the form that sets it. What was typed takes the place of what is kept in one form."""
    channel = fields.text("channel")
    platforms = page.services.platforms
    typed = _read(page, fields)[1] if channel else None
    bot = await page.perform("bot.show", bot=page.params["bot"])
    channels = {one.channel: one for one in await page.perform("channel.list", bot=bot.id)}
    snippet = (await page.perform("channel.snippet", bot=bot.id)).snippet if WEB in channels else None
    public_url = page.services.config.server.public_url.rstrip("/")
    web = channels.get(WEB)
    kept_web = _kept_web(web)
    if asked := page.query.get("site"):  # the link on "Today" that lets a site have the widget
        kept_web["site"] = f"{kept_web['site']}\n{asked}".strip()
    kept = {WEB: kept_web} | {name: _kept(platform, channels.get(name)) for name, platform in platforms.items()}
    shown = str((typed if typed is not None and channel == WEB else kept[WEB])["color"])
    color = shown if is_color(shown) else DEFAULT_COLOR
    return {
        "bot": bot,
        "names": [*kept],
        "channels": channels,
        "snippet": snippet,
        "link": f"{public_url}/chat/{bot.id}",
        "callback_urls": {name: callback_url(page.services, name, bot.id) for name in platforms},
        "sent": await _sent(page, bot.id),
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
    """Return the messages that the bot has sent this month by a platform that charges for them."""
    usage: list[SendUsage] = await page.perform("usage.sends", account=page.account_id)
    return sum(one.sent for one in usage if one.bot_id == bot_id)


Typed = dict[str, Any]


def _kept_web(web: Channel | None) -> Typed:
    if web is None:
        return {**dict.fromkeys(LOOKS, ""), "site": "", "any_link": False, "color": DEFAULT_COLOR}
    looks = {name: web.text(name) or "" for name in LOOKS} | {"color": web.text("color") or DEFAULT_COLOR}
    return {**looks, "site": "\n".join(site for site in web.sites if site != ANY_LINK), "any_link": ANY_LINK in web.sites}


def _read_web(fields: Fields) -> tuple[dict[str, object], Typed]:
    """Read sites one a line, looks and privacy notice."""
    sites = [line.strip() for text in fields.all("site") for line in text.splitlines() if line.strip()]
    looks = {name: fields.text(name) for name in LOOKS}
    shown = "\n".join(site for site in sites if site != ANY_LINK)
    links = [site if site == ANY_LINK else with_https(site) for site in sites]
    given: dict[str, object] = {**looks, "sites": links, "privacy_url": fields.address("privacy_url")}
    if uploads := fields.uploads("logo"):
        given["logo"] = b64encode(uploads[0].file.read(MOST_LOGO + 1)).decode()
    elif fields.checked("no_logo"):
        given["logo"] = ""
    return given, {**looks, "site": shown, "any_link": ANY_LINK in sites}


def _kept(platform: Platform, channel: Channel | None) -> Typed:
    settings = channel.settings if channel else {}
    return {name: settings.get(name, "") for name in platform.settings}


def _read(page: Page, fields: Fields) -> tuple[dict[str, object], Typed]:
    """Read the form of a channel, which is in the template channel_NAME.html: what is set, and what is shown again, so without secrets.

    Empty secrets and required settings of a platform stay as they are; other empty settings are removed.
    """
    platform = page.services.platforms.get(fields.text("channel"))
    if platform is None:
        return _read_web(fields)
    typed = {name: fields.text(name) for name in platform.settings}
    return typed | {name: fields.optional(name) for name in (*platform.required, *platform.secrets)}, typed


show = View("channels.html", _values)


def _given(page: Page, fields: Fields) -> dict[str, object]:
    return {"channel": fields.text("channel"), **_read(page, fields)[0]}


async def _warn(page: Page, done: SetChannel) -> Response:
    """Show the page with a warning where the platform did not confirm the token."""
    warning = done.channel.channel if done.warning else None
    return await show.show(page, warning=warning) if warning else page.redirect(page.path, done="saved")


put = Action("channel.set", show, _given, then=_warn)
pause = Action("channel.pause", show, to=PATH, done="saved")
resume = Action("channel.resume", show, to=PATH, done="saved")
remove = Action("channel.remove", show, to=PATH, done="removed", confirm=True)
