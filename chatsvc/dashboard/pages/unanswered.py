"""Questions that a bot had no answer to. Groups become entries, or phrasings of an entry."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.pages import knowledge
from chatsvc.dashboard.pages.knowledge_entry import question_number
from chatsvc.dashboard.views import Action, View

STATES = {"open": False, "answered": True, "all": None}


async def show(page: Page) -> Response:
    """List the groups, most asked first. With `question`, let the operator choose an entry for that group."""
    if page.query.get("question"):
        return await _choose_entry(page, question_number(page.query["question"]))
    return await view(page)


async def _values(page: Page, _: Fields) -> dict[str, Any]:
    bot = await page.perform("bot.show", bot=page.params["bot"])
    state = page.query.get("status", "open")
    q, after = page.query.get("q", "").strip(), page.query.get("after")
    listed = await page.perform("unanswered.list", bot=bot.id, q=q, answered=STATES.get(state, False), after=after)
    groups = listed.items
    results = await page.perform("knowledge.search", bot=bot.id, questions=[one.question for one in groups]) if groups else []
    nearest = [[hit.entry for hit in one.result.hits] for one in results]
    shown = list(zip(groups, nearest, strict=True))
    return {"bot": bot, "groups": shown, "next": listed.next, "state": state, "states": list(STATES), "q": q}


async def _choose_entry(page: Page, question: int) -> Response:
    """List the entries with the words searched for. Each has a button that adds the group to it."""
    if not page.may("unanswered.add"):
        return page.fail(403)
    bot = await page.perform("bot.show", bot=page.params["bot"])
    (group,) = (await page.perform("unanswered.list", bot=bot.id, question=question)).items
    entries = await page.perform("knowledge.list", bot=bot.id)
    q = page.query.get("q", "").strip()
    _, found = await page.services.offload(lambda: knowledge.filtered(entries, q, None))
    part = page.part(found, knowledge.SHOWN)
    return page.render("unanswered_entry.html", bot=bot, group=group, entries=part.items, q=q, next=part.next)


def _number(_: Page, fields: Fields) -> dict[str, Any]:
    return {"question": question_number(fields.text("id"))}


def _forgotten(_: Page, fields: Fields) -> dict[str, Any]:
    return {"question": question_number(fields.text("id")) if fields.text("id") else None}


view = View("unanswered.html", _values)
add = Action(
    "unanswered.add",
    view,
    lambda page, fields: {**_number(page, fields), "entry": fields.text("entry")},
    to="/bots/{bot}/unanswered",
    done="phrasings_added",
)
forget = Action("knowledge.forget_unanswered", view, _forgotten, to="/bots/{bot}/unanswered", done="removed", confirm=True)


async def answer(page: Page) -> Response:
    """Open the editor with a draft made of a group."""
    bot_id, number = page.params["bot"], question_number((await page.form()).text("id"))
    await page.perform("unanswered.answer", bot=bot_id, question=number)
    return page.redirect(page.url(f"/bots/{bot_id}/knowledge/new", unanswered=number))
