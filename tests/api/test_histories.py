"""Every turn is given the history of its conversation as the store has it."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from chatsvc.config import Config
from chatsvc.config.model import Retention
from chatsvc.domain.captures import APPOINTMENT_STATUSES, REQUEST_STATUSES, Captured
from chatsvc.domain.models import Usage
from chatsvc.engines import EngineError, Reply, Turn
from chatsvc.services.conversations import appointments, captures, erasure
from chatsvc.services.messages import messages as turns_module
from chatsvc.services.operations import retention
from chatsvc.store import conversations
from tests.conftest import Caller
from tests.fakes import ADMIN, FakeClock, ScriptedEngine

DAY_S = 86_400


@pytest.fixture
def config(config: Config) -> Config:
    """The configuration with a retention of three days."""
    return replace(config, retention=Retention(conversations_days=3, webhooks_days=None, usage_days=None))


async def stored(caller: Caller, visitor: str, clock: FakeClock) -> conversations.ConversationHistory:
    """The past of a conversation as the store has it."""
    app = caller.app
    held = await app.services.account_cache.account(caller.account)
    assert held
    since = captures.start_of_day(held.bots[caller.bot], clock.now)
    return await conversations.history(app.services.db, (caller.bot, "api", visitor), turns_module.HISTORY_MESSAGES, since)


async def set_statuses(caller: Caller, chance: random.Random) -> None:
    """Set the status of every record of the bot, as its team would."""
    services = caller.app.services
    for item in (await captures.list_appointments(services, ADMIN, bot=caller.bot)).items:
        assert item.appointment
        await appointments.set_appointment(
            services, ADMIN, appointment=item.appointment.id, tell="off", status=chance.choice(APPOINTMENT_STATUSES)
        )
    for item in (await captures.list_requests(services, ADMIN, bot=caller.bot)).items:
        await appointments.set_request(services, ADMIN, request=item.request.id, status=chance.choice(REQUEST_STATUSES))


@pytest.mark.parametrize("seed", range(2))
async def test_every_answer_is_given_what_the_store_would_give(
    seed: int, caller: Caller, engine: ScriptedEngine, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns_module, "HISTORY_MESSAGES", 6)
    monkeypatch.setattr(turns_module, "MOST_A_DAY", 2)
    chance, services = random.Random(seed), caller.app.services
    visitors, seen = [f"v{number}" for number in range(5)], set[tuple[str, str]]()

    def script(turn: Turn) -> Reply:
        match chance.randrange(6):
            case 0:
                raise EngineError("overloaded")
            case 1:
                start = datetime.fromtimestamp(clock.now / 1000, UTC) + timedelta(days=3)
                captured = Captured("contact", turn.message, date=start.date(), time=start.time() if chance.random() < 0.5 else None)
                return Reply("noted", Usage(1, 1), captured, str(chance.random()))
            case _:
                return Reply(f"echo {chance.random()}", Usage(1, 1), None, chance.choice((None, "note")))

    engine.script = script
    for step in range(120):
        visitor = chance.choice(visitors)
        match chance.randrange(15):
            case 0:
                await erasure.erase(services, ADMIN, user_id=visitor)
            case 1:
                clock.advance(DAY_S * chance.random() * 2)
                await retention.once(services)
            case 2:
                await set_statuses(caller, chance)
            case _:
                expected, turns = await stored(caller, visitor, clock), len(engine.turns)
                headers = {"Idempotency-Key": str(chance.randrange(20))} if chance.random() < 0.2 else {}
                answer = await caller.send(f"message {step}", visitor, headers=headers)
                assert answer.status in (200, 502) or (answer.status == 400 and headers)
                for turn in engine.turns[turns:]:
                    assert (turn.history, turn.dialogue) == (expected.messages, expected.dialogue)
                    assert turn.may_capture == (expected.captured < 2)
                    assert turn.captured == expected.records
                    seen |= {(record.kind, record.status) for record in turn.captured}
    assert {kind for kind, _ in seen} == {"appointment", "request"}
    assert len(seen) > 2, "a status that the team set is seen by the next turn"


async def test_words_without_an_answer_are_context_of_the_next_turn_until_one_is_answered_or_the_visitor_is_erased(
    caller: Caller, engine: ScriptedEngine
) -> None:
    def silent(_: Turn) -> Reply:
        raise EngineError("no_answer")

    def answers(turn: Turn) -> Reply:
        return Reply(" | ".join(said.content for said in turn.history) or "nothing", Usage(1, 1))

    async def say(*words: str) -> None:
        engine.script = silent
        for said in words:
            assert (await caller.send(said, "v")).status == 502

    async def ask() -> str:
        engine.script = answers
        return str((await caller.send("so?", "v")).json["data"]["reply"])

    await say("one", "one", "two")
    assert await ask() == "one | two"
    assert await ask() == "so? | one | two"
    await say("three")
    await erasure.erase(caller.app.services, ADMIN, user_id="v")
    assert await ask() == "nothing"
