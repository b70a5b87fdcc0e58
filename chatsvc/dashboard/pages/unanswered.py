"""Questions that a bot had no answer to. Groups become entries, or phrasings of an entry."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page, form, view
from chatsvc.dashboard.pages import knowledge
from chatsvc.dashboard.pages.knowledge_entry import question_number

STATES = {"open": False, "answered": True, "all": None}


@view("unanswered.html")
async def groups(page: Page, _: Fields) -> dict[str, Any]:
    bot, state = await page.bot(), page.query.get("status", "open")
    q, after = page.query.get("q", "").strip(), page.query.get("after")
    listed = await page.perform("unanswered.list", bot=bot.id, q=q, answered=STATES.get(state, False), after=after)
    questions = [group.question for group in listed.items]
    results = await page.perform("knowledge.search", bot=bot.id, questions=questions) if questions else []
    nearest = [[hit.entry for hit in searched.result.hits] for searched in results]
    shown = list(zip(listed.items, nearest, strict=True))
    return {"bot": bot, "groups": shown, "next": listed.next, "state": state, "states": list(STATES), "q": q}


async def show(page: Page) -> Response:
    """List the groups, most asked first. With `question`, let the operator choose an entry for that group."""
    if not page.query.get("question"):
        return await groups(page)
    question, q = question_number(page.query["question"]), page.query.get("q", "").strip()
    if not page.may("unanswered.add"):
        return page.fail(403)
    bot = await page.bot()
    (group,) = (await page.perform("unanswered.list", bot=bot.id, question=question)).items
    entries = await page.perform("knowledge.list", bot=bot.id)
    part = page.part(await page.services.offload(lambda: knowledge.filtered(entries, q)), knowledge.SHOWN)
    return page.render("unanswered_entry.html", bot=bot, group=group, entries=part.items, q=q, next=part.next)


@form(groups)
async def add(page: Page, fields: Fields) -> Response:
    question = question_number(fields.text("id"))
    await page.perform("unanswered.add", bot=page.params["bot"], question=question, entry=fields.text("entry"))
    return page.redirect(f"/bots/{page.params['bot']}/unanswered", done="phrasings_added")


@form(groups)
async def forget(page: Page, fields: Fields) -> Response:
    """Forget the questions of a group, or without one all."""
    page.require_confirmation("knowledge.forget_unanswered", fields)
    question = question_number(fields.text("id")) if fields.text("id") else None
    await page.perform("knowledge.forget_unanswered", bot=page.params["bot"], question=question)
    return page.redirect(f"/bots/{page.params['bot']}/unanswered", done="removed")


@form()
async def answer(page: Page, fields: Fields) -> Response:
    """Open the editor with a draft made of a group."""
    bot, number = page.params["bot"], question_number(fields.text("id"))
    await page.perform("unanswered.answer", bot=bot, question=number)
    return page.redirect(page.url(f"/bots/{bot}/knowledge/new", unanswered=number))
