"""Faults of the wall clock: back, over the end of a month, far ahead, and back."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from chatsvc.config import Config
from chatsvc.domain.limiter import Limiter
from chatsvc.services.accounts import accounts, keys, webhooks
from tests.api.support import LIMIT, REMAINING, RESET
from tests.conftest import Answer, Caller
from tests.crash.books import disagreements
from tests.fakes import ADMIN, START, FakeClock, ScriptedEngine
from tests.faults.support import told
from tests.webhooks.receiver import Receiver
from tests.webhooks.support import CALL_ME, SAID, captures, settled

MINUTE, HOUR, DAY = 60, 3600, 86_400
A_MINUTE = 5
"""Requests of a key in a minute, in the test of the limiter."""

JUMPS: dict[str, list[float]] = {
    "an hour back": [-HOUR],
    "a second back": [-1],
    "over the end of the month and back": [10 * DAY, -10 * DAY],
    "over the end of the month, back and over it again": [10 * DAY, -10 * DAY, 12 * DAY],
    "years ahead and back": [3650 * DAY, -3650 * DAY],
    "to the beginning of time and back": [-(START / 1000), START / 1000],
    "back and forth": [HOUR, -2 * HOUR, DAY, -DAY, MINUTE, -MINUTE],
}
jumps = pytest.mark.parametrize("name", JUMPS)


def is_sane(answer: Answer) -> None:
    """No fault of ours, and no negative number anywhere."""
    assert answer.status in {200, 402, 429}, answer.json
    assert 0 <= int(answer.headers[REMAINING]) <= int(answer.headers[LIMIT])
    assert int(answer.headers[RESET]) >= 0

    def walk(value: Any) -> None:
        if isinstance(value, dict | list):
            for inner in value.values() if isinstance(value, dict) else value:
                walk(inner)
        elif isinstance(value, int | float):
            assert value >= 0, answer.json

    walk(answer.json)


async def everything(caller: Caller, name: str) -> list[Answer]:
    """One request of each kind; the message's answer comes first."""
    answers = [await caller.send("hello", name, headers={"Idempotency-Key": name.replace(" ", "-")})]
    answers += [await caller.get(path) for path in ("/chatbots", "/conversations?limit=2", "/analytics?days=30", f"/chatbots/{caller.bot}")]
    for answer in answers:
        is_sane(answer)
    return answers


@jumps
async def test_requests_of_every_kind_are_answered_and_all_is_counted_once(caller: Caller, clock: FakeClock, name: str) -> None:
    sent = 0
    for number in range(3):
        await everything(caller, f"before {number}")
        clock.advance(7)
    sent += 3
    for step, seconds in enumerate(JUMPS[name]):
        clock.advance(seconds)
        for number in range(3):
            message = (await everything(caller, f"visitor {step} {number}"))[0]
            assert message.status == 200
            clock.advance(1)
        sent += 3
    assert (await told(caller))[2] == sent
    assert (await caller.get("/conversations")).json["pagination"]["total"] == sent
    database = caller.app.config.data_dir / "chatsvc.db"
    # The books hold each month against its usage records: nothing was charged to another one.
    assert await asyncio.to_thread(disagreements, database) == []


async def test_a_month_that_begins_and_has_not_begun_yet_after_all_has_its_own_allowance(caller: Caller, clock: FakeClock) -> None:
    await accounts.change(caller.app.services, ADMIN, account=caller.account, messages_limit=3)

    async def sent() -> int:
        return (await caller.send("hello")).status

    assert [await sent() for _ in range(2)] == [200, 200]
    clock.advance(11 * DAY)  # December
    assert [await sent() for _ in range(4)] == [200, 200, 200, 402]
    clock.advance(-11 * DAY)  # November after all: what it had left
    assert [await sent() for _ in range(2)] == [200, 402]
    assert (await told(caller))[0] == 3
    clock.advance(11 * DAY)
    assert await sent() == 402


@jumps
async def test_no_key_is_locked_out_and_none_gets_two_windows_in_a_minute(config: Config, clock: FakeClock, name: str) -> None:
    limiter = Limiter(A_MINUTE)
    for seconds in (0, *JUMPS[name]):
        clock.advance(seconds)
        slots = [await limiter.take("key", clock()) for _ in range(A_MINUTE * 2)]
        assert sum(slot.taken for slot in slots) <= A_MINUTE
        assert all(0 <= slot.remaining <= A_MINUTE for slot in slots)
        # Within two minutes, whichever way the clock went, there is a window with room again.
        clock.advance(2 * MINUTE)
        assert (await limiter.take("key", clock())).taken
        clock.advance(-2 * MINUTE)


@jumps
async def test_a_walk_over_the_pages_meets_every_conversation_once(caller: Caller, clock: FakeClock, name: str) -> None:
    for number in range(12):
        assert (await caller.send("hello", f"visitor {number}")).status == 200
        clock.advance(1)
    met: list[str] = []
    times: list[str] = []
    cursor = ""
    steps = iter(JUMPS[name])
    while True:
        page = (await caller.get(f"/conversations?limit=2{cursor}")).json
        met += [conversation["user_id"] for conversation in page["data"]]
        times += [conversation["last_message_at"] for conversation in page["data"]]
        if not page["pagination"]["has_more"]:
            break
        cursor = f"&cursor={page['pagination']['next_cursor']}"
        clock.advance(next(steps, 1))
    assert sorted(met) == sorted(f"visitor {number}" for number in range(12))
    assert times == sorted(times, reverse=True)


@jumps
async def test_the_time_of_a_conversations_last_message_never_goes_back(caller: Caller, clock: FakeClock, name: str) -> None:
    last, conversation = "", {"id": ""}
    for seconds in (0, *JUMPS[name], 1):
        clock.advance(seconds)
        assert (await caller.send("hello", "v")).status == 200
        (conversation,) = (await caller.get("/conversations")).json["data"]
        assert conversation["last_message_at"] >= last
        last = conversation["last_message_at"]
    history = (await caller.get(f"/conversations/{conversation['id']}")).json["data"]["messages"]
    assert [message["role"] for message in history] == ["user", "assistant"] * (len(history) // 2)
    assert len(history) == 2 * (len(JUMPS[name]) + 2)


@pytest.mark.parametrize("seconds", [-HOUR, -DAY, -30 * DAY, HOUR, DAY - 1])
async def test_an_idempotency_key_gives_its_answer_again_whichever_way_the_clock_went(
    caller: Caller, clock: FakeClock, engine: ScriptedEngine, seconds: int
) -> None:
    first = await caller.send("hello", "v", headers={"Idempotency-Key": "once"})
    clock.advance(seconds)
    again = await caller.send("hello", "v", headers={"Idempotency-Key": "once"})
    assert (first.status, first.body) == (200, again.body)
    assert len(engine.turns) == 1
    assert (await told(caller))[2] == 1


@jumps
async def test_what_is_captured_is_told_once_and_recorded_with_a_duration(
    caller: Caller, clock: FakeClock, engine: ScriptedEngine, receiver: Receiver, name: str
) -> None:
    captures(engine, CALL_ME)
    await webhooks.put(caller.app.services, ADMIN, bot=caller.bot, url=f"https://127.0.0.1:{receiver.port}/", events=("request.created",))
    recorded: list[dict[str, Any]] = []
    sent = 0
    for step, seconds in enumerate((0, *JUMPS[name])):
        clock.advance(seconds)
        assert (await caller.send(SAID, f"visitor {step}")).status == 200
        sent += 1
        recorded = await settled(caller, sent)
    assert [attempt["success"] for attempt in recorded] == [True] * sent
    assert all(0 <= attempt["duration_ms"] < 5000 for attempt in recorded)
    assert len(receiver.bodies) == sent


async def test_a_key_that_expires_is_refused_for_as_long_as_the_clock_says_so(caller: Caller, clock: FakeClock) -> None:
    at = datetime.fromtimestamp(clock() / 1000 + HOUR, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    made = await keys.create(caller.app.services, ADMIN, account=caller.account, expires=at)
    short = Caller(caller.app, caller.session, caller.account, caller.bot, made.secret)
    for seconds, status in ((0, 200), (2 * HOUR, 401), (-2 * HOUR, 200), (3650 * DAY, 401), (-3651 * DAY, 200)):
        clock.advance(seconds)
        assert (await short.get("/chatbots")).status == status
