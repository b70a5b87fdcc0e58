"""Websites of a bot: add, list; progress, pages and draft of one; read again, preview, apply, discard, remove."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.views import Action, View
from chatsvc.domain import refusals
from chatsvc.domain.websites import EVERY_DAYS, MOST_PAGES
from chatsvc.services.knowledge.sites import ShownSite

SHOWN = 100  # pages of a site on one page
_EMPTY = {"url": "", "include": "", "exclude": "", "max_pages": str(MOST_PAGES), "every_days": str(EVERY_DAYS)}


async def _values(page: Page, typed: Fields) -> dict[str, Any]:
    bot = await page.perform("bot.show", bot=page.params["bot"])
    values = {name: typed.raw(name) for name in _EMPTY} if typed else _EMPTY
    sites = await page.perform("site.list", bot=bot.id)
    return {"bot": bot, "sites": sites, "values": values, "review": not typed or typed.checked("review")}


def _new(_: Page, fields: Fields) -> dict[str, Any]:
    patterns = {name: fields.raw(name).split() for name in ("include", "exclude")}
    numbers = {name: fields.number(name) for name in ("max_pages", "every_days") if fields.text(name)}
    return {"url": fields.text("url"), "review": fields.checked("review"), **patterns, **numbers}


show_all = View("sites.html", _values)
add = Action("site.add", show_all, _new, to="/bots/{bot}/knowledge/sites/{made.id}")


async def show(page: Page) -> Response:
    found: ShownSite = await page.perform("site.show", site=page.params["site"])
    if found.bot.id != page.params["bot"]:
        raise refusals.site_not_found(site=found.site.id)
    part = page.part(found.pages, SHOWN)
    return page.render(
        "site.html",
        bot=found.bot,
        shown=found,
        site=found.site,
        pages=part.items,
        entries=sum(one.entries for one in found.pages),
        answering=sum(one.entries > 0 for one in found.pages),
        next=part.next,
    )


_ONE = "/bots/{made.bot_id}/knowledge/sites/{made.id}"
sync = Action("site.sync", to=_ONE)
apply = Action("site.apply", to=_ONE, done="saved")
discard = Action("site.discard", to=_ONE)
remove = Action("site.remove", to="/bots/{made.bot_id}/knowledge/sites", done="removed", confirm=True)
preview = Action("site.preview", to="/bots/{made.bot_id}/knowledge/previews/{made.id}")
