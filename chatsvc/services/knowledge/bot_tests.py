"""Tests of a bot: run them, add and remove them, and list the latest runs.

The knowledge engine replies, whatever the bot's model: its replies cost nothing and are the same each time. Nothing is stored of them.
"""

from __future__ import annotations

import asyncio
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

_TIMEOUT_S = 30.0


def tests_of(bot: Bot) -> tuple[BotTest, ...]:
    return profiles.load(bot.profile).tests


def index_of(bot: Bot, entries: Sequence[Entry], synonyms: Sequence[Synonyms]) -> Knowledge:
    from chatsvc.engines.knowledge.search.index import KnowledgeIndex

    return KnowledgeIndex(entries, bot.language, [group.words for group in synonyms])


def outcomes(bot: Bot, index: Knowledge, tests: Sequence[BotTest], now_ms: int) -> list[BotTestOutcome]:
    """Ask each question as a visitor's first message, and judge the reply. It takes some milliseconds a test; call it in a thread."""
    from chatsvc.engines.knowledge import KnowledgeEngine

    async def outcome_of(test: BotTest) -> BotTestOutcome:
        background.proceed()
        turn = Turn(
            bot=bot,
            channel="web",
            message=test.ask,
            history=(),
            language=test.language,
            knowledge=index,
            model="",
            timeout_s=_TIMEOUT_S,
            now_ms=now_ms,
            may_capture=True,
        )
        try:
            reply = await engine.reply(turn)
        except EngineError as fault:
            return bot_tests.judge(test, fault.fallback, "abstain", round(index.search(test.ask, test.language).confidence, 4))
        if reply.evidence is None:
            return bot_tests.judge(test, reply.text)
        decision, confidence = reply.evidence.decision, reply.evidence.confidence
        first = reply.evidence.entries[0][0] if reply.evidence.entries and decision != "abstain" else ""
        question = next((entry.question for entry in index.entries if entry.id == first), None)
        return bot_tests.judge(test, reply.text, decision, confidence, question, first)

    async def run_all() -> list[BotTestOutcome]:
        return [await outcome_of(test) for test in tests]

    engine = KnowledgeEngine()
    return asyncio.run(run_all())


async def run(services: Services, caller: Caller, *, bot: str, keep: bool = False) -> list[BotTestOutcome]:
    """Run a bot's tests. With `keep` the run is added to the bot's latest runs; nothing else is stored."""
    _, chatbot = await bots.resolve(services, caller, bot)
    index = await services.knowledge.of(chatbot)
    results = await services.offload(lambda: outcomes(chatbot, index, tests_of(chatbot), services.clock()))
    if keep and results:
        failed = [outcome.ask for outcome in results if not outcome.passed]
        by = caller.actor.name or caller.actor.id
        await stored.add_run(services.db, chatbot.id, BotTestRun(services.clock(), by, len(results), len(failed), failed))
    return results


class ShownTests(NamedTuple):
    """A bot with its tests and its latest runs, newest first."""

    bot: Bot
    tests: Sequence[BotTest]
    runs: Sequence[BotTestRun]


async def show(services: Services, caller: Caller, *, bot: str) -> ShownTests:
    """Show a bot's tests and its latest runs."""
    _, chatbot = await bots.resolve(services, caller, bot)
    return ShownTests(chatbot, tests_of(chatbot), await stored.latest_runs(services.db, chatbot.id))


async def add(services: Services, caller: Caller, *, bot: str, **given: Any) -> Bot:
    """Add a test with the fields of a bot's file. Raises `bot_settings_invalid` with all faults."""
    _, chatbot = await bots.resolve(services, caller, bot)
    tests = [*(test.values() for test in tests_of(chatbot)), given]
    return await bot_files.change(services, caller, bot=chatbot.id, tests=tests)


async def remove(services: Services, caller: Caller, *, bot: str, test: str) -> Bot:
    """Remove a test by its id; raises `test_not_found`."""
    _, chatbot = await bots.resolve(services, caller, bot)
    left = [other.values() for other in tests_of(chatbot) if other.id != test]
    if len(left) == len(tests_of(chatbot)):
        raise refusals.test_not_found(test=test)
    return await bot_files.change(services, caller, bot=chatbot.id, tests=left)
