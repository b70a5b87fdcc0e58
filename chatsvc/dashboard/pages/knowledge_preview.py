"""Preview of a change to knowledge. Progress, the past questions whose answers change, save; and the check for weak entries."""

from __future__ import annotations

from chatsvc.dashboard.page import Page
from chatsvc.dashboard.pages.knowledge_entry import values_of
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.bot_tests import reasons
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse

KINDS = ("lost", "changed", "gained")


async def show(page: Page, fault: Refused | None = None) -> HttpResponse:
    """Show a preview or a check with its progress or its results. A refusal stands above them."""
    bot = await page.perform("bot.show", bot=page.params["bot"])
    found = await page.perform("knowledge.preview_show", bot=bot.id, preview=page.params["preview"])
    kind = page.query.get("kind", "")
    shown = [one for one in found.changes if kind not in KINDS or one.kind == kind]
    values = values_of(found.draft.entry) if found.draft.entry else {}
    unanswered = page.query.get("unanswered", "")
    template = "knowledge_check.html" if found.kind == "lint" else "knowledge_preview.html"
    broken = [f"“{one.ask}”: {reasons(one, page.language)}" for one in found.broken]
    context = {
        "bot": bot,
        "preview": found,
        "changes": shown,
        "kind": kind,
        "kinds": KINDS,
        "values": values,
        "unanswered": unanswered,
        "broken": broken,
    }
    return page.refused(template, fault, **context) if fault else page.render(template, **context)


async def save(page: Page) -> HttpResponse:
    """Add the files of a preview."""
    bot_id, fields = page.params["bot"], await page.form()
    found = await page.perform("knowledge.preview_show", bot=bot_id, preview=fields.text("preview"))
    try:
        await page.perform("knowledge.add", bot=bot_id, files=found.draft.files)
    except Refused as fault:
        return await show(page, fault)
    return page.redirect(f"/bots/{bot_id}/knowledge", done="files_added")


async def check(page: Page) -> HttpResponse:
    """Check the knowledge for weak entries."""
    made = await page.perform("knowledge.lint", bot=page.params["bot"])
    return page.redirect(f"/bots/{page.params['bot']}/knowledge/previews/{made.id}")


ROUTES = (
    Route("GET", "/bots/{bot}/knowledge/previews/{preview}", show, Access.READER),
    Route("POST", "/bots/{bot}/knowledge/previews/{preview}", save, Access.READER),
    Route("POST", "/bots/{bot}/knowledge/check", check, Access.READER),
)
