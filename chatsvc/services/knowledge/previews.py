"""Background computations of knowledge previews and checks: started, shown with progress, and kept a while.

services/knowledge/knowledge_preview.py and services/knowledge/knowledge_lint.py compute them.

A preview holds the draft as well, so that it can be saved once somebody has looked at it. All is in memory, bounded, and gone with the
process.
"""

import asyncio
import logging
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chatsvc import background
from chatsvc.domain import business_facts, refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.bot_tests import BotTestOutcome
from chatsvc.domain.knowledge_findings import LintFinding
from chatsvc.domain.models import Bot, Entry
from chatsvc.domain.websites import Site
from chatsvc.services.accounts import bots
from chatsvc.services.knowledge import knowledge, knowledge_preview, knowledge_work
from chatsvc.services.knowledge.knowledge_preview import AnswerChange
from chatsvc.services.services import Services
from chatsvc.store import knowledge as stored
from chatsvc.store.knowledge import Whole as Version

log = logging.getLogger(__name__)

MOST_KEPT = 32
MOST_RUNNING = 2  # one for each account
MOST_SHOWN = 1_000  # changes that are kept of one preview
_LONGEST_S = 900.0  # of a computation: a large knowledge with many phrasings takes minutes
_PATIENCE_S = 3.0  # that the caller waits for a short computation


Work = Mapping[str, Any] | Callable[[], Awaitable[Mapping[str, Any]]]


@dataclass
class PreviewDraft:
    """Change that a preview is about. An entry to write, one to remove, a website's draft, files as they were read, or new phrasings."""

    entry: Entry | None = None
    removed: Entry | None = None
    site: Site | None = None
    files: Sequence[dict[str, Any]] = ()
    phrased: Sequence[Entry] = ()


@dataclass
class Computation:
    """A computation over a bot's knowledge. `state` is "running", "done" or "failed", `counts` has the numbers by kind.

    `broken` are the outcomes of tests that the change would let fail.
    """

    id: str
    bot_id: str
    kind: str
    draft: PreviewDraft = field(default_factory=PreviewDraft)
    state: str = "running"
    step: str = ""
    done: int = 0
    of: int = 0
    questions: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    changes: list[AnswerChange] = field(default_factory=list)
    broken: list[BotTestOutcome] = field(default_factory=list)
    findings: list[LintFinding] = field(default_factory=list)
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    def report(self, step: str, done: int, of: int) -> None:
        self.step, self.done, self.of = step, done, of

    def take_changes(self, items: list[dict[str, Any]]) -> None:
        """Take the outcome of a comparison."""
        self.broken = [BotTestOutcome(**item) for item in items if "passed" in item]
        changes = [AnswerChange(**item) for item in items if "passed" not in item]
        self.counts = Counter(change.kind for change in changes)
        self.changes = changes[:MOST_SHOWN]


class Computations:
    """The computations of a process, the oldest evicted first."""

    def __init__(self, _: Services) -> None:
        self._kept: dict[str, Computation] = {}
        self._slots = background.WorkPool(MOST_RUNNING, 1)

    def find(self, bot_id: str, computation_id: str) -> Computation | None:
        found = self._kept.get(computation_id)
        return found if found and found.bot_id == bot_id else None

    async def run(self, computation: Computation, work: Work, take: Callable[[list[dict[str, Any]]], None]) -> Computation:
        """Start a computation, whose items `take` gets at its end; wait a moment for it. `work` may be a function that prepares it."""
        self._kept[computation.id] = computation
        while len(self._kept) > MOST_KEPT:
            evicted = self._kept.pop(next(iter(self._kept)))
            if evicted.task:
                evicted.task.cancel()
        computation.task = background.start(f"knowledge {computation.kind}", self._run(computation, work, take))
        await background.wait(computation.finished, _PATIENCE_S)
        return computation

    async def _run(self, computation: Computation, work: Work, take: Callable[[list[dict[str, Any]]], None]) -> None:
        try:
            async with self._slots.slot(), asyncio.timeout(_LONGEST_S):
                take(await knowledge_work.run(await work() if callable(work) else work, computation.report))
            computation.state = "done"
        except (knowledge_work.WorkFailed, TimeoutError) as fault:
            reason = str(fault) or "it took too long"
            log.error("knowledge %s of the bot %s failed: %s", computation.kind, computation.bot_id, reason)
        finally:
            if computation.state != "done":
                computation.state = "failed"
            computation.finished.set()

    async def close(self) -> None:
        """Cancel what runs."""
        await background.cancel(*(one.task for one in self._kept.values()))


async def begin(
    services: Services,
    caller: Caller,
    *,
    bot: str,
    question: str | None = None,
    answer: str = "",
    alt: Sequence[str] = (),
    language: str | None = None,
    entry: str | None = None,
    files: Sequence[dict[str, Any]] | None = None,
) -> Computation:
    """Preview a change: files, a written entry (`question`), or the removal of `entry`. Raises `entry_invalid` and `entry_not_found`."""
    _, chatbot = await bots.resolve(services, caller, bot)
    before = await stored.whole(services.db, chatbot.id)
    if files is not None:
        draft, after = PreviewDraft(files=files), await _with_files(services, chatbot, files)
    else:
        written = None if question is None else knowledge.draft(chatbot, question, answer, alt, language)
        draft, after = await services.offload(lambda: _with_entry(before, written, entry))
    return await compare(services, caller, chatbot, draft, before, after)


async def compare(
    services: Services, caller: Caller, bot: Bot, draft: PreviewDraft, before: Version, after: Version, *, phrasings: bool = True
) -> Computation:
    """Begin to compare two versions of a bot's knowledge by its past questions and, with `phrasings`, those of all entries."""
    past = await knowledge_preview.past_questions(services, caller, bot=bot.id)
    work = await comparison(services, bot, past, before, after, phrasings=phrasings)
    made = Computation(str(uuid.uuid4()), bot.id, "preview", draft, questions=len(past))
    return await services.part(Computations).run(made, work, made.take_changes)


async def comparison(
    services: Services, bot: Bot, past: Sequence[Any], before: Version, after: Version, *, phrasings: bool = True
) -> Mapping[str, Any]:
    """Return the work of comparing two versions of a bot's knowledge."""
    versions = await services.offload(lambda: [knowledge_work.plain(*before), knowledge_work.plain(*after)])
    asked = {"questions": past, "now_ms": services.clock(), "phrasings": phrasings}
    return {"kind": "preview", "bot": _asker(bot), "versions": versions, **asked}


async def _with_files(services: Services, bot: Bot, files: Sequence[dict[str, Any]]) -> Version:
    added = [knowledge.from_file(file) for file in files]
    sources = list(dict.fromkeys(source for file in added for source in file.sources))
    return knowledge.beside(await stored.kept(services.db, bot.id, [file.name for file in added], sources), added)


def _with_entry(before: Version, written: Entry | None, entry_id: str | None) -> tuple[PreviewDraft, Version]:
    if entry_id is None:
        if written is None:
            raise refusals.nothing_to_change()
        return PreviewDraft(entry=written), before._replace(entries=[*before.entries, written])
    found = next((one for one in before.entries if one.id == entry_id), None)
    if found is None:
        raise refusals.entry_not_found(entry=entry_id)
    others = [one for one in before.entries if one.id != entry_id]
    if written is None:
        return PreviewDraft(removed=found), before._replace(entries=others)
    changed = written._replace(id=found.id, source=found.source)
    in_place = [changed if one.id == entry_id else one for one in before.entries]
    return PreviewDraft(entry=changed), before._replace(entries=in_place)


def _asker(bot: Bot) -> dict[str, Any]:
    return bot._replace(instructions=None, description=None)._asdict()


async def show(services: Services, caller: Caller, *, bot: str, preview: str) -> Computation:
    """Show a preview or a check with its progress; raises `preview_not_found`."""
    _, chatbot = await bots.resolve(services, caller, bot)
    found = services.part(Computations).find(chatbot.id, preview)
    if found is None:
        raise refusals.preview_not_found(preview=preview)
    return found


async def lint(services: Services, caller: Caller, *, bot: str) -> Computation:
    """Check a bot's knowledge for weak entries, in the background."""
    _, chatbot = await bots.resolve(services, caller, bot)
    version = await stored.whole(services.db, chatbot.id)
    versions = await services.offload(lambda: [knowledge_work.plain(*version)])
    work = {"kind": "lint", "bot": _asker(chatbot), "versions": versions}
    made = Computation(str(uuid.uuid4()), chatbot.id, "lint")

    def take(items: list[dict[str, Any]]) -> None:
        made.findings = [*business_facts.findings(chatbot, version[0]), *(LintFinding(**item) for item in items)]
        made.counts = Counter(one.kind for one in made.findings)

    return await services.part(Computations).run(made, work, take)
