"""Sentences of a bot's dialogue: list, reword one, restore its default."""

from __future__ import annotations

from typing import NamedTuple

from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain import profiles, refusals
from chatsvc.domain.folding import fold
from chatsvc.domain.models import Bot
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse
from chatsvc.usecases import bot_files
from chatsvc.usecases.bot_files import DefaultSentence


class Wording(NamedTuple):
    """A sentence with the bot's own words by language, and the ones in force."""

    default: DefaultSentence
    own: dict[str, str]

    @property
    def current(self) -> dict[str, str]:
        """The texts in force by language."""
        return {language: self.own.get(language) or text for language, text in self.default.texts.items()}


def _wordings(bot: Bot) -> list[Wording]:
    own = profiles.load(bot.profile).texts
    return [Wording(one, dict(own.get(one.name, {}))) for one in bot_files.default_sentences()]


async def show(page: Page) -> HttpResponse:
    """List the sentences, or those with the words searched for."""
    bot = await page.perform("bot.show", bot=page.params["bot"])
    wanted = fold(page.query.get("q", "").strip())
    found = [one for one in _wordings(bot) if not wanted or wanted in fold(" ".join([one.default.name, *one.current.values()]))]
    if page.query.get("status") == "own":
        found = [one for one in found if one.own]
    return page.render("bot_texts.html", bot=bot, wordings=found, q=page.query.get("q", ""), state=page.query.get("status", ""))


async def _one(page: Page) -> tuple[Bot, Wording]:
    bot, name = await page.perform("bot.show", bot=page.params["bot"]), page.params["sentence"]
    found = next((one for one in _wordings(bot) if one.default.name == name), None)
    if found is None:
        raise refusals.sentence_not_found(sentence=name)
    return bot, found


async def show_one(page: Page) -> HttpResponse:
    """Show the form of one sentence."""
    bot, wording = await _one(page)
    return page.render("bot_text.html", bot=bot, wording=wording, values=wording.own)


async def submit(page: Page) -> HttpResponse:
    """Reword a sentence; an empty text restores the default."""
    fields = await page.form()
    bot, wording = await _one(page)
    values = {language: fields.raw(language) for language in profiles.LANGUAGES}
    try:
        await page.perform("bot.set", bot=bot.id, texts={wording.default.name: values})
    except Refused as fault:
        return page.refused("bot_text.html", fault, bot=bot, wording=wording, values=values)
    return page.redirect(f"/bots/{bot.id}/texts", done="saved")


ROUTES = (
    Route("GET", "/bots/{bot}/texts", show, Access.READER),
    Route("GET", "/bots/{bot}/texts/{sentence}", show_one, Access.EDITOR),
    Route("POST", "/bots/{bot}/texts/{sentence}", submit, Access.EDITOR),
)
