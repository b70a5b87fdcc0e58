"""Knowledge of a bot: its entries by source, with a search. Files or a pasted text can be added, and a source removed or exported.

Websites from which a bot learns are added, listed, read again and removed. A draft of each can be previewed, applied and discarded.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.page import Page, act, form, view
from chatsvc.dashboard.wording import fault_line
from chatsvc.domain import knowledge_files, refusals
from chatsvc.domain.escaping import one_line
from chatsvc.domain.folding import fold
from chatsvc.domain.knowledge_files.parsed import MAX_BYTES
from chatsvc.domain.models import Entry
from chatsvc.domain.refusals import Refused
from chatsvc.domain.websites import EVERY_DAYS, MOST_PAGES
from chatsvc.services.knowledge import knowledge
from chatsvc.services.knowledge.knowledge import MOST_PIECES, Piece, Pieces, joined
from chatsvc.services.knowledge.sites import ShownSite
from chatsvc.web.forms import Fields, FormLimits, whole_number

PREVIEW = "/bots/{bot}/knowledge/previews/{result.id}"
SHOWN = 50  # entries of a page
LIMITS = FormLimits(size=66 * 1024 * 1024, field_size=1024 * 1024, fields=64, timeout_s=300.0)
PIECES_LIMITS = FormLimits(size=8 * 1024 * 1024, field_size=64 * 1024, fields=8 * MOST_PIECES)
_MOST_NAME = 120
SOURCES = {"*": None, "-": ""}  # in the filter: all entries, and those that were written here
TYPES = {
    "jsonl": ("jsonl", "application/jsonl"),
    "csv": ("csv", "text/csv; charset=utf-8"),
    "markdown": ("md", "text/markdown; charset=utf-8"),
}


@view("knowledge.html")
async def show(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the entries of all sources, or the entries that contain the search terms."""
    bot = await page.bot()
    entries: Sequence[Entry] = await page.perform("knowledge.list", bot=bot.id)
    q, chosen = page.query.get("q", "").strip(), page.query.get("source", "*")
    source = SOURCES.get(chosen, chosen)
    matches = await page.services.offload(lambda: filtered(entries, q, source))
    part = page.part(matches, SHOWN)
    return {
        "bot": bot,
        "groups": [(name, list(group)) for name, group in groupby(part.items, key=lambda entry: entry.source or "")],
        "counts": sorted(Counter(entry.source or "" for entry in entries).items()),
        "total": len(entries),
        "match_count": len(matches),
        "q": q,
        "source": source,
        "next": part.next,
        "accepted": ".md,.markdown,.txt,.html,.htm,.csv,.jsonl,.pdf,.docx",
        "name": typed.text("name"),
        "text": typed.raw("text"),
        "faults": [],
        "has_model": any(tier.engine != "knowledge" for tier in page.services.config.models.values()),
        "is_removable": bool(source) and not str(source).startswith(("https://", "http://")),
    }


def filtered(entries: Sequence[Entry], q: str, source: str | None = None) -> list[Entry]:
    """Return the entries that contain all words of `q`, ordered by source. If `source` is not None, return only entries of that source."""
    wanted = fold(q).split()

    def matches(entry: Entry) -> bool:
        text = fold("\n".join((entry.question, *entry.alt, entry.answer))) if wanted else ""
        return (source is None or (entry.source or "") == source) and all(word in text for word in wanted)

    return sorted(filter(matches, entries), key=lambda entry: entry.source or "")


def files_of(fields: Fields) -> list[tuple[str, bytes]]:
    """Return the uploaded files of a form, or its pasted text as a file."""
    files = [(one_line(upload.filename)[:_MOST_NAME], upload.file.read(MAX_BYTES + 1)) for upload in fields.uploads.getall("file", [])]
    text = fields.raw("text")
    if text.strip():
        name = one_line(fields.text("name"))[:_MOST_NAME].replace("/", "-") or "pasted.md"
        files.append((name if "." in name else f"{name}.md", text.encode()))
    return files


@form()
async def remove_source(page: Page, fields: Fields) -> Response:
    page.require_confirmation("knowledge.remove_source", fields)
    await page.perform("knowledge.remove_source", bot=page.params["bot"], source=fields.text("source"))
    return page.redirect(f"/bots/{page.params['bot']}/knowledge", done="removed")


async def submit(page: Page) -> Response:
    """Add files or a pasted text to the knowledge, or preview how adding them would change the bot's answers."""
    operation = "knowledge.preview" if page.path.endswith("/previews") else "knowledge.add"
    if not page.may(operation):
        # Before the files are read: the operation records and refuses the attempt.
        await page.perform(operation, bot=page.params["bot"], files=[])
    bot = await page.bot()
    fields = await page.form(LIMITS)
    try:
        files = await knowledge.read_files(page.services, bot, lambda: files_of(fields))
        result = await page.perform(operation, bot=bot.id, files=files)
    except Refused as refusal:
        return await refuse_files(page, refusal, fields)
    if operation == "knowledge.preview":
        return page.redirect(f"/bots/{bot.id}/knowledge/previews/{result.id}")
    return page.redirect(f"/bots/{bot.id}/knowledge", done="files_added")


async def refuse_files(page: Page, refusal: Refused, fields: Fields) -> Response:
    """Show the form again with the faults of the files and the lines that contain them."""
    faults = refusal.facts.get("faults") if refusal.code == "files_invalid" else None

    def lines() -> list[dict[str, Any]]:
        lines: dict[str, list[str]] = {}
        for upload in fields.uploads.getall("file", []):
            upload.file.seek(0)
            text = upload.file.read(MAX_BYTES).decode("utf-8-sig", "replace")
            lines[one_line(upload.filename)[:_MOST_NAME]] = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        pasted, shown = fields.raw("text").split("\n"), []
        for fault in faults if isinstance(faults, list) else ():
            of_file, index = lines.get(fault["file"], pasted), fault["line"] - 1
            is_text = fault["unit"] == "line" and index < len(of_file) and "\0" not in of_file[index]
            line = of_file[index][:300] if is_text else None
            shown.append({"sentence": fault_line(page.language, fault), "line": fault["line"], "text": line})
        return shown

    return await show.refuse(page, refusal, fields, faults=await page.services.offload(lines))


async def export(page: Page) -> Response:
    """Download the knowledge as a file, in one of the formats that can be added again."""
    form = page.query.get("format", "")
    ending, kind = TYPES.get(form, TYPES["markdown"])
    whole = await page.perform("knowledge.export", bot=page.params["bot"])
    written = knowledge_files.WRITERS.get(form, knowledge_files.WRITERS["markdown"])(whole.entries, whole.synonyms)
    body = await page.services.offload(lambda: "".join(written).encode())
    return page.download(body, kind, f"knowledge.{ending}")


@view("knowledge_pieces.html")
async def _pieces(page: Page, fields: Fields) -> dict[str, Any]:
    """Return the pieces (proposed entries of a file) and the present entries of its source. Join marked pieces with the piece above."""
    typed, chosen, marked = _typed(fields), _numbers(fields, "keep"), _numbers(fields, "join")
    rest = [number for number in range(len(typed)) if not number or number not in marked]
    pieces: Pieces = await page.perform(
        "knowledge.compare", bot=page.params["bot"], source=fields.text("source"), pieces=joined(typed, marked)
    )
    return {
        "bot": await page.bot(),
        "pieces": pieces._replace(synonyms=_synonyms(fields)),
        "ticked": {index for index, number in enumerate(rest) if number in chosen},
        "keep": set(fields.all("keep_entry")),
        "faults": [],
    }


def _typed(fields: Fields) -> list[Piece]:
    """Return all pieces (proposed entries) in the form, also the pieces that are not ticked."""
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
    bot, fields = await page.bot(), await page.form(LIMITS)

    def file() -> list[tuple[str, bytes]]:
        # Called when it is its turn: uploads that wait are not in memory.
        return files_of(fields)[:1]

    try:
        pieces: Pieces = await page.perform("knowledge.split", bot=bot.id, file=file, source=fields.text("source"))
    except Refused as refusal:
        return await refuse_files(page, refusal, fields)
    return page.render(_pieces.template, bot=bot, pieces=pieces, ticked=set(range(len(pieces.pieces))), keep=set(), faults=[])


async def join(page: Page) -> Response:
    """Join each marked piece (proposed entry) with the piece above it, and show all pieces again."""
    return await _pieces(page, await page.form(PIECES_LIMITS))


async def import_pieces(page: Page) -> Response:
    fields = await page.form(PIECES_LIMITS)
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


SHOWN_PAGES = 100  # pages of a site on one page
SITES_PATH = "/bots/{bot}/knowledge/sites"
_EMPTY = {"url": "", "include": "", "exclude": "", "max_pages": str(MOST_PAGES), "every_days": str(EVERY_DAYS)}


@view("sites.html")
async def show_sites(page: Page, typed: Fields) -> dict[str, Any]:
    bot, values = await page.bot(), {name: typed.raw(name) for name in _EMPTY} if typed else _EMPTY
    sites = await page.perform("site.list", bot=bot.id)
    return {"bot": bot, "sites": sites, "values": values, "review": not typed or "review" in typed}


@form(show_sites)
async def add_site(page: Page, fields: Fields) -> Response:
    given: dict[str, Any] = {name: fields.raw(name).split() for name in ("include", "exclude")}
    given |= {name: fields.number(name) for name in ("max_pages", "every_days") if fields.text(name)}
    bot, review = page.params["bot"], "review" in fields
    site = await page.perform("site.add", bot=bot, url=fields.text("url"), review=review, **given)
    return page.redirect(f"/bots/{bot}/knowledge/sites/{site.id}")


async def show_site(page: Page) -> Response:
    shown: ShownSite = await page.perform("site.show", site=page.params["site"])
    if shown.bot.id != page.params["bot"]:
        raise refusals.site_not_found(site=shown.site.id)
    part = page.part(shown.pages, SHOWN_PAGES)
    return page.render(
        "site.html",
        bot=shown.bot,
        shown=shown,
        site=shown.site,
        pages=part.items,
        entries=sum(entry.entries for entry in shown.pages),
        answering=sum(entry.entries > 0 for entry in shown.pages),
        next=part.next,
    )


sync_site = act("site.sync", "site", to=SITES_PATH + "/{site}")
apply_site = act("site.apply", "site", to=SITES_PATH + "/{site}", done="saved")
discard_site = act("site.discard", "site", to=SITES_PATH + "/{site}")
remove_site = act("site.remove", "site", to=SITES_PATH, done="removed", confirm=True)
preview_site = act("site.preview", "site", to=PREVIEW)
