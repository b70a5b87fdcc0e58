"""A conversation with a bot on trial: replies with decision, confidence and reasons. Nothing is stored or charged."""

from __future__ import annotations

from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse


async def show(page: Page) -> HttpResponse:
    """Show a trial."""
    bot = await page.perform("bot.show", bot=page.params["bot"])
    trial = await page.perform("bot.try", bot=bot.id, trial=page.query.get("trial"))
    return page.render("try_bot.html", bot=bot, trial=trial, text="")


async def say(page: Page) -> HttpResponse:
    """Say something to the bot."""
    bot_id, fields = page.params["bot"], await page.form()
    trial_id, text = fields.optional("trial"), fields.raw("text")
    try:
        trial = await page.perform("bot.try", bot=bot_id, text=text, trial=trial_id)
    except Refused as fault:
        bot, trial = await page.perform("bot.show", bot=bot_id), await page.perform("bot.try", bot=bot_id, trial=trial_id)
        return page.refused("try_bot.html", fault, bot=bot, trial=trial, text=text)
    return page.redirect(page.url(f"/bots/{bot_id}/try", trial=trial.id) + "#last")


ROUTES = (Route("GET", "/bots/{bot}/try", show, Access.READER), Route("POST", "/bots/{bot}/try", say, Access.READER))
