"""Changes to a bot's knowledge: those made, to take back; a preview with the past questions that get another answer; the check."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.fields import NO_FIELDS, Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.pages.knowledge_entry import values_of
from chatsvc.dashboard.views import Action, View
from chatsvc.domain.bot_tests import reasons
from chatsvc.domain.refusals import Refused

MOST_ENTRIES = 200  # of a change that are shown
KINDS = ("lost", "changed", "gained")


async def show_history(page: Page) -> Response:
    bot = await page.perform("bot.show", bot=page.params["bot"])
    found = await page.perform("knowledge.history", bot=bot.id, limit=50, after=page.query.get("after"))
    return page.render("knowledge_history.html", bot=bot, changes=found.items, next=found.next)


async def _change(page: Page, _: Fields) -> dict[str, Any]:
    bot = await page.perform("bot.show", bot=page.params["bot"])
    found = await page.perform("knowledge.show_change", bot=bot.id, change=page.params["change"])
    before, after = ({one.id: one for one in entries} for entries in (found.before, found.after))
    pairs = [(before.get(entry_id), after.get(entry_id)) for entry_id in {**before, **after}]
    return {"bot": bot, "change": found.change, "pairs": pairs[:MOST_ENTRIES], "others": max(0, len(pairs) - MOST_ENTRIES)}


show_change = View("knowledge_change.html", _change)
undo = Action("knowledge.undo", show_change, to="/bots/{bot}/knowledge/history", done="undone")


async def _values(page: Page, _: Fields) -> dict[str, Any]:
    bot = await page.perform("bot.show", bot=page.params["bot"])
    found = await page.perform("knowledge.preview_show", bot=bot.id, preview=page.params["preview"])
    kind = page.query.get("kind", "")
    return {
        "bot": bot,
        "preview": found,
        "changes": [one for one in found.changes if kind not in KINDS or one.kind == kind],
        "kind": kind,
        "kinds": KINDS,
        "values": values_of(found.draft.entry) if found.draft.entry else {},
        "unanswered": page.query.get("unanswered", ""),
        "broken": [f"“{one.ask}”: {reasons(one, page.language)}" for one in found.broken],
    }


view = View("knowledge_preview.html", _values)


async def show(page: Page) -> Response:
    values = await _values(page, NO_FIELDS)
    return page.render("knowledge_check.html" if values["preview"].kind == "lint" else view.template, **values)


async def save(page: Page) -> Response:
    bot_id, fields = page.params["bot"], await page.form()
    found = await page.perform("knowledge.preview_show", bot=bot_id, preview=fields.text("preview"))
    try:
        if found.draft.phrased:
            await page.perform("knowledge.phrase_apply", bot=bot_id, preview=found.id)
        else:
            await page.perform("knowledge.add", bot=bot_id, files=found.draft.files)
    except Refused as fault:
        return await view.refuse(page, fault, fields)
    return page.redirect(f"/bots/{bot_id}/knowledge", done="files_added")


phrase = Action("knowledge.phrase", to="/bots/{bot}/knowledge/previews/{made.id}")
check = Action("knowledge.lint", to="/bots/{bot}/knowledge/previews/{made.id}")
