"""Tests of a bot: run them, add and remove them, and list the latest runs.

The tests run with the knowledge engine, whatever model the bot has: its replies cost nothing and are always the same. They are not stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from chatsvc import background
from chatsvc.domain import bot_tests, profiles, refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.bot_tests import BotTest, BotTestOutcome, BotTestRun
from chatsvc.domain.models import Bot, Entry, Synonyms
from chatsvc.engines import EngineError, Turn
from chatsvc.services.accounts import bot_files, bots
from chatsvc.services.services import Services
from chatsvc.store import bots as stored

if TYPE_CHECKING:
    from chatsvc.engines import Knowledge


def tests_of(bot: Bot) -> tuple[BotTest, ...]:
    return profiles.load(bot.profile).tests


def index_of(bot: Bot, entries: Sequence[Entry], synonyms: Sequence[Synonyms]) -> Knowledge:
    from chatsvc.engines.knowledge.search.index import KnowledgeIndex

    return KnowledgeIndex(entries, bot.language, [group.words for group in synonyms])


def outcomes(bot: Bot, index: Knowledge, now_ms: int) -> list[BotTestOutcome]:
    """Ask the question of each test as a visitor's first message, and judge the reply. Each test takes some milliseconds."""
    from chatsvc.engines.knowledge import dialogue

    results = []
    for test in tests_of(bot):
        background.proceed()
        turn = Turn(
            bot=bot,
            channel="web",
            message=test.ask,
            history=(),
            language=test.language,
            knowledge=index,
            now_ms=now_ms,
            may_capture=True,
        )
        try:
            reply = dialogue.reply(turn)
        except EngineError as fault:
            confidence = round(index.search(test.ask, test.language).confidence, 4)
            results.append(bot_tests.judge(test, fault.fallback, "abstain", confidence))
            continue
        if (evidence := reply.evidence) is None:
            results.append(bot_tests.judge(test, reply.text))
            continue
        first = evidence.entries[0][0] if evidence.entries and evidence.decision != "abstain" else ""
        question = next((entry.question for entry in index.entries if entry.id == first), None)
        results.append(bot_tests.judge(test, reply.text, evidence.decision, evidence.confidence, question, first))
    return results


async def run(services: Services, caller: Caller, *, bot: Bot, keep: bool = False) -> list[BotTestOutcome]:
    """Run a bot's tests and return their outcomes. If `keep` is true, add the counts of the run to the bot's latest runs."""
    index = await services.knowledge.of(bot)
    results = await services.offload(lambda: outcomes(bot, index, services.clock()))
    if keep and results:
        failed = [outcome.ask for outcome in results if not outcome.passed]
        by = caller.actor.name or caller.actor.id
        await stored.add_run(services.db, bot.id, BotTestRun(services.clock(), by, len(results), len(failed), failed))
    return results


class ShownTests(NamedTuple):
    """A bot with its tests and its latest runs, newest first."""

    bot: Bot
    tests: Sequence[BotTest]
    runs: Sequence[BotTestRun]


async def show(services: Services, _: Caller, *, bot: Bot) -> ShownTests:
    """Show a bot's tests and its latest runs."""
    return ShownTests(bot, tests_of(bot), await stored.latest_runs(services.db, bot.id))


async def add(services: Services, _: Caller, *, bot: Bot, **given: Any) -> Bot:
    """Add a test to a bot. `given` has the fields of a test in a bot's file. Raises `bot_settings_invalid` with all faults."""

    def changes(current: Bot) -> dict[str, Any]:
        return bot_files.changes_of(services, current, tests=[*(test.values() for test in tests_of(current)), given])

    return await bots.update(services, bot, changes)


async def remove(services: Services, _: Caller, *, bot: Bot, test: str) -> Bot:
    """Remove a test by its id; raises `test_not_found`."""

    def changes(current: Bot) -> dict[str, Any]:
        tests = tests_of(current)
        left = [other.values() for other in tests if other.id != test]
        if len(left) == len(tests):
            raise refusals.test_not_found(test=test)
        return bot_files.changes_of(services, current, tests=left)

    return await bots.update(services, bot, changes)
