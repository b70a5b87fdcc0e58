"""Websites of a bot: add, list; progress, pages and draft of one; read again, preview, apply, discard, remove."""

from __future__ import annotations

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.pages.knowledge import start_of
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain import refusals
from chatsvc.domain.refusals import Refused
from chatsvc.domain.websites import EVERY_DAYS, MOST_PAGES
from chatsvc.http.response import HttpResponse
from chatsvc.usecases.sites import ShownSite

SHOWN = 100  # pages of a site on one page
_PATH = "/bots/{bot}/knowledge/sites"
_ONE = f"{_PATH}/{{site}}"
_EMPTY = {"url": "", "include": "", "exclude": "", "max_pages": str(MOST_PAGES), "every_days": str(EVERY_DAYS)}


async def show_all(page: Page, fault: Refused | None = None, fields: Fields | None = None) -> HttpResponse:
    """List the websites, with the form for another."""
    bot = await page.perform("bot.show", bot=page.params["bot"])
    found = await page.perform("site.list", bot=bot.id)
    values = {name: fields.raw(name) for name in _EMPTY} if fields else _EMPTY
    context = {"bot": bot, "sites": found, "values": values, "review": fields is None or fields.checked("review")}
    return page.refused("sites.html", fault, **context) if fault else page.render("sites.html", **context)


async def add(page: Page) -> HttpResponse:
    """Add a website."""
    bot, fields = page.params["bot"], await page.form()
    patterns = {name: [one for one in fields.raw(name).split() if one] for name in ("include", "exclude")}
    try:
        typed = {name: fields.number(name) for name in ("max_pages", "every_days")}
        numbers = {name: value for name, value in typed.items() if value is not None}
        made = await page.perform("site.add", bot=bot, url=fields.text("url"), review=fields.checked("review"), **patterns, **numbers)
    except Refused as fault:
        return await show_all(page, fault, fields)
    return page.redirect(f"/bots/{bot}/knowledge/sites/{made.id}")


async def show(page: Page) -> HttpResponse:
    """Show a website with its progress, its draft and its pages."""
    found: ShownSite = await page.perform("site.show", site=page.params["site"])
    if found.bot.id != page.params["bot"]:
        raise refusals.site_not_found(site=found.site.id)
    start = start_of(page)
    following = start + SHOWN
    return page.render(
        "site.html",
        bot=found.bot,
        shown=found,
        site=found.site,
        pages=found.pages[start:following],
        entries=sum(one.entries for one in found.pages),
        answering=sum(one.entries > 0 for one in found.pages),
        next=str(following) if following < len(found.pages) else None,
    )


async def act(page: Page) -> HttpResponse:
    """Read again, apply or discard the draft, or remove a website."""
    fields = await page.form()
    action = page.request.path.rsplit("/", 1)[-1]
    if action == "remove":
        fields.require_confirmation()
    found = await page.perform(f"site.{action}", site=page.params["site"])
    place = f"/bots/{found.bot_id}/knowledge/sites"
    if action == "remove":
        return page.redirect(place, done="removed")
    return page.redirect(f"{place}/{found.id}", done="saved" if action == "apply" else None)


async def preview(page: Page) -> HttpResponse:
    """Ask the past questions before and after the draft."""
    await page.form()
    made = await page.perform("site.preview", site=page.params["site"])
    return page.redirect(f"/bots/{made.bot_id}/knowledge/previews/{made.id}")


ROUTES = (
    Route("GET", _PATH, show_all, Access.READER),
    Route("POST", _PATH, add, Access.READER),
    Route("GET", _ONE, show, Access.READER),
    Route("POST", f"{_ONE}/preview", preview, Access.READER),
    *(Route("POST", f"{_ONE}/{action}", act, Access.READER) for action in ("sync", "apply", "discard", "remove")),
)
