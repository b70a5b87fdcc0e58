"""Tests of a bot: run them, add and remove them, and list the latest runs."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from chatsvc.domain import refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.bot_tests import BotTest, BotTestOutcome, BotTestRun
from chatsvc.domain.models import Bot
from chatsvc.services.accounts import bot_files, bots
from chatsvc.services.knowledge.bot_test_runs import outcomes, tests_of
from chatsvc.services.services import Services
from chatsvc.store import bots as stored


async def run(services: Services, caller: Caller, *, bot: str, keep: bool = False) -> list[BotTestOutcome]:
    """Run a bot's tests. With `keep` the run is added to the bot's latest runs; nothing else is stored."""
    _, chatbot = await bots.resolve(services, caller, bot)
    index = await services.knowledge.of(chatbot)
    found = await services.offload(lambda: outcomes(chatbot, index, tests_of(chatbot), services.clock()))
    if keep and found:
        failed = [one.ask for one in found if not one.passed]
        by = caller.actor.name or caller.actor.id
        await stored.add_run(services.db, chatbot.id, BotTestRun(services.clock(), by, len(found), len(failed), failed))
    return found


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
    return await _put(services, caller, chatbot, [*(one.values() for one in tests_of(chatbot)), given])


async def remove(services: Services, caller: Caller, *, bot: str, test: str) -> Bot:
    """Remove a test by its id; raises `test_not_found`."""
    _, chatbot = await bots.resolve(services, caller, bot)
    kept = [one.values() for one in tests_of(chatbot) if one.id != test]
    if len(kept) == len(tests_of(chatbot)):
        raise refusals.test_not_found(test=test)
    return await _put(services, caller, chatbot, kept)


async def _put(services: Services, caller: Caller, bot: Bot, tests: list[dict[str, object]]) -> Bot:
    return await bot_files.change(services, caller, bot=bot.id, tests=tests)
