"""Questions that a bot had no answer to. Groups become entries, or phrasings of an entry."""

from __future__ import annotations

from typing import Any

from chatsvc.dashboard.page import Page
from chatsvc.dashboard.pages import knowledge
from chatsvc.dashboard.pages.knowledge_entry import question_number
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse

STATES = {"open": False, "answered": True, "all": None}


async def show(page: Page) -> HttpResponse:
    """List the groups, most asked first. With `question`, let the operator choose an entry for that group."""
    if page.query.get("question"):
        return await _choose_entry(page, question_number(page.query["question"]))
    return page.render("unanswered.html", **await _context(page))


async def _context(page: Page) -> dict[str, Any]:
    bot = await page.perform("bot.show", bot=page.params["bot"])
    state = page.query.get("status", "open")
    q, after = page.query.get("q", "").strip(), page.query.get("after")
    listed = await page.perform("unanswered.list", bot=bot.id, q=q, answered=STATES.get(state, False), after=after)
    groups = listed.items
    results = await page.perform("knowledge.search", bot=bot.id, questions=[one.question for one in groups]) if groups else []
    nearest = [[hit.entry for hit in one.result.hits] for one in results]
    shown = list(zip(groups, nearest, strict=True))
    return {"bot": bot, "groups": shown, "next": listed.next, "state": state, "states": list(STATES), "q": q}


async def _choose_entry(page: Page, question: int) -> HttpResponse:
    """List the entries with the words searched for. Each has a button that adds the group to it."""
    if not page.may("unanswered.add"):
        return page.fail(403)
    bot = await page.perform("bot.show", bot=page.params["bot"])
    (group,) = (await page.perform("unanswered.list", bot=bot.id, question=question)).items
    entries = await page.perform("knowledge.list", bot=bot.id)
    q, start = page.query.get("q", "").strip(), knowledge.start_of(page)
    _, found = await page.services.offload(lambda: knowledge.filtered(entries, q, None))
    following = start + knowledge.SHOWN
    values = {"bot": bot, "group": group, "entries": found[start:following], "q": q}
    return page.render("unanswered_entry.html", **values, next=str(following) if following < len(found) else None)


async def answer(page: Page) -> HttpResponse:
    """Open the editor with a draft made of a group."""
    bot_id, fields = page.params["bot"], await page.form()
    number = question_number(fields.text("id"))
    await page.perform("unanswered.answer", bot=bot_id, question=number)
    return page.redirect(page.url(f"/bots/{bot_id}/knowledge/new", unanswered=number))


async def add(page: Page) -> HttpResponse:
    """Make a group's questions phrasings of an entry."""
    bot_id, fields = page.params["bot"], await page.form()
    try:
        await page.perform("unanswered.add", bot=bot_id, question=question_number(fields.text("id")), entry=fields.text("entry"))
    except Refused as fault:
        return page.refused("unanswered.html", fault, **await _context(page))
    return page.redirect(f"/bots/{bot_id}/unanswered", done="phrasings_added")


async def forget(page: Page) -> HttpResponse:
    """Delete one group or all questions, only with `yes`."""
    bot_id, fields = page.params["bot"], await page.form()
    number = fields.optional("id")
    try:
        if page.may("knowledge.forget_unanswered"):
            fields.require_confirmation()
        await page.perform("knowledge.forget_unanswered", bot=bot_id, question=question_number(number) if number else None)
    except Refused as fault:
        return page.refused("unanswered.html", fault, **await _context(page))
    return page.redirect(f"/bots/{bot_id}/unanswered", done="removed")


ROUTES = (
    Route("GET", "/bots/{bot}/unanswered", show, Access.READER),
    Route("POST", "/bots/{bot}/unanswered/answer", answer, Access.READER),
    Route("POST", "/bots/{bot}/unanswered/add", add, Access.READER),
    Route("POST", "/bots/{bot}/unanswered/forget", forget, Access.READER),
)
