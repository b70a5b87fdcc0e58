"""Channels of a bot. The web widget with its line of HTML, and the state of each channel."""

from __future__ import annotations

from typing import Any

from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.channels import ANY_LINK, DEFAULT_COLOR, WEB
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse

TEMPLATE = "channels.html"


async def show(page: Page) -> HttpResponse:
    """Show the channels that are set, and the form of the web widget."""
    return page.render(TEMPLATE, **await _values(page))


async def _values(page: Page, typed: dict[str, Any] | None = None) -> dict[str, Any]:
    bot = await page.perform("bot.show", bot=page.params["bot"])
    channels = {one.channel: one for one in await page.perform("channel.list", bot=bot.id)}
    web, snippet = channels.pop(WEB, None), None
    kept: dict[str, Any] = {"site": "", "any_link": False, "title": "", "color": DEFAULT_COLOR, "privacy_url": ""}
    if web:
        snippet = (await page.perform("channel.snippet", bot=bot.id)).snippet
        kept = {name: web.text(name) or kept[name] for name in ("title", "color", "privacy_url")}
        kept |= {"site": "\n".join(site for site in web.sites if site != ANY_LINK), "any_link": ANY_LINK in web.sites}
    public_url = page.services.config.server.public_url.rstrip("/")
    return {
        "bot": bot,
        "web": web,
        "others": list(channels.values()),
        "snippet": snippet,
        "link": f"{public_url}/chat/{bot.id}",
        "any_link": ANY_LINK,
        "typed": typed or kept,
    }


def _path(page: Page) -> str:
    return f"/bots/{page.params['bot']}/channels"


async def put(page: Page) -> HttpResponse:
    """Set the web widget: sites one a line, looks and privacy notice."""
    fields = await page.form()
    sites = [line.strip() for text in fields.all("site") for line in text.splitlines() if line.strip()]
    typed = {
        "site": "\n".join(site for site in sites if site != ANY_LINK),
        "any_link": ANY_LINK in sites,
        "title": fields.text("title"),
        "color": fields.text("color"),
        "privacy_url": fields.text("privacy_url"),
    }
    looks = {name: typed[name] for name in ("title", "color", "privacy_url")}
    try:
        await page.perform("channel.set", bot=page.params["bot"], channel=WEB, sites=sites, **looks)
    except Refused as fault:
        return page.refused(TEMPLATE, fault, **await _values(page, typed))
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
