"""Retention in a running service: expired records are deleted, the others and the counts stay."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from chatsvc import workers
from chatsvc.config import Config
from chatsvc.config.model import Retention
from chatsvc.store import erasure
from chatsvc.store import erasure as stored
from tests.api.support import execute, insert_usage
from tests.conftest import Caller
from tests.fakes import START, FakeClock, ScriptedEngine
from tests.webhooks.support import BOTH, SAID, captures, hook

pytestmark = pytest.mark.postgres

DAY_S = 86_400


@pytest.fixture
def config(config: Config) -> Config:
    """The configuration with days for everything."""
    return replace(config, retention=Retention(conversations_days=30, webhooks_days=10, usage_days=90))


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that every test needs several."""
    monkeypatch.setattr(erasure, "BATCH", 3)
    monkeypatch.setattr(stored, "BATCH", 3)
    monkeypatch.setattr(workers, "BETWEEN_BATCHES_S", 0.0)


async def counts(caller: Caller, *tables: str) -> list[Any]:
    return [(await execute(caller.app, f"SELECT count(*) FROM {table}"))[0][0] for table in tables]  # noqa: S608


async def test_a_conversation_goes_with_all_that_hangs_on_it_once_its_last_message_is_old(
    caller: Caller, engine: ScriptedEngine, clock: FakeClock
) -> None:
    await hook(caller, None, *BOTH)
    captures(engine)
    for visitor in ("old", "old", "older", "young"):
        await caller.send(SAID, visitor, headers={"Idempotency-Key": f"{visitor}-{len(engine.turns)}"})
    clock.advance(29 * DAY_S)
    await caller.send(SAID, "young")
    assert len((await caller.get("/conversations")).json["data"]) == 3
    clock.advance(DAY_S + 1)
    await workers.delete_old(caller.app.services)
    listed = (await caller.get("/conversations")).json
    assert ([conversation["user_id"] for conversation in listed["data"]], listed["pagination"]["total"]) == (["young"], 1)
    assert await counts(caller, "messages", "requests", "appointments", "idempotency_keys") == [4, 2, 1, 0]
    # The young visitor's first request was told of too long ago, and its second has no appointment: that day has passed.
    assert await counts(caller, "webhook_events") == [1]
    assert (await caller.get("/analytics")).json["data"]["chatbots"][0]["messages_used_total"] == 5
    await caller.send("hello again", "old")
    assert engine.turns[-1].history == []


async def test_an_event_goes_with_its_attempts_unless_it_was_sent_again_lately_or_is_still_to_be_sent(
    caller: Caller, engine: ScriptedEngine, clock: FakeClock
) -> None:
    await hook(caller, None, "request.created")
    captures(engine)
    for i in range(8):
        await caller.send(SAID, f"v{i}")
    numbers = [row[0] for row in await execute(caller.app, "SELECT number FROM webhook_events ORDER BY number")]
    for number, at, success in (
        (numbers[0], START, 1),
        (numbers[1], START, 0),
        (numbers[1], START + 10 * DAY_S * 1000, 1),
        (numbers[2], START, None),
    ):
        await execute(
            caller.app,
            "INSERT INTO webhook_attempts (id, event_number, bot_id, delivery_id, body, at, success)"
            " VALUES (:5, :1, :2, 'd', x'00', :3, :4)",
            *(number, caller.bot, at, success, f"{number} {at}"),
        )
    await execute(caller.app, "UPDATE webhook_events SET state = 0 WHERE number = :1", numbers[3])
    clock.advance(10 * DAY_S + 1)
    await workers.delete_old(caller.app.services)
    assert [row[0] for row in await execute(caller.app, "SELECT number FROM webhook_events ORDER BY number")] == numbers[1:4]
    assert await counts(caller, "webhook_attempts", "requests") == [3, 8]


async def test_usage_that_can_be_asked_for_stays(caller: Caller, clock: FakeClock) -> None:
    await insert_usage(caller.app, caller, [(START - days * DAY_S * 1000, 1, 1) for days in range(100)])
    before = (await caller.get("/analytics?days=90")).json["data"]
    await workers.delete_old(caller.app.services)
    assert (await caller.get("/analytics?days=90")).json["data"] == before
    assert await counts(caller, "usage_records") == [91]


async def test_messages_are_answered_while_much_is_deleted(caller: Caller, clock: FakeClock) -> None:
    for i in range(40):
        await caller.send("hello", f"v{i}")
    clock.advance(31 * DAY_S)
    deleting = asyncio.create_task(workers.delete_old(caller.app.services))
    for i in range(10):
        assert (await caller.send("hello", f"v{i}")).status == 200
    await deleting
    # Of those who wrote in time what they had said before is there, whole or in part; their counts are right.
    assert await execute(
        caller.app, "SELECT count(*), sum(message_count) = (SELECT count(*) FROM messages), min(message_count) >= 2 FROM conversations"
    ) == [(10, 1, 1)]
    assert await execute(caller.app, "SELECT conversations FROM conversation_counts") == [(10,)]


async def test_without_days_nothing_is_deleted(caller: Caller, clock: FakeClock) -> None:
    await caller.send("hello", "v")
    caller.app.services.config = replace(caller.app.services.config, retention=Retention(None, None, None))
    clock.advance(10_000 * DAY_S)
    await workers.delete_old(caller.app.services)
    assert await counts(caller, "messages", "usage_records") == [2, 1]
