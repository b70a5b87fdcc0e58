"""Tests of a bot: list, add by hand or from a conversation, remove, run. A conversation on trial, of which nothing is stored."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard import records
from chatsvc.dashboard.fields import NO_FIELDS, Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.views import Action, View
from chatsvc.domain.bot_tests import BotTestOutcome, reasons
from chatsvc.domain.models import Bot
from chatsvc.services.conversations.conversation_view import last_question

_EMPTY = {"ask": "", "language": "", "entry": "", "contains": "", "lacks": "", "decision": ""}


async def _values(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the tests. `conversation` and `message` name a reply of the bot, of which the form for a new test is filled in."""
    found = await page.perform("test.show", bot=page.params["bot"])
    values = {name: typed.raw(name) for name in _EMPTY}
    if page.request.method != "POST" and page.query.get("message") and page.may("test.add"):
        values = await _answered(page, found.bot)
    return {"bot": found.bot, "tests": found.tests, "runs": found.runs, "values": values, "outcomes": None}


async def _answered(page: Page, bot: Bot) -> dict[str, str]:
    """Return the test that expects a reply of the bot again."""
    messages, at = await records.reply_of(page, bot, "assistant")
    if at is None:
        return _EMPTY
    reply = messages[at]
    asked = next((one.message for one in messages[:at][::-1] if one.message.role == "user"), None)
    ask = await page.services.offload(lambda: last_question([asked], bot.country, bot.language)) if asked else ""
    entry = next((one.question for one in reply.origins if one.question), None) if reply.decision == "answer" else None
    first_line = next(iter(reply.message.content.splitlines()), "")
    expected = {"entry": entry} if entry else {} if reply.decision == "abstain" else {"contains": first_line}
    return {**_EMPTY, "ask": ask, "decision": reply.decision or "", **expected}


def _new(_: Page, fields: Fields) -> dict[str, Any]:
    values = {name: fields.raw(name) for name in _EMPTY}
    lines = {name: [line.strip() for line in values[name].splitlines() if line.strip()] for name in ("contains", "lacks")}
    return {name: value for name, value in {**values, **lines}.items() if value}


show = View("bot_tests.html", _values)
add = Action("test.add", show, _new, to="/bots/{bot}/tests", done="saved")
remove = Action("test.remove", None, "test=id", to="/bots/{bot}/tests", done="removed")


async def _show_outcomes(page: Page, found: list[BotTestOutcome]) -> Response:
    values = await _values(page, NO_FIELDS)
    shown = [(one, reasons(one, page.language)) for one in found]
    return page.render("bot_tests.html", **{**values, "outcomes": shown if len(shown) == len(values["tests"]) else None})


run = Action("test.run", None, lambda _, __: {"keep": True}, then=_show_outcomes)


async def _trial(page: Page, typed: Fields) -> dict[str, Any]:
    bot = await page.perform("bot.show", bot=page.params["bot"])
    trial = await page.perform("bot.try", bot=bot.id, trial=typed.optional("trial") or page.query.get("trial"))
    return {"bot": bot, "trial": trial, "text": typed.raw("text")}


show_trial = View("try_bot.html", _trial)
say = Action("bot.try", show_trial, "text:raw trial:optional", to="/bots/{bot}/try?trial={made.id}#last")
