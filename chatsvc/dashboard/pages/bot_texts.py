"""Sentences of a bot's dialogue, in the order of a conversation. Each can be changed or reset. Rare sentences are folded away."""

from collections.abc import Mapping
from typing import Any

from aiohttp.web import Response

from chatsvc import translations
from chatsvc.dashboard.page import Page, form, view
from chatsvc.domain import profiles, refusals
from chatsvc.domain.folding import fold
from chatsvc.domain.models import Bot
from chatsvc.services.accounts import bot_files
from chatsvc.web.forms import Fields, check_version, version_of

# Situations with the beginnings of their sentences' names; the longest beginning counts.
SITUATIONS: Mapping[str, tuple[str, ...]] = {
    "talk": ("smalltalk", "kind", "noted", "sorry", "insult", "foreign", "language"),
    "answers": ("back", "unknown", "offer", "not_text", "business", "facts"),
    "hours": ("hours", "day"),
    "requests": (
        *("open", "ask", "short", "field", "kind.", "any", "no", "without", "privacy"),
        *("summary", "done", "cancelled", "not_sent", "resume"),
    ),
    "mistakes": ("hint", "past", "far", "over", "never", "clashes", "closed.", "insists"),
    "booked": ("status", "change", "decision"),
    "team": ("handoff", "person", "open.person", "open.nobody", "unavailable", "closed"),
}
_BEGINNINGS = sorted(((begin, name) for name, begins in SITUATIONS.items() for begin in begins), key=lambda pair: -len(pair[0]))


Wording = dict[str, Any]


def _wordings(bot: Bot) -> list[Wording]:
    """Return the sentences, each with the bot's own texts (`own`) and the texts in force (`current`) by language.

    `situation` is the part of the dialogue in which the bot uses the sentence. `title` is the key of a description of the sentence, or
    None for a rare sentence. `phrase` is the key of the visitor's words before it, or None if the bot begins.
    """
    own, wordings = profiles.load(bot.profile).texts, list[Wording]()
    for sentence in bot_files.default_sentences():
        parts, texts = sentence.name.replace("?", "").split("."), own.get(sentence.name, {})
        title_key = "bot_texts.at_" + "_".join(parts)
        phrase_keys = ("bot_texts.said_" + "_".join(parts[:length]) for length in range(len(parts), 0, -1))
        wordings.append(
            {
                "default": sentence,
                "own": texts,
                "current": {language: texts.get(language) or text for language, text in sentence.texts.items()},
                "situation": next(name for begin, name in _BEGINNINGS if sentence.name.startswith(begin)),
                "title": title_key if translations.has(title_key) else None,
                "phrase": next(filter(translations.has, phrase_keys), None),
            }
        )
    return wordings


async def show(page: Page) -> Response:
    bot, q, state = await page.bot(), page.query.get("q", ""), page.query.get("status", "")
    usual: dict[str, list[Wording]] = {name: [] for name in SITUATIONS}
    rare: dict[str, list[Wording]] = {name: [] for name in SITUATIONS}
    order = {f"bot_texts.{key}": number for number, key in enumerate(translations.section("bot_texts"))}
    for wording in sorted(_wordings(bot), key=lambda wording: order.get(wording["title"] or "", 0)):
        keys = filter(None, (wording["title"], wording["phrase"]))
        texts = [wording["default"].name, *wording["current"].values(), *map(page.text, keys)]
        if fold(q.strip()) in fold(" ".join(texts)) and (state != "own" or wording["own"]):
            (usual if wording["title"] else rare)[wording["situation"]].append(wording)
    is_open = bool(q.strip() or state)
    return page.render("bot_texts.html", bot=bot, usual=usual, rare=rare, is_open=is_open, q=q, state=state)


@view("bot_text.html")
async def show_one(page: Page, typed: Fields) -> dict[str, Any]:
    """Return one sentence for its form. An empty text restores the default."""
    bot, name = await page.bot(), page.params["sentence"]
    wording = next((wording for wording in _wordings(bot) if wording["default"].name == name), None)
    if wording is None:
        raise refusals.sentence_not_found(sentence=name)
    saved = {language: wording["own"].get(language, "") for language in profiles.LANGUAGES}
    values = {language: typed.raw(language) for language in profiles.LANGUAGES} if typed else saved
    return {"bot": bot, "wording": wording, "values": values, "saved": saved, "version": version_of(saved)}


@form(show_one)
async def submit(page: Page, fields: Fields) -> Response:
    values = await show_one.values(page, fields)
    check_version(fields.text("version"), values["saved"], values["values"])
    await page.perform("bot.set", bot=page.params["bot"], texts={page.params["sentence"]: values["values"]})
    return page.redirect(f"/bots/{page.params['bot']}/texts", done="saved")
