"""Channels of a bot: the form and the state of each, and the line of HTML that embeds the widget."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.page import Page, act, form, view
from chatsvc.domain.channels import ANY_LINK, DEFAULT_COLOR, MOST_LOGO, WEB, is_color, is_dark
from chatsvc.domain.targets import with_https
from chatsvc.services.accounts.channels import callback_url
from chatsvc.services.messages import web_visits
from chatsvc.web.forms import Fields

PATH = "/bots/{bot}/channels"
LOOKS = ("title", "color", "position", "launcher", "theme", "privacy_url")


@view("channels.html")
async def show(page: Page, fields: Fields) -> dict[str, Any]:
    """Return each channel with its state and its form. In the form that was submitted, the typed values replace the stored ones."""
    platforms, bot = page.services.platforms, await page.bot()
    channels = {channel.channel: channel for channel in await page.perform("channel.list", bot=bot.id)}
    web, typed = channels.get(WEB), fields.text("channel")
    shown = {WEB: _web_form({name: web.text(name) or "" if web else "" for name in LOOKS}, web.sites if web else [])}
    shown[WEB]["color"] = shown[WEB]["color"] or DEFAULT_COLOR
    for name, platform in platforms.items():
        settings = channels[name].settings if name in channels else {}
        shown[name] = {setting: settings.get(setting, "") for setting in platform.settings}
    if site := page.query.get("site"):  # the link on "Today" that lets a site have the widget
        shown[WEB]["site"] = f"{shown[WEB]['site']}\n{site}".strip()
    if typed:
        # Secrets are not shown again.
        names = platforms[typed].settings if typed in platforms else LOOKS
        given = {name: fields.text(name) for name in names}
        shown[typed] = given if typed in platforms else _web_form(given, _sites(fields))
    color = shown[WEB]["color"] if is_color(shown[WEB]["color"]) else DEFAULT_COLOR
    sends = await page.perform("usage.sends", account=page.account_id)
    return {
        "bot": bot,
        "names": [WEB, *platforms],
        "channels": channels,
        "snippet": (await page.perform("channel.snippet", bot=bot.id)).snippet if web else None,
        "link": f"{page.services.config.server.public_url.rstrip('/')}/chat/{bot.id}",
        "callback_urls": {name: callback_url(page.services, name, bot.id) for name in platforms},
        "sent": sum(usage.sent for usage in sends if usage.bot_id == bot.id),
        "any_link": ANY_LINK,
        "typed": shown,
        "refused": typed,
        "warning": None,
        "now": page.services.clock(),
        "logo": web.text("logo") if web else None,
        "opening": web_visits.opening(page.services, bot, page.language),
        "color": color,
        "is_dark": is_dark(color),
    }


def _web_form(looks: Mapping[str, str], sites: Sequence[str]) -> dict[str, Any]:
    return {**looks, "site": "\n".join(site for site in sites if site != ANY_LINK), "any_link": ANY_LINK in sites}


def _sites(fields: Fields) -> list[str]:
    return [line.strip() for text in fields.all("site") for line in text.splitlines() if line.strip()]


@form(show)
async def put(page: Page, fields: Fields) -> Response:
    """Set up a channel. Its form is in the template channel_NAME.html. Show a warning if the platform did not confirm the token.

    Secrets and required settings that are left empty keep their stored values. Other empty settings are removed.
    """
    name = fields.text("channel")
    platform = page.services.platforms.get(name)
    if platform is not None:
        given: dict[str, object] = {setting: fields.text(setting) for setting in platform.settings}
        given |= {setting: fields.optional(setting) for setting in (*platform.required, *platform.secrets)}
    else:
        given = {**{look: fields.text(look) for look in LOOKS}, "privacy_url": fields.address("privacy_url")}
        given["sites"] = [site if site == ANY_LINK else with_https(site) for site in _sites(fields)]
        if "logo" in fields.uploads:
            given["logo"] = b64encode(fields.uploads["logo"].file.read(MOST_LOGO + 1)).decode()
        elif "no_logo" in fields:
            given["logo"] = ""
    channel = await page.perform("channel.set", bot=page.params["bot"], channel=name, **given)
    return await show(page, warning=channel.channel.channel) if channel.warning else page.redirect(page.path, done="saved")


pause = act("channel.pause", "bot", "channel", to=PATH, done="saved", shown=show)
resume = act("channel.resume", "bot", "channel", to=PATH, done="saved", shown=show)
remove = act("channel.remove", "bot", "channel", to=PATH, done="removed", shown=show, confirm=True)
