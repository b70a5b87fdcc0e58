"""Compares answers to past questions before and after a change to a bot's knowledge.

It finds questions that would get another answer, gain one or lose theirs, and tests that would fail.
services/knowledge/previews.py runs it in the background.

The engine is deterministic, so the preview is exact for a question asked at the start of a conversation. Each distinct question is
searched for twice, in the knowledge before and after the change: 2 to 3 ms.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from chatsvc.domain.actors import Caller
from chatsvc.domain.bot_tests import BotTestOutcome
from chatsvc.domain.models import Bot, Entry
from chatsvc.services.accounts import bots
from chatsvc.services.knowledge import bot_test_runs
from chatsvc.services.services import Services
from chatsvc.store import knowledge, transcripts
from chatsvc.store import unanswered as stored
from chatsvc.store.knowledge import Whole

KINDS = ("lost", "changed", "gained")  # worst first
MOST_QUESTIONS = 10_000
_BATCH = 50  # questions between two reports of progress

KnowledgeContent = Whole
Progress = Callable[[str, int, int], None]


class PastQuestion(NamedTuple):
    """A visitor's question. From a conversation ("asked"), from those without an answer ("unanswered"), or a phrasing of an entry."""

    text: str
    origin: str
    times: int


class AnswerChange(NamedTuple):
    """A question whose answer changes. `before` and `after` are questions of the answering entries, None without an answer."""

    kind: str
    question: str
    origin: str
    times: int
    before: str | None
    after: str | None
    answer_before: str | None = None
    answer_after: str | None = None


async def past_questions(services: Services, caller: Caller, *, bot: str, limit: int = MOST_QUESTIONS) -> list[PastQuestion]:
    """List visitors' questions to a bot, the newest first, and those without an answer."""
    _, chatbot = await bots.resolve(services, caller, bot)
    misses = await stored.most_asked(services.db, chatbot.id, limit)
    unanswered = [PastQuestion(miss.question, "unanswered", miss.times) for miss in misses]
    asked = [PastQuestion(text, "asked", times) for text, times in await transcripts.questions(services.db, chatbot.id, limit)]
    return [*asked, *unanswered][:limit]


async def kept(services: Services, caller: Caller, *, bot: str, files: Sequence[str], sources: Sequence[str]) -> KnowledgeContent:
    """Read the knowledge that a bot would keep when these files are added."""
    _, chatbot = await bots.resolve(services, caller, bot)
    return await knowledge.kept(services.db, chatbot.id, files, sources)


def changes(
    bot: Bot,
    before: KnowledgeContent,
    after: KnowledgeContent,
    questions: Iterable[PastQuestion],
    progress: Progress,
    *,
    phrasings: bool = True,
) -> list[AnswerChange]:
    """Compare two versions of a bot's knowledge by their answers; worst first. Past questions are asked, and `phrasings` of all entries."""
    from chatsvc.engines.knowledge import questions as judged
    from chatsvc.engines.knowledge.search.index import KnowledgeIndex

    asked = _distinct([*questions, *(_phrasings(before) + _phrasings(after) if phrasings else ())])
    if not asked:
        return []
    progress("indexing", 0, 0)
    groups = [[group.words for group in one.synonyms] for one in (before, after)]
    indexes = [KnowledgeIndex(one.entries, bot.language, own) for one, own in zip((before, after), groups, strict=True)]

    found: list[AnswerChange] = []
    for done, one in enumerate(asked, start=1):
        old, new = (judged.entry_for(bot, index, one.text) for index in indexes)
        if _content(old) != _content(new):
            kind = "gained" if old is None else "lost" if new is None else "changed"
            questions_of, answers_of = (old and old.question, new and new.question), (old and old.answer, new and new.answer)
            found.append(AnswerChange(kind, one.text, one.origin, one.times, *questions_of, *answers_of))
        if done % _BATCH == 0 or done == len(asked):
            progress("searching for past questions", done, len(asked))
    return sorted(found, key=lambda change: (KINDS.index(change.kind), -change.times))


def broken_tests(bot: Bot, before: KnowledgeContent, after: KnowledgeContent, now_ms: int) -> list[BotTestOutcome]:
    """Return the outcomes of tests that pass before a change and fail after it."""
    tests = bot_test_runs.tests_of(bot)
    if not tests:
        return []
    runs = [bot_test_runs.outcomes(bot, bot_test_runs.index_of(bot, *version), tests, now_ms) for version in (before, after)]
    return [new for old, new in zip(*runs, strict=True) if old.passed and not new.passed]


def _phrasings(version: KnowledgeContent) -> list[PastQuestion]:
    return [PastQuestion(text, "phrasing", 1) for entry in version.entries for text in (entry.question, *entry.alt)]


def _distinct(questions: Iterable[PastQuestion]) -> list[PastQuestion]:
    """Merge questions of the same folded words, adding up how often they were asked."""
    from chatsvc.language.folding import words

    merged: dict[str, PastQuestion] = {}
    for one in questions:
        key = " ".join(words(one.text))
        first = merged.get(key)
        merged[key] = one if first is None else first._replace(times=first.times + (one.times if one.origin != "phrasing" else 0))
    return list(merged.values())


def _content(entry: Entry | None) -> tuple[str, str] | None:
    """Return what identifies an answer. An entry of a file that is added again has a new id."""
    return (entry.answer, entry.language) if entry else None
