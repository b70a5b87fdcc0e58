"""Changes to a bot's knowledge: those made, to take back; a preview with the past questions that get another answer; the check."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.fields import NO_FIELDS, Fields
from chatsvc.dashboard.page import Page, act, form, view
from chatsvc.dashboard.pages.knowledge_entry import values_of
from chatsvc.domain.bot_tests import reasons

MOST_ENTRIES = 200  # of a change that are shown
KINDS = ("lost", "changed", "gained")
PREVIEW = "/bots/{bot}/knowledge/previews/{result.id}"


async def show_history(page: Page) -> Response:
    bot = await page.bot()
    listed = await page.perform("knowledge.history", bot=bot.id, limit=50, after=page.query.get("after"))
    return page.render("knowledge_history.html", bot=bot, changes=listed.items, next=listed.next)


@view("knowledge_change.html")
async def show_change(page: Page, _: Fields) -> dict[str, Any]:
    bot = await page.bot()
    shown = await page.perform("knowledge.show_change", bot=bot.id, change=page.params["change"])
    before, after = ({entry.id: entry for entry in entries} for entries in (shown.before, shown.after))
    pairs = [(before.get(entry_id), after.get(entry_id)) for entry_id in {**before, **after}]
    return {"bot": bot, "change": shown.change, "pairs": pairs[:MOST_ENTRIES], "others": max(0, len(pairs) - MOST_ENTRIES)}


undo = act("knowledge.undo", "bot", "change", to="/bots/{bot}/knowledge/history", done="undone", shown=show_change)


@view("knowledge_preview.html")
async def preview(page: Page, _: Fields) -> dict[str, Any]:
    bot = await page.bot()
    shown = await page.perform("knowledge.preview_show", bot=bot.id, preview=page.params["preview"])
    kind = page.query.get("kind", "")
    return {
        "bot": bot,
        "preview": shown,
        "changes": [change for change in shown.changes if kind not in KINDS or change.kind == kind],
        "kind": kind,
        "kinds": KINDS,
        "values": values_of(shown.entry) if shown.entry else {},
        "unanswered": page.query.get("unanswered", ""),
        "broken": [f"“{outcome.ask}”: {reasons(outcome, page.language)}" for outcome in shown.broken],
    }


async def show(page: Page) -> Response:
    values = await preview.values(page, NO_FIELDS)
    return page.render("knowledge_check.html" if values["preview"].kind == "lint" else preview.template, **values)


@form(preview)
async def save(page: Page, fields: Fields) -> Response:
    bot = page.params["bot"]
    shown = await page.perform("knowledge.preview_show", bot=bot, preview=fields.text("preview"))
    if shown.phrased:
        await page.perform("knowledge.phrase_apply", bot=bot, preview=shown.id)
    else:
        await page.perform("knowledge.add", bot=bot, files=shown.files)
    return page.redirect(f"/bots/{bot}/knowledge", done="files_added")


phrase = act("knowledge.phrase", "bot", to=PREVIEW)
check = act("knowledge.lint", "bot", to=PREVIEW)
