"""Websites that a bot learns from: add, list, read again, remove. A draft of each can be previewed, applied and discarded."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.page import Page, act, form, view
from chatsvc.dashboard.pages.knowledge_entry import PREVIEW
from chatsvc.domain import refusals
from chatsvc.domain.websites import EVERY_DAYS, MOST_PAGES
from chatsvc.services.knowledge.sites import ShownSite
from chatsvc.web.forms import Fields

SHOWN = 100  # pages of a site on one page
PATH = "/bots/{bot}/knowledge/sites"
_EMPTY = {"url": "", "include": "", "exclude": "", "max_pages": str(MOST_PAGES), "every_days": str(EVERY_DAYS)}


@view("sites.html")
async def show_all(page: Page, typed: Fields) -> dict[str, Any]:
    bot, values = await page.bot(), {name: typed.raw(name) for name in _EMPTY} if typed else _EMPTY
    sites = await page.perform("site.list", bot=bot.id)
    return {"bot": bot, "sites": sites, "values": values, "review": not typed or "review" in typed}


@form(show_all)
async def add(page: Page, fields: Fields) -> Response:
    given: dict[str, Any] = {name: fields.raw(name).split() for name in ("include", "exclude")}
    given |= {name: fields.number(name) for name in ("max_pages", "every_days") if fields.text(name)}
    bot, review = page.params["bot"], "review" in fields
    site = await page.perform("site.add", bot=bot, url=fields.text("url"), review=review, **given)
    return page.redirect(f"/bots/{bot}/knowledge/sites/{site.id}")


async def show(page: Page) -> Response:
    shown: ShownSite = await page.perform("site.show", site=page.params["site"])
    if shown.bot.id != page.params["bot"]:
        raise refusals.site_not_found(site=shown.site.id)
    part = page.part(shown.pages, SHOWN)
    return page.render(
        "site.html",
        bot=shown.bot,
        shown=shown,
        site=shown.site,
        pages=part.items,
        entries=sum(entry.entries for entry in shown.pages),
        answering=sum(entry.entries > 0 for entry in shown.pages),
        next=part.next,
    )


sync = act("site.sync", "site", to=PATH + "/{site}")
apply = act("site.apply", "site", to=PATH + "/{site}", done="saved")
discard = act("site.discard", "site", to=PATH + "/{site}")
remove = act("site.remove", "site", to=PATH, done="removed", confirm=True)
preview = act("site.preview", "site", to=PREVIEW)
