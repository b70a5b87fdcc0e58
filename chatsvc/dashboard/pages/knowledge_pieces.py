"""Pieces of a text or file: shown before they are saved, edited, joined, and imported as a source or its new version."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.fields import Fields, whole_number
from chatsvc.dashboard.page import Page, view
from chatsvc.dashboard.pages import knowledge
from chatsvc.dashboard.wording import fault_line
from chatsvc.domain.refusals import Refused
from chatsvc.services.knowledge.knowledge import MOST_PIECES, Piece, Pieces, joined
from chatsvc.web.forms import FormLimits

LIMITS = FormLimits(size=8 * 1024 * 1024, field_size=64 * 1024, fields=8 * MOST_PIECES)


@view("knowledge_pieces.html")
async def _pieces(page: Page, fields: Fields) -> dict[str, Any]:
    """Return the pieces of the form beside the entries of their source. Those that are marked are joined with those above."""
    typed, chosen, marked = _typed(fields), _numbers(fields, "keep"), _numbers(fields, "join")
    rest = [number for number in range(len(typed)) if not number or number not in marked]
    pieces: Pieces = await page.perform(
        "knowledge.compare", bot=page.params["bot"], source=fields.text("source"), pieces=joined(typed, marked)
    )
    return {
        "bot": await page.bot(),
        "pieces": pieces._replace(synonyms=_synonyms(fields)),
        "kept": {index for index, number in enumerate(rest) if number in chosen},
        "keep": set(fields.all("keep_entry")),
        "faults": [],
    }


def _typed(fields: Fields) -> list[Piece]:
    """Return all pieces of the form, with those that are left out."""
    columns = [[text.replace("\r\n", "\n") for text in fields.all(name)] for name in ("question", "answer", "language", "alt")]
    return [
        Piece(question, answer, language, tuple(filter(None, map(str.strip, alt.split("\n")))))
        for question, answer, language, alt in zip(*columns, strict=False)
    ]


def _numbers(fields: Fields, name: str) -> set[int]:
    return {number for text in fields.all(name) if (number := whole_number(text)) is not None}


def _synonyms(fields: Fields) -> list[tuple[str, ...]]:
    return [tuple(line.split(", ")) for line in fields.all("synonyms")]


async def split(page: Page) -> Response:
    if not page.may("knowledge.split"):
        # Before the file is read: the operation refuses the attempt.
        await page.perform("knowledge.split", bot=page.params["bot"], file=("", b""))
    bot, fields = await page.bot(), await page.form(knowledge.LIMITS)

    def file() -> list[tuple[str, bytes]]:
        # Called when it is its turn: uploads that wait are not in memory.
        return knowledge.files_of(fields)[:1]

    try:
        pieces: Pieces = await page.perform("knowledge.split", bot=bot.id, file=file, source=fields.text("source"))
    except Refused as refusal:
        return await knowledge.refuse_files(page, refusal, fields)
    return page.render(_pieces.template, bot=bot, pieces=pieces, kept=set(range(len(pieces.pieces))), keep=set(), faults=[])


async def join(page: Page) -> Response:
    """Join the marked pieces with those above them, and show all again."""
    return await _pieces(page, await page.form(LIMITS))


async def save(page: Page) -> Response:
    fields = await page.form(LIMITS)
    chosen = _numbers(fields, "keep")
    pieces = [piece for number, piece in enumerate(_typed(fields)) if number in chosen]
    given = {"source": fields.text("source"), "keep": fields.all("keep_entry"), "synonyms": _synonyms(fields)}
    try:
        await page.perform("knowledge.import", bot=page.params["bot"], pieces=pieces, **given)
    except Refused as refusal:
        faults = refusal.facts.get("faults")
        lines = [fault_line(page.language, fault) for fault in faults] if isinstance(faults, list) else []
        return await _pieces.refuse(page, refusal, fields, faults=lines)
    return page.redirect(f"/bots/{page.params['bot']}/knowledge", done="files_added")
