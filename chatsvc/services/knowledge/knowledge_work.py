"""Child process for previews and checks of a bot's whole knowledge, and the parent's side of it.

The work has a process of its own, so that it does not delay the replies to visitors.

The parent writes one JSON object and closes the child's standard input; the child answers with lines of JSON: `["progress", step, done,
of]`, `["item", {...}]` for each result, and `["end"]`. If the output ends without `["end"]`, the work has failed.
"""

import asyncio
import base64
import json
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, cast

from chatsvc.domain.models import Bot, Entry, Synonyms
from chatsvc.domain.websites import SiteEntry
from chatsvc.services.knowledge.file_reading import environment, program
from chatsvc.store.knowledge import Whole

ARGUMENT = "search-knowledge"  # makes the program a searcher (chatsvc/__main__.py)
_EVERY_S = 0.2  # between two lines of progress
_NICER = 10
_ENOUGH_WORDS = 12  # of an entry that may be in another language than its page
_LONGEST_LINE = 4 * 1024 * 1024
_PIECE = 1024 * 1024  # characters of a draft in a line
_MOST_MEMORY = 2 * 1024 * 1024 * 1024  # bytes of address space, for the pages of a website

Report = Callable[[str, int, int], None]


class WorkFailed(Exception):
    """The child process ended before its work was done."""


async def run(work: Mapping[str, Any], report: Report, lines: AsyncIterator[bytes] | None = None) -> list[dict[str, Any]]:
    """Run `work` in a child process and return its results. Raises WorkFailed. Cancelling this call kills the process.

    `lines` are written to the child's standard input after the request, one by one.
    """
    try:
        child = await asyncio.create_subprocess_exec(
            *program(ARGUMENT),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=environment(),
            cwd="/",
            limit=_LONGEST_LINE,
        )
    except OSError as fault:
        raise WorkFailed(str(fault.strerror)) from None
    source, target = cast("asyncio.StreamWriter", child.stdin), cast("asyncio.StreamReader", child.stdout)
    try:
        with suppress(ConnectionError):
            source.write(await asyncio.to_thread(lambda: json.dumps(work).encode() + b"\n"))
            await source.drain()
            if lines is not None:
                async for line in lines:
                    source.write(line)
                    await source.drain()
            source.close()
        items, kind = list[dict[str, Any]](), ""
        async for line in target:
            kind, *values = json.loads(line)
            if kind == "progress":
                report(*values)
            elif kind == "item":
                items += values
        await child.wait()
        if kind != "end":
            raise WorkFailed("the process has ended")
        return items
    finally:
        # A signal to a process that has just ended would take its status from asyncio, which then logs a warning.
        if child.returncode is None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()


def main() -> None:
    """Process one request from standard input. This is the entry point of the child process."""
    os.nice(_NICER)
    work = json.loads(sys.stdin.buffer.readline())
    if work["kind"] == "site":
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
        _compare_site(work, sys.stdin.buffer)
    else:
        _search(work)
    _tell("end")


def _compare_site(work: Mapping[str, Any], lines: Iterable[bytes]) -> None:
    """Make entries from a website's pages, compare them with the knowledge, and write the outcome and the packed draft."""
    from chatsvc.domain import websites

    entries = _site_entries(lines, work["language"])
    applied = [SiteEntry(*entry) for entry in work["applied"]]
    current = {entry.id: entry for entry in _knowledge(work["current"]).entries}
    counts, before = Counter(entry.page for entry in entries), {entry.page for entry in applied}
    # Without more than a third of the pages that had entries a site is half empty, and has a fault.
    is_lost = 3 * len(before - (counts.keys() - set(work["failed"]))) > len(before)
    _tell("item", {"entries": len(entries), "changes": websites.difference(entries, applied, current).counts, "lost": is_lost})
    for page, count in counts.items():
        _tell("item", {"page": page, "count": count})
    packed = base64.b64encode(websites.pack(entries)).decode()
    for start in range(0, len(packed), _PIECE):
        _tell("item", {"draft": packed[start : start + _PIECE]})


def _site_entries(lines: Iterable[bytes], default: str) -> list[SiteEntry]:
    """Make entries from pages. An entry's language is detected if its text is long enough; otherwise it is the page's language."""
    from chatsvc.domain import websites
    from chatsvc.language.language_detection import guess

    pages = []
    for line in lines:
        url, packed = json.loads(line)
        content = websites.unpack(base64.b64decode(packed))
        if not content["reason"]:
            # The page may not declare its language, or its template may declare another one.
            text = " ".join(value for kind, value in content["lines"] if kind == "line")
            del content["links"]
            pages.append((url, {**content, "language": guess(text) or content["language"]}))
    entries = []
    for entry in websites.entries_of(pages, default):
        # A few words of another language on a page are usually names.
        text = f"{entry.question} {entry.answer}"
        language = guess(text) if len(text.split()) >= _ENOUGH_WORDS else None
        entries.append(entry._replace(language=language or entry.language))
    return entries


def _search(work: Mapping[str, Any]) -> None:
    from chatsvc.domain import knowledge_findings
    from chatsvc.services.knowledge import knowledge_lint, previews
    from chatsvc.services.knowledge.previews import PastQuestion

    written_at = 0.0

    def progress(step: str, done: int, of: int) -> None:
        nonlocal written_at
        if time.monotonic() - written_at > _EVERY_S:
            written_at = time.monotonic()
            _tell("progress", step, done, of)

    bot, (before, *after) = Bot(**work["bot"]), map(_knowledge, work["versions"])
    items: list[Any]
    if work["kind"] == "preview":
        questions = [PastQuestion(*question) for question in work["questions"]]
        changed, broken = previews.changes(bot, before, after[0], questions, progress, phrasings=work["phrasings"], now_ms=work["now_ms"])
        items = [*changed, *broken]
    else:
        groups = [group.words for group in before.synonyms]
        weak = knowledge_lint.findings(before.entries, bot.language, groups, everything=work["everything"], progress=progress)
        items = [*knowledge_findings.findings(bot, before.entries), *weak]
    for item in items:
        _tell("item", item._asdict())


def _knowledge(version: tuple[list[list[Any]], list[list[Any]]]) -> Whole:
    entries = [Entry(identity, question, tuple(alt), answer, *rest) for identity, question, alt, answer, *rest in version[0]]
    return Whole(entries, [Synonyms(tuple(words), source) for words, source in version[1]])


def _tell(*values: object) -> None:
    sys.stdout.write(json.dumps(values) + "\n")  # noqa: TID251  # a pipe to the service
    sys.stdout.flush()
