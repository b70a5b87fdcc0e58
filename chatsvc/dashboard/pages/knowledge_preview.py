"""Preview of a change to knowledge. Progress, the past questions whose answers change, save; and the check for weak entries."""

from __future__ import annotations

from typing import Any

from chatsvc.dashboard.fields import NO_FIELDS, Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.pages.knowledge_entry import values_of
from chatsvc.dashboard.views import Action, View
from chatsvc.domain.bot_tests import reasons
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse

KINDS = ("lost", "changed", "gained")


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


async def show(page: Page) -> HttpResponse:
    values = await _values(page, NO_FIELDS)
    return page.render("knowledge_check.html" if values["preview"].kind == "lint" else view.template, **values)


async def save(page: Page) -> HttpResponse:
    bot_id, fields = page.params["bot"], await page.form()
    found = await page.perform("knowledge.preview_show", bot=bot_id, preview=fields.text("preview"))
    try:
        await page.perform("knowledge.add", bot=bot_id, files=found.draft.files)
    except Refused as fault:
        return await view.refuse(page, fault, fields)
    return page.redirect(f"/bots/{bot_id}/knowledge", done="files_added")


check = Action("knowledge.lint", to="/bots/{bot}/knowledge/previews/{made.id}")
