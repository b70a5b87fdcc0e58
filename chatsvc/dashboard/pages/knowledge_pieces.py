"""Pieces of a text or file: shown before they are saved, edited, joined, and imported as a source or its new version."""

from functools import partial
from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.pages import knowledge
from chatsvc.dashboard.wording import fault_line
from chatsvc.domain.refusals import Refused
from chatsvc.services.knowledge.knowledge_pieces import MOST_PIECES, Piece, Pieces, joined
from chatsvc.web.forms import FormLimits

LIMITS = FormLimits(size=8 * 1024 * 1024, field_size=64 * 1024, fields=8 * MOST_PIECES)


async def split(page: Page) -> Response:
    if not page.may("knowledge.split"):
        # Before the file is read: the operation refuses the attempt.
        await page.perform("knowledge.split", bot=page.params["bot"], file=("", b""))
    bot = await page.perform("bot.show", bot=page.params["bot"])
    fields = await page.form(knowledge.LIMITS)
    try:
        # Read when it is its turn: uploads that wait are not in memory.
        pieces: Pieces = await page.perform(
            "knowledge.split", bot=bot.id, file=lambda: knowledge.files_of(fields)[:1], source=fields.text("source")
        )
    except Refused as refusal:
        lines = await page.services.offload(partial(knowledge.lines_of, page, refusal, fields))
        return await knowledge.show.refuse(page, refusal, fields, faults=lines)
    return page.render("knowledge_pieces.html", bot=bot, **_shown(pieces, set(range(len(pieces.pieces)))))


def _shown(pieces: Pieces, kept: set[int], keep: set[str] | None = None) -> dict[str, Any]:
    return {"pieces": pieces, "kept": kept, "keep": keep or set(), "faults": []}


def _typed(fields: Fields) -> list[Piece]:
    """Return all pieces of the form, with those that are left out."""
    columns = [[text.replace("\r\n", "\n") for text in fields.all(name)] for name in ("question", "answer", "language", "alt")]
    return [
        Piece(question, answer, language, tuple(filter(None, map(str.strip, alt.split("\n")))))
        for question, answer, language, alt in zip(*columns, strict=False)
    ]


def _places(fields: Fields, name: str) -> set[int]:
    return {int(one) for one in fields.all(name) if one.isascii() and one.isdigit() and len(one) < 6}


async def join(page: Page) -> Response:
    """Join the marked pieces with those above them, and show all again."""
    bot = await page.perform("bot.show", bot=page.params["bot"])
    fields = await page.form(LIMITS)
    typed, kept, marked = _typed(fields), _places(fields, "keep"), _places(fields, "join")
    rest = [place for place in range(len(typed)) if not place or place not in marked]
    pieces: Pieces = await page.perform("knowledge.compare", bot=bot.id, source=fields.text("source"), pieces=joined(typed, marked))
    pieces = pieces._replace(synonyms=_synonyms(fields))
    still = {nth for nth, place in enumerate(rest) if place in kept}
    return page.render("knowledge_pieces.html", bot=bot, **_shown(pieces, still, set(fields.all("keep_entry"))))


def _synonyms(fields: Fields) -> list[tuple[str, ...]]:
    return [tuple(one.split(", ")) for one in fields.all("synonyms")]


async def save(page: Page) -> Response:
    bot = await page.perform("bot.show", bot=page.params["bot"])
    fields = await page.form(LIMITS)
    typed, kept, source, entries = _typed(fields), _places(fields, "keep"), fields.text("source"), fields.all("keep_entry")
    chosen = [one for place, one in enumerate(typed) if place in kept]
    try:
        await page.perform("knowledge.import", bot=bot.id, source=source, pieces=chosen, keep=entries, synonyms=_synonyms(fields))
    except Refused as fault:
        pieces: Pieces = await page.perform("knowledge.compare", bot=bot.id, source=source, pieces=typed)
        shown = _shown(pieces._replace(synonyms=_synonyms(fields)), kept, set(entries))
        found = fault.facts.get("faults")
        shown["faults"] = [fault_line(page.language, one) for one in found] if isinstance(found, list) else []
        return page.refused("knowledge_pieces.html", fault, bot=bot, **shown)
    return page.redirect(f"/bots/{bot.id}/knowledge", done="files_added")
