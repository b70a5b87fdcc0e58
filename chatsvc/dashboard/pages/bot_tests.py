"""Tests of a bot, which are added by hand or from a conversation, and run. Also a trial conversation, which is not stored."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard import records
from chatsvc.dashboard.page import Page, form, view
from chatsvc.domain.bot_tests import reasons
from chatsvc.domain.channels import DEFAULT_COLOR, WEB, is_dark
from chatsvc.domain.models import Bot
from chatsvc.services.conversations.conversation_view import last_question
from chatsvc.services.messages import web_visits
from chatsvc.web.forms import NO_FIELDS, Fields

_EMPTY = {"ask": "", "language": "", "entry": "", "contains": "", "lacks": "", "decision": ""}


@view("bot_tests.html")
async def show(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the tests. If the URL has `conversation` and `message`, the form for a new test is filled in from that reply of the bot."""
    shown = await page.perform("test.show", bot=page.params["bot"])
    values = {name: typed.raw(name) for name in _EMPTY}
    if page.request.method != "POST" and page.query.get("message") and page.may("test.add"):
        values = await _answered(page, shown.bot)
    return {"bot": shown.bot, "tests": shown.tests, "runs": shown.runs, "values": values, "outcomes": None}


async def _answered(page: Page, bot: Bot) -> dict[str, str]:
    """Return the values of a test that expects the same reply of the bot again."""
    messages, index = await records.reply_of(page, bot, "assistant")
    if index is None:
        return _EMPTY
    reply = messages[index]
    asked = next((shown.message for shown in messages[:index][::-1] if shown.message.role == "user"), None)
    ask = await page.services.offload(lambda: last_question([asked], bot.country, bot.language)) if asked else ""
    entry = next((origin.question for origin in reply.origins if origin.question), None) if reply.decision == "answer" else None
    first_line = next(iter(reply.message.content.splitlines()), "")
    expected = {"entry": entry} if entry else {} if reply.decision == "abstain" else {"contains": first_line}
    return {**_EMPTY, "ask": ask, "decision": reply.decision or "", **expected}


@form(show)
async def add(page: Page, fields: Fields) -> Response:
    values = {name: fields.raw(name) for name in _EMPTY}
    lines = {name: [line.strip() for line in values[name].splitlines() if line.strip()] for name in ("contains", "lacks")}
    await page.perform("test.add", bot=page.params["bot"], **{name: value for name, value in {**values, **lines}.items() if value})
    return page.redirect(f"/bots/{page.params['bot']}/tests", done="saved")


@form()
async def remove(page: Page, fields: Fields) -> Response:
    await page.perform("test.remove", bot=page.params["bot"], test=fields.text("id"))
    return page.redirect(f"/bots/{page.params['bot']}/tests", done="removed")


@form()
async def run(page: Page, _: Fields) -> Response:
    outcomes = [(outcome, reasons(outcome, page.language)) for outcome in await page.perform("test.run", bot=page.params["bot"], keep=True)]
    values = await show.values(page, NO_FIELDS)
    return page.render("bot_tests.html", **{**values, "outcomes": outcomes if len(outcomes) == len(values["tests"]) else None})


@view("try_bot.html")
async def show_trial(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the trial conversation as the widget would show it, with the reasons of each reply."""
    bot = await page.bot()
    trial = await page.perform("bot.try", bot=bot.id, trial=typed.optional("trial") or page.query.get("trial"))
    web = next((channel for channel in await page.perform("channel.list", bot=bot.id) if channel.channel == WEB), None)
    color, title = (web.text("color"), web.text("title")) if web else (None, None)
    look = {"color": color or DEFAULT_COLOR, "is_dark": is_dark(color or DEFAULT_COLOR), "title": title or bot.name}
    return {"bot": bot, "trial": trial, "text": typed.raw("text"), "opening": web_visits.opening(page.services, bot, page.language), **look}


@form(show_trial)
async def say(page: Page, fields: Fields) -> Response:
    trial = await page.perform("bot.try", bot=page.params["bot"], text=fields.raw("text"), trial=fields.optional("trial"))
    return page.redirect(f"/bots/{page.params['bot']}/try?trial={trial.id}#last")
