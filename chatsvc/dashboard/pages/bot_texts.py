"""Sentences of a bot's dialogue, by situation: list, reword one, restore its default."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from aiohttp.web import Response

from chatsvc import translations
from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.versions import changed_since, version_of
from chatsvc.dashboard.views import View
from chatsvc.domain import profiles, refusals
from chatsvc.domain.folding import fold
from chatsvc.domain.models import Bot
from chatsvc.domain.refusals import Refused
from chatsvc.services.accounts import bot_files
from chatsvc.services.accounts.bot_files import DefaultSentence

# Situations with the beginnings of their sentences' names; the longest beginning counts.
SITUATIONS: Mapping[str, tuple[str, ...]] = {
    "talk": ("smalltalk", "hello", "kind", "noted", "sorry", "insult", "nonsense", "speaks", "foreign", "language"),
    "answers": ("back", "unknown", "offer", "not_text"),
    "hours": ("hours", "day"),
    "requests": (
        *("open", "ask", "field", "kind.", "any", "why", "need", "no", "without", "way.without", "privacy"),
        *("summary", "done", "cancelled", "given_up", "not_sent", "lost", "kept", "resume", "postponed"),
    ),
    "mistakes": ("hint", "way", "phone", "past", "far", "over", "never", "closed."),
    "booked": ("status", "change", "own", "decision"),
    "team": ("handoff", "person", "open.person", "open.nobody", "unavailable", "closed"),
}
_BEGINNINGS = sorted(((one, name) for name, all_of in SITUATIONS.items() for one in all_of), key=lambda pair: -len(pair[0]))


class Wording(NamedTuple):
    """A sentence with the bot's own words by language, and the ones in force."""

    default: DefaultSentence
    own: dict[str, str]

    @property
    def current(self) -> dict[str, str]:
        return {language: self.own.get(language) or text for language, text in self.default.texts.items()}

    @property
    def situation(self) -> str:
        """The situation in which the bot says it; `talk` where none is known."""
        return next((name for one, name in _BEGINNINGS if self.default.name.startswith(one)), "talk")

    @property
    def said(self) -> str | None:
        """The key of what a visitor says before, None where the bot begins."""
        parts = self.default.name.replace("?", "").split(".")
        keys = ("bot_texts.said_" + "_".join(parts[:length]) for length in range(len(parts), 0, -1))
        return next(filter(translations.has, keys), None)


def _wordings(bot: Bot) -> list[Wording]:
    own = profiles.load(bot.profile).texts
    return [Wording(one, dict(own.get(one.name, {}))) for one in bot_files.default_sentences()]


async def show(page: Page) -> Response:
    bot = await page.perform("bot.show", bot=page.params["bot"])
    wanted, state = fold(page.query.get("q", "").strip()), page.query.get("status", "")
    found = [
        one
        for one in _wordings(bot)
        if wanted in fold(" ".join([one.default.name, *one.current.values(), page.text(one.said) if one.said else ""]))
    ]
    if state == "own":
        found = [one for one in found if one.own]
    groups = {name: [one for one in found if one.situation == name] for name in SITUATIONS}
    is_open = bool(wanted or state)
    return page.render("bot_texts.html", bot=bot, groups=groups, is_open=is_open, q=page.query.get("q", ""), state=state)


async def _one(page: Page, typed: Fields) -> dict[str, Any]:
    """Return one sentence; an empty text restores the default."""
    bot, name = await page.perform("bot.show", bot=page.params["bot"]), page.params["sentence"]
    found = next((one for one in _wordings(bot) if one.default.name == name), None)
    if found is None:
        raise refusals.sentence_not_found(sentence=name)
    saved = {language: found.own.get(language, "") for language in profiles.LANGUAGES}
    values = {language: typed.raw(language) for language in profiles.LANGUAGES} if typed else saved
    return {"bot": bot, "wording": found, "values": values, "saved": saved, "version": version_of(saved)}


show_one = View("bot_text.html", _one)


async def submit(page: Page) -> Response:
    fields = await page.form()
    context = await _one(page, fields)
    bot, changed = context["bot"], changed_since(fields.text("version"), context["saved"], context["values"])
    if changed:
        return page.conflict(show_one.template, changed, **context)
    try:
        await page.perform("bot.set", bot=bot.id, texts={page.params["sentence"]: {one: fields.raw(one) for one in profiles.LANGUAGES}})
    except Refused as fault:
        return await show_one.refuse(page, fault, fields)
    return page.redirect(f"/bots/{bot.id}/texts", done="saved")
