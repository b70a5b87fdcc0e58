"""Runs of a bot's tests against its knowledge.

The knowledge engine replies, whatever the bot's model: its replies cost nothing and are the same each time. Nothing is stored of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from chatsvc import background
from chatsvc.domain import bot_tests, profiles
from chatsvc.domain.bot_tests import BotTest, BotTestOutcome, GivenReply
from chatsvc.domain.models import Bot, Entry, Synonyms
from chatsvc.engines import EngineError, Turn

if TYPE_CHECKING:
    from chatsvc.engines import Engine, Knowledge

CHANNEL = "web"
_TIMEOUT_S = 30.0


def tests_of(bot: Bot) -> tuple[BotTest, ...]:
    return profiles.load(bot.profile).tests


def index_of(bot: Bot, entries: Sequence[Entry], synonyms: Sequence[Synonyms]) -> Knowledge:
    from chatsvc.engines.knowledge.search.index import KnowledgeIndex

    return KnowledgeIndex(entries, bot.language, [group.words for group in synonyms])


def outcomes(bot: Bot, index: Knowledge, tests: Sequence[BotTest], now_ms: int) -> list[BotTestOutcome]:
    """Ask each question as a visitor's first message, and judge the reply. It takes some milliseconds a test; call it in a thread."""
    from chatsvc.engines.knowledge.engine import KnowledgeEngine

    async def run() -> list[BotTestOutcome]:
        engine, judged = KnowledgeEngine(), []
        for test in tests:
            background.proceed()
            judged.append(bot_tests.judge(test, await _reply(engine, bot, index, test, now_ms)))
        return judged

    return asyncio.run(run())


async def _reply(engine: Engine, bot: Bot, index: Knowledge, test: BotTest, now_ms: int) -> GivenReply:
    turn = Turn(
        bot=bot,
        channel=CHANNEL,
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
        return GivenReply(fault.fallback, "abstain", round(index.search(test.ask, test.language).confidence, 4))
    if reply.evidence is None:
        return GivenReply(reply.text, None, None)
    decision, confidence = reply.evidence.decision, reply.evidence.confidence
    first = reply.evidence.entries[0][0] if reply.evidence.entries and decision != "abstain" else None
    entry = next((one for one in index.entries if one.id == first), None)
    return GivenReply(reply.text, decision, confidence, entry.question if entry else None, first)
