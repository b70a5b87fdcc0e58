"""History of a bot's knowledge: who changed what, with the entries before and after. Take a change back."""

from __future__ import annotations

from typing import Any

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.views import Action, View
from chatsvc.http.response import HttpResponse

MOST_ENTRIES = 200  # of a change that are shown


async def show(page: Page) -> HttpResponse:
    bot = await page.perform("bot.show", bot=page.params["bot"])
    found = await page.perform("knowledge.history", bot=bot.id, limit=50, after=page.query.get("after"))
    return page.render("knowledge_history.html", bot=bot, changes=found.items, next=found.next)


async def _values(page: Page, _: Fields) -> dict[str, Any]:
    bot = await page.perform("bot.show", bot=page.params["bot"])
    found = await page.perform("knowledge.show_change", bot=bot.id, change=page.params["change"])
    before, after = ({one.id: one for one in entries} for entries in (found.before, found.after))
    pairs = [(before.get(entry_id), after.get(entry_id)) for entry_id in {**before, **after}]
    return {"bot": bot, "change": found.change, "pairs": pairs[:MOST_ENTRIES], "others": max(0, len(pairs) - MOST_ENTRIES)}


show_one = View("knowledge_change.html", _values)
undo = Action("knowledge.undo", show_one, to="/bots/{bot}/knowledge/history", done="undone")
