"""Knowledge of a bot: entries by source with a search. Add files or a pasted text whole, remove a source, export."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.views import Action, View
from chatsvc.dashboard.wording import fault_line
from chatsvc.domain.folding import fold
from chatsvc.domain.knowledge_files import writing
from chatsvc.domain.knowledge_files.decoding import MAX_BYTES
from chatsvc.domain.models import Bot, Entry
from chatsvc.domain.refusals import Refused
from chatsvc.domain.terminal import one_line
from chatsvc.services.knowledge import knowledge
from chatsvc.web.forms import FormLimits

SHOWN = 50  # entries of a page
LIMITS = FormLimits(size=66 * 1024 * 1024, field_size=1024 * 1024, fields=64, timeout_s=300.0)
_MOST_NAME = 120
ALL, WRITTEN_HERE = "*", "-"  # in the filter of sources
TYPES = {
    "jsonl": ("jsonl", "application/jsonl"),
    "csv": ("csv", "text/csv; charset=utf-8"),
    "markdown": ("md", "text/markdown; charset=utf-8"),
}


async def _values(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the entries of all sources, or those with the words searched for."""
    bot = await page.perform("bot.show", bot=page.params["bot"])
    entries: Sequence[Entry] = await page.perform("knowledge.list", bot=bot.id)
    q, chosen = page.query.get("q", "").strip(), page.query.get("source", ALL)
    source = None if chosen == ALL else "" if chosen == WRITTEN_HERE else chosen
    counts, found = await page.services.offload(lambda: filtered(entries, q, source))
    part = page.part(found, SHOWN)
    groups = [(name, list(group)) for name, group in groupby(part.items, key=lambda one: one.source or "")]
    return {
        "bot": bot,
        "groups": groups,
        "counts": counts,
        "total": len(entries),
        "found": len(found),
        "q": q,
        "source": source,
        "next": part.next,
        "accepted": ".md,.markdown,.txt,.html,.htm,.csv,.jsonl,.pdf,.docx",
        "name": typed.text("name"),
        "text": typed.raw("text"),
        "faults": [],
        "has_model": any(tier.engine != "knowledge" for tier in page.services.config.models.values()),
        "is_removable": source is not None and bool(source) and not source.startswith(("https://", "http://")),
    }


def filtered(entries: Sequence[Entry], q: str, source: str | None) -> tuple[list[tuple[str, int]], list[Entry]]:
    """Count the entries of each source, and select entries. By source (None for all) and by the words of `q`."""
    counts = sorted(Counter(one.source or "" for one in entries).items())
    wanted = fold(q).split()
    found = [one for one in entries if (source is None or (one.source or "") == source) and _has(one, wanted)]
    return counts, sorted(found, key=lambda one: one.source or "")


def _has(entry: Entry, wanted: Sequence[str]) -> bool:
    if not wanted:
        return True
    text = fold("\n".join((entry.question, *entry.alt, entry.answer)))
    return all(word in text for word in wanted)


def files_of(fields: Fields) -> list[tuple[str, bytes]]:
    """Return the uploads, or the pasted text as a file."""
    files = [(one_line(one.filename)[:_MOST_NAME], one.file.read(MAX_BYTES + 1)) for one in fields.uploads()]
    text = fields.raw("text")
    if text.strip():
        name = one_line(fields.text("name"))[:_MOST_NAME].replace("/", "-") or "pasted.md"
        files.append((name if "." in name else f"{name}.md", text.encode()))
    return files


async def _read(page: Page, bot: Bot, fields: Fields) -> list[dict[str, Any]]:
    return await knowledge.read_files(page.services, bot, lambda: files_of(fields))


show = View("knowledge.html", _values)
remove_source = Action("knowledge.remove_source", None, "source", to="/bots/{bot}/knowledge", done="removed", confirm=True)


async def submit(page: Page) -> Response:
    """Add files or a pasted text, or preview what adding them would change."""
    operation = "knowledge.preview" if page.path.endswith("/previews") else "knowledge.add"
    if not page.may(operation):
        # Before the files are read: the operation records and refuses the attempt.
        await page.perform(operation, bot=page.params["bot"], files=[])
    bot = await page.perform("bot.show", bot=page.params["bot"])
    fields = await page.form(LIMITS)
    try:
        files = await _read(page, bot, fields)
        made = await page.perform(operation, bot=bot.id, files=files)
    except Refused as refusal:
        lines = await page.services.offload(partial(lines_of, page, refusal, fields))
        return await show.refuse(page, refusal, fields, faults=lines)
    if operation == "knowledge.preview":
        return page.redirect(f"/bots/{bot.id}/knowledge/previews/{made.id}")
    return page.redirect(f"/bots/{bot.id}/knowledge", done="files_added")


def lines_of(page: Page, refusal: Refused, fields: Fields) -> list[dict[str, Any]]:
    """Return the faults of files with the lines that they are about."""
    faults = refusal.facts.get("faults") if refusal.code == "files_invalid" else None
    lines: dict[str, list[str]] = {}
    for upload in fields.uploads():
        upload.file.seek(0)
        text = upload.file.read(MAX_BYTES).decode("utf-8-sig", "replace")
        lines[one_line(upload.filename)[:_MOST_NAME]] = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    pasted = fields.raw("text").split("\n")
    shown = []
    for fault in faults if isinstance(faults, list) else ():
        of_file = lines.get(fault["file"], pasted)
        at = fault["line"] - 1
        is_text = fault["unit"] == "line" and at < len(of_file) and "\0" not in of_file[at]
        shown.append({"sentence": fault_line(page.language, fault), "line": fault["line"], "text": of_file[at][:300] if is_text else None})
    return shown


async def export(page: Page) -> Response:
    """Download the knowledge in one of the formats that `add` reads."""
    form = page.query.get("format", "")
    ending, kind = TYPES.get(form, TYPES["markdown"])
    whole = await page.perform("knowledge.export", bot=page.params["bot"])
    written = writing.write(form if form in TYPES else "markdown", whole.entries, whole.synonyms)
    body = await page.services.offload(lambda: "".join(written).encode())
    return page.download(body, kind, f"knowledge.{ending}")
