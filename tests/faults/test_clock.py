"""Faults of the wall clock: back, over the end of a month, far ahead, and back."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from chatsvc.domain.limiter import Limiter
from chatsvc.services.accounts import accounts
from tests.api.support import LIMIT, REMAINING, RESET
from tests.conftest import Answer, Caller, MakeCaller
from tests.crash.books import disagreements
from tests.fakes import ADMIN, START, FakeClock, ScriptedEngine
from tests.faults.support import told
from tests.webhooks.receiver import Receiver
from tests.webhooks.support import CALL_ME, SAID, captures, hook, settled

MINUTE, HOUR, DAY = 60, 3600, 86_400
A_MINUTE = 5
"""Requests of a key in a minute, in the test of the limiter."""

JUMPS: tuple[tuple[float, ...], ...] = (
    (-HOUR,),
    (-1,),
    (10 * DAY, -10 * DAY, 12 * DAY),  # over the end of the month, back and over it again
    (3650 * DAY, -3650 * DAY),
    (-(START / 1000), START / 1000),  # to the beginning of time
    (HOUR, -2 * HOUR, DAY, -DAY, MINUTE, -MINUTE),
)


async def each_jump(make_caller: MakeCaller, clock: FakeClock) -> AsyncIterator[tuple[Caller, tuple[float, ...]]]:
    """Make a customer for each way in which the clock jumps."""
    for jumps in JUMPS:
        clock.now = START
        yield await make_caller(), jumps


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


async def test_requests_of_every_kind_are_answered_and_all_is_counted_once(make_caller: MakeCaller, clock: FakeClock) -> None:
    async for caller, jumps in each_jump(make_caller, clock):
        last, conversation = "", {"id": ""}
        for step, seconds in enumerate((0, *jumps)):
            clock.advance(seconds)
            assert (await caller.send("hello", "v")).status == 200
            listed = (await caller.get("/conversations?limit=100")).json["data"]
            (conversation,) = [entry for entry in listed if entry["user_id"] == "v"]
            assert conversation["last_message_at"] >= last, "the time of the last message never goes back"
            last = conversation["last_message_at"]
            for number in range(2):
                message = (await everything(caller, f"visitor {step} {number}"))[0]
                assert message.status == 200
                clock.advance(7)
        rounds = len(jumps) + 1
        assert (await told(caller))[2] == 3 * rounds
        assert (await caller.get("/conversations")).json["pagination"]["total"] == 2 * rounds + 1
        history = (await caller.get(f"/conversations/{conversation['id']}")).json["data"]["messages"]
        assert [message["role"] for message in history] == ["user", "assistant"] * rounds
        # The books hold each month against its usage records: nothing was charged to another one.
        assert await asyncio.to_thread(disagreements, caller.app.config.data_dir / "chatsvc.db") == []


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


async def test_no_key_is_locked_out_and_none_gets_two_windows_in_a_minute(clock: FakeClock) -> None:
    for jumps in JUMPS:
        clock.now, limiter = START, Limiter(A_MINUTE)
        for seconds in (0, *jumps):
            clock.advance(seconds)
            slots = [await limiter.take("key", clock()) for _ in range(A_MINUTE * 2)]
            assert sum(slot.taken for slot in slots) <= A_MINUTE
            assert all(0 <= slot.remaining <= A_MINUTE for slot in slots)
            # Within two minutes, whichever way the clock went, there is a window with room again.
            clock.advance(2 * MINUTE)
            assert (await limiter.take("key", clock())).taken
            clock.advance(-2 * MINUTE)


async def test_a_walk_over_the_pages_meets_every_conversation_once(make_caller: MakeCaller, clock: FakeClock) -> None:
    async for caller, jumps in each_jump(make_caller, clock):
        for number in range(12):
            assert (await caller.send("hello", f"visitor {number}")).status == 200
            clock.advance(1)
        visitors: list[str] = []
        times: list[str] = []
        page: dict[str, Any] = {"pagination": {"next_cursor": "", "has_more": True}}
        steps = iter(jumps)
        while page["pagination"]["has_more"]:
            cursor = page["pagination"]["next_cursor"]
            page = (await caller.get(f"/conversations?limit=2{cursor and f'&cursor={cursor}'}")).json
            visitors += [conversation["user_id"] for conversation in page["data"]]
            times += [conversation["last_message_at"] for conversation in page["data"]]
            clock.advance(next(steps, 1))
        assert sorted(visitors) == sorted(f"visitor {number}" for number in range(12))
        assert times == sorted(times, reverse=True)


async def test_an_idempotency_key_gives_its_answer_again_whichever_way_the_clock_went(
    caller: Caller, clock: FakeClock, engine: ScriptedEngine
) -> None:
    first = await caller.send("hello", "v", headers={"Idempotency-Key": "once"})
    for seconds in (-HOUR, -DAY, -30 * DAY, HOUR, DAY - 1):
        clock.now = START + seconds * 1000
        again = await caller.send("hello", "v", headers={"Idempotency-Key": "once"})
        assert (first.status, first.body) == (200, again.body)
    assert len(engine.turns) == 1
    assert (await told(caller))[2] == 1


async def test_what_is_captured_is_told_once_and_recorded_with_a_duration(
    caller: Caller, clock: FakeClock, engine: ScriptedEngine, receiver: Receiver
) -> None:
    captures(engine, CALL_ME)
    await hook(caller, receiver)
    recorded: list[dict[str, Any]] = []
    for sent, seconds in enumerate((0, *(seconds for jumps in JUMPS for seconds in jumps)), 1):
        clock.advance(seconds)
        assert (await caller.send(SAID, f"visitor {sent}")).status == 200
        recorded = await settled(caller, sent)
    assert [attempt["success"] for attempt in recorded] == [True] * len(recorded)
    assert all(0 <= attempt["duration_ms"] < 5000 for attempt in recorded)
    assert len(receiver.bodies) == len(recorded)
