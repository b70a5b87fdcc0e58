"""Sentences of a bot's dialogue, by situation: list, reword one, restore its default."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from aiohttp.web import Response

from chatsvc import translations
from chatsvc.dashboard.fields import Fields, changed_since, version_of
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.views import form, view
from chatsvc.domain import profiles, refusals
from chatsvc.domain.folding import fold
from chatsvc.domain.models import Bot
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
_BEGINNINGS = sorted(((begin, name) for name, begins in SITUATIONS.items() for begin in begins), key=lambda pair: -len(pair[0]))


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
        return next((name for begin, name in _BEGINNINGS if self.default.name.startswith(begin)), "talk")

    @property
    def said(self) -> str | None:
        """The key of what a visitor says before, None where the bot begins."""
        parts = self.default.name.replace("?", "").split(".")
        keys = ("bot_texts.said_" + "_".join(parts[:length]) for length in range(len(parts), 0, -1))
        return next(filter(translations.has, keys), None)


def _wordings(bot: Bot) -> list[Wording]:
    own = profiles.load(bot.profile).texts
    return [Wording(sentence, dict(own.get(sentence.name, {}))) for sentence in bot_files.default_sentences()]


async def show(page: Page) -> Response:
    bot, q, state = await page.bot(), page.query.get("q", ""), page.query.get("status", "")
    groups: dict[str, list[Wording]] = {name: [] for name in SITUATIONS}
    for wording in _wordings(bot):
        texts = [wording.default.name, *wording.current.values(), page.text(wording.said) if wording.said else ""]
        if fold(q.strip()) in fold(" ".join(texts)) and (state != "own" or wording.own):
            groups[wording.situation].append(wording)
    return page.render("bot_texts.html", bot=bot, groups=groups, is_open=bool(q.strip() or state), q=q, state=state)


@view("bot_text.html")
async def show_one(page: Page, typed: Fields) -> dict[str, Any]:
    """Return one sentence; an empty text restores the default."""
    bot, name = await page.bot(), page.params["sentence"]
    wording = next((wording for wording in _wordings(bot) if wording.default.name == name), None)
    if wording is None:
        raise refusals.sentence_not_found(sentence=name)
    saved = {language: wording.own.get(language, "") for language in profiles.LANGUAGES}
    values = {language: typed.raw(language) for language in profiles.LANGUAGES} if typed else saved
    return {"bot": bot, "wording": wording, "values": values, "saved": saved, "version": version_of(saved)}


@form(show_one)
async def submit(page: Page, fields: Fields) -> Response:
    values = await show_one.values(page, fields)
    changed = changed_since(fields.text("version"), values["saved"], values["values"])
    if changed:
        return await show_one.conflict(page, changed, fields)
    await page.perform("bot.set", bot=page.params["bot"], texts={page.params["sentence"]: values["values"]})
    return page.redirect(f"/bots/{page.params['bot']}/texts", done="saved")
