"""A conversation with a bot on trial: replies with decision, confidence and reasons. Nothing is stored or charged."""

from __future__ import annotations

from typing import Any

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.views import Action, View


async def _values(page: Page, typed: Fields) -> dict[str, Any]:
    bot = await page.perform("bot.show", bot=page.params["bot"])
    trial = await page.perform("bot.try", bot=bot.id, trial=typed.optional("trial") or page.query.get("trial"))
    return {"bot": bot, "trial": trial, "text": typed.raw("text")}


show = View("try_bot.html", _values)
say = Action("bot.try", show, "text:raw trial:optional", to="/bots/{bot}/try?trial={made.id}#last")
