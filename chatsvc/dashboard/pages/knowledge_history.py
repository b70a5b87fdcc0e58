"""History of a bot's knowledge: who changed what, with the entries before and after. Take a change back."""

from __future__ import annotations

from typing import Any

from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse

SHOWN = 50
MOST_ENTRIES = 200  # of a change that are shown


async def show(page: Page) -> HttpResponse:
    """List the changes."""
    bot = await page.perform("bot.show", bot=page.params["bot"])
    found = await page.perform("knowledge.history", bot=bot.id, limit=SHOWN, after=page.query.get("after"))
    return page.render("knowledge_history.html", bot=bot, changes=found.items, next=found.next)


async def _context(page: Page) -> dict[str, Any]:
    bot = await page.perform("bot.show", bot=page.params["bot"])
    found = await page.perform("knowledge.show_change", bot=bot.id, change=page.params["change"])
    before, after = ({one.id: one for one in entries} for entries in (found.before, found.after))
    pairs = [(before.get(entry_id), after.get(entry_id)) for entry_id in {**before, **after}]
    return {"bot": bot, "change": found.change, "pairs": pairs[:MOST_ENTRIES], "others": max(0, len(pairs) - MOST_ENTRIES)}


async def show_one(page: Page) -> HttpResponse:
    """Show one change."""
    return page.render("knowledge_change.html", **await _context(page))


async def undo(page: Page) -> HttpResponse:
    """Take a change back."""
    bot_id = page.params["bot"]
    try:
        await page.perform("knowledge.undo", bot=bot_id, change=page.params["change"])
    except Refused as fault:
        if fault.code != "change_not_undoable":
            raise
        return page.refused("knowledge_change.html", fault, **await _context(page))
    return page.redirect(f"/bots/{bot_id}/knowledge/history", done="undone")


ROUTES = (
    Route("GET", "/bots/{bot}/knowledge/history", show, Access.READER),
    Route("GET", "/bots/{bot}/knowledge/history/{change}", show_one, Access.READER),
    Route("POST", "/bots/{bot}/knowledge/history/{change}", undo, Access.READER),
)
