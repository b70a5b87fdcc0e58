"""Previews of changes to a bot's knowledge, and checks of the knowledge, computed in the background.

A preview lists past questions whose answer would change, appear or disappear, and tests that would fail. The engine is deterministic,
so a preview is exact for a question asked at the start of a conversation. Each distinct question is searched for twice, in the
knowledge before and after the change, in 2 to 3 ms. knowledge_work.py does this in a child process.

A previewed change can then be saved. The results are in memory only, limited in number, and lost when the process ends.
"""

import asyncio
import json
import logging
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from chatsvc import background
from chatsvc.domain import refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.bot_tests import BotTestOutcome
from chatsvc.domain.knowledge_files.parsed import MAX_PHRASING, ReadFile
from chatsvc.domain.knowledge_findings import LintFinding
from chatsvc.domain.models import MAY_SEND, Bot, Entry
from chatsvc.domain.plans import Tier
from chatsvc.domain.websites import Site
from chatsvc.engines import EngineError
from chatsvc.services.accounts import accounts
from chatsvc.services.accounts.account_cache import AccountState
from chatsvc.services.knowledge import bot_tests, knowledge, knowledge_work
from chatsvc.services.services import Services
from chatsvc.store import conversations, unanswered
from chatsvc.store import knowledge as stored
from chatsvc.store.knowledge import Whole

if TYPE_CHECKING:
    from chatsvc.engines.anthropic import AnthropicEngine

log = logging.getLogger(__name__)

KINDS = ("lost", "changed", "gained")  # worst first
MOST_QUESTIONS = 10_000
MOST_KEPT = 32
MOST_RUNNING = 2  # one for each account
MOST_SHOWN = 1_000  # changes that are kept of one preview
_BATCH = 50  # questions between two reports of progress
_LONGEST_S = 3600.0  # of a computation: a very large knowledge with many phrasings takes many minutes
_PATIENCE_S = 3.0  # that the caller waits for a short computation

MOST_PHRASINGS = 10  # of an entry
MOST_ENTRIES = 300  # of a bot that are asked for at a time
_BATCH_ENTRIES = 8  # entries in one question to the model
_MOST_ANSWER = 1_500  # characters of an answer that the model sees
_MAX_TOKENS = 4_000
_SYSTEM = (
    "You help the owner of a small business whose chatbot finds answers by their phrasings. For each numbered entry write up to "
    f"{MOST_PHRASINGS} short ways in which ordinary visitors would ask for what it says: in the language of the entry, as people type in "
    "a chat, some with slang, with other words than the entry, or with a word or two alone. Ask only for what the entry answers. For an "
    "entry with several facts, ask for several of them. No greetings, no names, no numbers of telephones. Answer with a JSON list of lists "
    "of strings alone, one list for each entry, in their order."
)


class PastQuestion(NamedTuple):
    """A question to ask in a preview. Its `origin` is "asked" (in a conversation), "unanswered" or "phrasing" (of an entry)."""

    text: str
    origin: str
    times: int


class AnswerChange(NamedTuple):
    """A question whose answer changes. `before` and `after` are the questions of the entries that answer it; None means no answer."""

    kind: str
    question: str
    origin: str
    times: int
    before: str | None
    after: str | None
    answer_before: str | None = None
    answer_after: str | None = None


def changes(
    bot: Bot,
    before: Whole,
    after: Whole,
    questions: Iterable[PastQuestion],
    progress: knowledge_work.Report,
    *,
    phrasings: bool = True,
    now_ms: int = 0,
) -> tuple[list[AnswerChange], list[BotTestOutcome]]:
    """Compare two versions of a bot's knowledge. Return the changed answers, worst first, and the tests that fail only after.

    `questions` are asked in both versions. If `phrasings` is true, the phrasings of all entries are asked too.
    """
    from chatsvc.engines.knowledge import questions as judged
    from chatsvc.language.folding import words

    if phrasings:
        entries = [*before.entries, *after.entries]
        questions = [*questions, *(PastQuestion(text, "phrasing", 1) for entry in entries for text in (entry.question, *entry.alt))]
    asked: dict[str, PastQuestion] = {}
    for question in questions:  # questions of the same folded words are counted as one
        key = " ".join(words(question.text))
        first = asked.get(key)
        asked[key] = first._replace(times=first.times + (question.origin != "phrasing" and question.times)) if first else question
    progress("indexing", 0, 0)
    indexes = [bot_tests.index_of(bot, *version) for version in (before, after)]
    changed: list[AnswerChange] = []
    for done, question in enumerate(asked.values(), start=1):
        old, new = (judged.entry_for(bot, index, question.text) for index in indexes)
        # An entry of a file that is added again has a new id.
        if (old and (old.answer, old.language)) != (new and (new.answer, new.language)):
            kind = "gained" if old is None else "lost" if new is None else "changed"
            answers = old and old.question, new and new.question, old and old.answer, new and new.answer
            changed.append(AnswerChange(kind, *question, *answers))
        if done % _BATCH == 0 or done == len(asked):
            progress("searching for past questions", done, len(asked))
    runs = [bot_tests.outcomes(bot, index, now_ms) for index in indexes]
    broken = [new for old, new in zip(*runs, strict=True) if old.passed and not new.passed]
    return sorted(changed, key=lambda change: (KINDS.index(change.kind), -change.times)), broken


@dataclass
class Computation:
    """A computation over a bot's knowledge. Its `state` is "running", "done" or "failed"; `counts` has the number of results by kind.

    `questions` is the number of past questions, or of phrasings of the `entries` that are checked. A preview also has its change: an
    entry to write (`entry`), an entry to remove (`removed`), a website, files, or entries with new phrasings (`phrased`). `broken` are
    outcomes of tests that fail after the change.
    """

    bot_id: str
    kind: str
    entry: Entry | None = None
    removed: Entry | None = None
    site: Site | None = None
    files: Sequence[ReadFile] = ()
    phrased: Sequence[Entry] = ()
    state: str = "running"
    step: str = ""
    done: int = 0
    of: int = 0
    questions: int = 0
    entries: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    changes: list[AnswerChange] = field(default_factory=list)
    broken: list[BotTestOutcome] = field(default_factory=list)
    findings: list[LintFinding] = field(default_factory=list)
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def report(self, step: str, done: int, of: int) -> None:
        self.step, self.done, self.of = step, done, of

    def take(self, items: list[dict[str, Any]]) -> None:
        """Store the items that the child process has returned: findings of a check, or the results of a preview."""
        self.counts = Counter(item["kind"] for item in items if "kind" in item)
        if self.kind == "lint":
            self.findings = [LintFinding(**item) for item in items]
        else:
            self.broken = [BotTestOutcome(**item) for item in items if "passed" in item]
            self.changes = [AnswerChange(**item) for item in items if "passed" not in item][:MOST_SHOWN]


# A version of a bot's knowledge, or a function that makes it in the background.
Version = Whole | Callable[[Computation], Awaitable[Whole]]


class Computations:
    """Registry of the computations of this process. The oldest is evicted first. Each account may run one computation at a time."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._kept: dict[str, Computation] = {}
        self._slots = background.WorkPool(MOST_RUNNING, 1)

    def find(self, bot_id: str, computation_id: str) -> Computation | None:
        computation = self._kept.get(computation_id)
        return computation if computation and computation.bot_id == bot_id else None

    async def run(self, bot: Bot, computation: Computation, *versions: Version, **request: object) -> Computation:
        """Start a computation over one or two versions of a bot's knowledge. Wait some seconds for its end, longer if no service runs."""
        self._kept[computation.id] = computation
        while len(self._kept) > MOST_KEPT:
            evicted = self._kept.pop(next(iter(self._kept)))
            if evicted.task:
                evicted.task.cancel()
        request |= {"kind": computation.kind, "bot": bot._replace(instructions=None, description=None)._asdict()}
        computation.task = background.start(f"knowledge {computation.kind}", self._run(bot, computation, versions, request))
        await background.wait(computation.finished, _PATIENCE_S if self._services.node is not None else _LONGEST_S)
        return computation

    async def _run(self, bot: Bot, computation: Computation, versions: Sequence[Version], request: Mapping[str, Any]) -> None:
        state = "failed"
        try:
            async with self._slots.slot(bot.account_id), asyncio.timeout(_LONGEST_S):
                wholes = [await version(computation) if callable(version) else version for version in versions]
                computation.take(await knowledge_work.run({**request, "versions": wholes}, computation.report))
            state = "done"
        except (knowledge_work.WorkFailed, TimeoutError) as fault:
            log.error("knowledge %s of the bot %s failed: %s", computation.kind, bot.id, str(fault) or "it took too long")
        finally:
            computation.state = state
            computation.finished.set()

    async def close(self) -> None:
        await background.cancel(*(computation.task for computation in self._kept.values()))


async def begin(
    services: Services,
    _: Caller,
    *,
    bot: Bot,
    question: str | None = None,
    answer: str = "",
    alt: Sequence[str] = (),
    language: str | None = None,
    entry: str | None = None,
    files: Sequence[ReadFile] | None = None,
) -> Computation:
    """Begin to preview a change: added `files`, a written entry (`question`), or the removal of `entry`.

    Raises `entry_invalid`, `entry_not_found` and `nothing_to_change`.
    """
    before = await stored.whole(services.db, bot.id)
    if files is not None:
        added = await services.offload(lambda: [knowledge.from_file(file) for file in files])
        return await compare(services, bot, before, await stored.with_files(services.db, bot.id, added), files=files)
    written = None if question is None else knowledge.draft(bot, question, answer, alt, language)
    entries = {present.id: present for present in before.entries}
    present = entries.pop(entry, None) if entry is not None and written is None else entries.get(entry or "")
    if entry is not None and present is None:
        raise refusals.entry_not_found(entry=entry)
    if written is None and present is None:
        raise refusals.nothing_to_change()
    if written is not None:
        written = written._replace(id=present.id, source=present.source) if present else written
        entries[written.id] = written
    after = before._replace(entries=list(entries.values()))
    return await compare(services, bot, before, after, entry=written, removed=None if written else present)


async def compare(services: Services, bot: Bot, before: Whole, after: Version, *, phrasings: bool = True, **draft: Any) -> Computation:
    """Begin to compare two versions of a bot's knowledge by past questions. If `phrasings` is true, compare by entries' phrasings too."""
    asked = await conversations.questions(services.db, bot.id, MOST_QUESTIONS)
    misses = await unanswered.most_frequent(services.db, bot.account_id, MOST_QUESTIONS, bot_id=bot.id)
    past = [PastQuestion(text, "asked", times) for text, times in asked]
    past = [*past, *(PastQuestion(miss.question, "unanswered", miss.times) for miss in misses)][:MOST_QUESTIONS]
    computation = Computation(bot.id, "preview", questions=len(past), **draft)
    request = {"questions": past, "phrasings": phrasings, "now_ms": services.clock()}
    return await services.part(Computations).run(bot, computation, before, after, **request)


async def show(services: Services, _: Caller, *, bot: Bot, preview: str) -> Computation:
    """Show a preview or a check with its progress; raises `preview_not_found`."""
    computation = services.part(Computations).find(bot.id, preview)
    if computation is None:
        raise refusals.preview_not_found(preview=preview)
    return computation


async def lint(services: Services, _: Caller, *, bot: Bot, everything: bool = False) -> Computation:
    """Check a bot's knowledge for weak entries in the background. If `everything` is true, every phrasing is searched for, not a sample."""
    whole = await stored.whole(services.db, bot.id)
    phrasings = sum(1 + len(entry.alt) for entry in whole.entries)
    computation = Computation(bot.id, "lint", entries=len(whole.entries), questions=phrasings)
    return await services.part(Computations).run(bot, computation, whole, everything=everything)


class Phrased(NamedTuple):
    """The number of entries of a bot that got new phrasings, and the number of new phrasings."""

    bot: str
    entries: int
    phrasings: int


async def phrase(services: Services, caller: Caller, *, bot: Bot, tier: str | None = None) -> Computation:
    """Let a model write phrasings for a bot's entries in the background. The operation `knowledge.preview_show` shows the result.

    Without `tier` the bot's own tier is used if it has a model, otherwise the first tier with a model. Raises `tier_unknown`,
    `model_missing`, and `trial_account_inactive` if the account may not send messages.
    """
    state = await accounts.resolve(services, caller, bot.account_id)
    chosen = _tier(services, bot, tier)
    if state.account.subscription_status not in MAY_SEND:
        raise refusals.trial_account_inactive(status=state.account.subscription_status)
    before = await stored.whole(services.db, bot.id)

    async def after(computation: Computation) -> Whole:
        computation.phrased = await _written(services, state, bot, chosen, before.entries[:MOST_ENTRIES], computation)
        changed = {entry.id: entry for entry in computation.phrased}
        return before._replace(entries=[changed.get(entry.id, entry) for entry in before.entries])

    return await compare(services, bot, before, after)


async def apply_phrasings(services: Services, caller: Caller, *, bot: Bot, preview: str) -> Phrased:
    """Add the phrasings that a model has written to the entries that still exist; raises `preview_not_found`."""
    computation = await show(services, caller, bot=bot, preview=preview)
    known = {entry.id: len(entry.alt) for entry in await stored.entries(services.db, bot.id)}
    written = [entry for entry in computation.phrased if entry.id in known]
    changed = [await knowledge.add_phrasings(services, caller, bot, entry.id, entry.alt) for entry in written]
    return Phrased(bot.id, len(changed), sum(len(entry.alt) - known[entry.id] for entry in changed))


def _tier(services: Services, bot: Bot, name: str | None) -> Tier:
    tiers = services.config.models
    if name is not None and name not in tiers:
        raise refusals.tier_unknown(tier=name, tiers=sorted(tiers))
    for tier in [tiers[name]] if name is not None else [*filter(None, [tiers.get(bot.model)]), *tiers.values()]:
        if tier.engine != "knowledge" and tier.engine in services.engines:
            return tier
    raise refusals.model_missing()


async def _written(
    services: Services, state: AccountState, bot: Bot, tier: Tier, entries: Sequence[Entry], computation: Computation
) -> list[Entry]:
    """Ask the model for phrasings of all entries, and count the cost. A batch that fails is left out."""
    engine, phrased = cast("AnthropicEngine", services.engines[tier.engine]), list[Entry]()
    for start in range(0, len(entries), _BATCH_ENTRIES):
        computation.report("asking the model", start, len(entries))
        batch = entries[start : start + _BATCH_ENTRIES]
        question = "\n\n".join(
            f"{number}. [{entry.language}] {' / '.join((entry.question, *entry.alt[:MOST_PHRASINGS]))}\n{entry.answer[:_MOST_ANSWER]}"
            for number, entry in enumerate(batch, start=1)
        )
        try:
            text, usage = await engine.complete(tier.model, _SYSTEM, question, _MAX_TOKENS)
        except EngineError as fault:
            log.warning("bot %s: a model wrote no phrasings: %s", bot.id, fault)
            continue
        await accounts.count_trial(services, state.account, bot.id, tier, usage, services.clock())
        phrased += [new for entry, written in zip(batch, _lists(text), strict=False) if (new := _with(entry, written)).alt != entry.alt]
    return phrased


def _lists(text: str) -> list[Any]:
    begin, end = text.find("["), text.rfind("]")
    try:
        return json.loads(text[begin : end + 1]) if 0 <= begin < end else []
    except (ValueError, RecursionError):
        return []


def _with(entry: Entry, written: Any) -> Entry:
    from chatsvc.language.folding import words

    known, new = {tuple(words(phrasing)) for phrasing in (entry.question, *entry.alt)}, list[str]()
    for text in (" ".join(phrasing.split()) for phrasing in (written if isinstance(written, list) else ()) if isinstance(phrasing, str)):
        folded = tuple(words(text))
        if folded and folded not in known and len(text) <= MAX_PHRASING and text.isprintable() and len(new) < MOST_PHRASINGS:
            known.add(folded)
            new.append(text)
    return entry._replace(alt=(*entry.alt, *new))
