"""Tests of a bot: list, add by hand or from a conversation, remove, run; the latest runs."""

from __future__ import annotations

from typing import Any

from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain import refusals
from chatsvc.domain.bot_tests import reasons
from chatsvc.domain.models import Bot
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse
from chatsvc.usecases.conversation_view import ShownConversation, last_question

_PATH = "/bots/{bot}/tests"
_LINES = ("contains", "lacks")
_EMPTY = {"ask": "", "language": "", "entry": "", "contains": "", "lacks": "", "decision": ""}


async def show(page: Page) -> HttpResponse:
    """Show the tests. `conversation` and `message` name a reply of the bot, of which the form for a new test is filled in."""
    context = await _context(page)
    if page.query.get("message") and page.may("test.add"):
        context["values"] = await _answered(page, context["bot"])
    return page.render("bot_tests.html", **context)


async def _context(page: Page) -> dict[str, Any]:
    found = await page.perform("test.show", bot=page.params["bot"])
    values = {"bot": found.bot, "tests": found.tests, "runs": found.runs}
    return {**values, "values": _EMPTY, "outcomes": None}


async def _answered(page: Page, bot: Bot) -> dict[str, str]:
    """Return the test that expects a reply of the bot again. Raises `conversation_not_found` for one of another bot."""
    conversation, message = page.query.get("conversation", ""), page.query["message"]
    found: ShownConversation = await page.perform("conversation.view", conversation=conversation, around=message)
    if found.conversation.chatbot_id != bot.id:
        raise refusals.conversation_not_found(conversation=conversation)
    at = next((at for at, one in enumerate(found.messages) if one.message.id == message and one.message.role == "assistant"), None)
    if at is None:
        return _EMPTY
    reply = found.messages[at]
    asked = next((one.message for one in found.messages[:at][::-1] if one.message.role == "user"), None)
    ask = await page.services.offload(lambda: last_question([asked], bot.country, bot.language)) if asked else ""
    entry = next((one.question for one in reply.origins if one.question), None) if reply.decision == "answer" else None
    first_line = next(iter(reply.message.content.splitlines()), "")
    expected = {"entry": entry} if entry else {} if reply.decision == "abstain" else {"contains": first_line}
    return {**_EMPTY, "ask": ask, "decision": reply.decision or "", **expected}


async def add(page: Page) -> HttpResponse:
    bot_id, fields = page.params["bot"], await page.form()
    values = {name: fields.raw(name) for name in _EMPTY}
    lines = {name: [line.strip() for line in values[name].splitlines() if line.strip()] for name in _LINES}
    given = {name: value for name, value in {**values, **lines}.items() if value}
    try:
        await page.perform("test.add", bot=bot_id, **given)
    except Refused as fault:
        return page.refused("bot_tests.html", fault, **{**await _context(page), "values": values})
    return page.redirect(f"/bots/{bot_id}/tests", done="saved")


async def remove(page: Page) -> HttpResponse:
    bot_id, fields = page.params["bot"], await page.form()
    await page.perform("test.remove", bot=bot_id, test=fields.text("id"))
    return page.redirect(f"/bots/{bot_id}/tests", done="removed")


async def run(page: Page) -> HttpResponse:
    """Run the tests and show their outcomes; the run is added to the latest runs."""
    await page.form()
    found = await page.perform("test.run", bot=page.params["bot"], keep=True)
    context = await _context(page)

    shown = [(one, reasons(one, page.language)) for one in found]
    context["outcomes"] = shown if len(shown) == len(context["tests"]) else None
    return page.render("bot_tests.html", **context)


ROUTES = (
    Route("GET", _PATH, show, Access.READER),
    Route("POST", _PATH, add, Access.READER),
    Route("POST", f"{_PATH}/remove", remove, Access.READER),
    Route("POST", f"{_PATH}/run", run, Access.READER),
)
