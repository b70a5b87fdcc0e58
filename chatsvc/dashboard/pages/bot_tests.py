"""Tests of a bot: list, add by hand or from a conversation, remove, run; the latest runs."""

from __future__ import annotations

from typing import Any

from chatsvc.dashboard.fields import NO_FIELDS, Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.views import Action, View
from chatsvc.domain import refusals
from chatsvc.domain.bot_tests import reasons
from chatsvc.domain.models import Bot
from chatsvc.http.response import HttpResponse
from chatsvc.usecases.conversation_view import ShownConversation, last_question

_LINES = ("contains", "lacks")
_EMPTY = {"ask": "", "language": "", "entry": "", "contains": "", "lacks": "", "decision": ""}


async def _values(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the tests. `conversation` and `message` name a reply of the bot, of which the form for a new test is filled in."""
    found = await page.perform("test.show", bot=page.params["bot"])
    values = {name: typed.raw(name) for name in _EMPTY}
    if page.request.method != "POST" and page.query.get("message") and page.may("test.add"):
        values = await _answered(page, found.bot)
    return {"bot": found.bot, "tests": found.tests, "runs": found.runs, "values": values, "outcomes": None}


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


def _new(_: Page, fields: Fields) -> dict[str, Any]:
    values = {name: fields.raw(name) for name in _EMPTY}
    lines = {name: [line.strip() for line in values[name].splitlines() if line.strip()] for name in _LINES}
    return {name: value for name, value in {**values, **lines}.items() if value}


show = View("bot_tests.html", _values)
add = Action("test.add", show, _new, to="/bots/{bot}/tests", done="saved")
remove = Action("test.remove", None, "test=id", to="/bots/{bot}/tests", done="removed")


async def run(page: Page) -> HttpResponse:
    """Run the tests and show their outcomes; the run is added to the latest runs."""
    await page.form()
    found = await page.perform("test.run", bot=page.params["bot"], keep=True)
    values = await _values(page, NO_FIELDS)
    shown = [(one, reasons(one, page.language)) for one in found]
    return page.render("bot_tests.html", **{**values, "outcomes": shown if len(shown) == len(values["tests"]) else None})
