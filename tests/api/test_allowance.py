"""The monthly allowance (help/interface.md 5.3): never a message too many, never one too few."""

import asyncio
from collections import Counter
from itertools import count

import pytest

from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.engines import EngineError, Reply, Turn
from chatsvc.services.accounts import accounts, bots
from tests.api.support import envelope, until
from tests.conftest import Answer, Caller, MakeCaller
from tests.fakes import ADMIN, FakeClock, ScriptedEngine, failing
from tests.postgres import store_of_test

pytestmark = pytest.mark.postgres

NOVEMBER_ENDS = 1_796_083_200_000  # 2026-12-01T00:00:00.000Z


async def _at_once(caller: Caller, number: int) -> list[Answer]:
    return await asyncio.gather(*(caller.send(user_id=f"v{n % 7}") if n % 2 else caller.send() for n in range(number)))


async def _counted(caller: Caller) -> dict[str, int]:
    """The messages used, as each place reports them."""
    analytics = (await caller.get("/analytics?days=1")).json["data"]
    conversations = (await caller.get("/conversations?limit=100")).json["data"]
    details = [(await caller.get(f"/conversations/{item['id']}?message_limit=500")).json["data"] for item in conversations]
    return {
        "account": analytics["account"]["messages_used"],
        "window": analytics["usage"]["total_messages"],
        "days": sum(day["messages"] for day in analytics["usage"]["by_day"]),
        "bots in window": sum(bot["messages_in_window"] for bot in analytics["chatbots"]),
        "bots in all": sum(bot["messages_used_total"] for bot in analytics["chatbots"]),
        "list": sum(bot["messages_used"] for bot in (await caller.get("/chatbots")).json["data"]),
        "detail": (await caller.get(f"/chatbots/{caller.bot}")).json["data"]["messages_used"],
        "message counts": sum(detail["message_count"] for detail in details) // 2,
        "messages": sum(len(detail["messages"]) for detail in details) // 2,
        "replies": len({message["id"] for detail in details for message in detail["messages"] if message["role"] == "assistant"}),
    }


@pytest.mark.parametrize(("limit", "credits"), [(13, 7), (1, 0), (0, 1)])
async def test_of_ten_times_as_many_messages_as_are_left_exactly_the_allowance_is_answered(
    limit: int, credits: int, make_caller: MakeCaller, engine: ScriptedEngine
) -> None:
    left = limit + credits
    caller = await make_caller(messages_limit=limit, credits=credits)
    engine.delay_s = 0.005
    answers = await _at_once(caller, 10 * left)
    assert Counter(answer.status for answer in answers) == {200: left, 402: 9 * left}
    refusal = envelope("message_quota_exceeded", reason="allowance_exhausted")
    assert all(answer.json == refusal for answer in answers if answer.status == 402)
    counted = await _counted(caller)
    assert counted == dict.fromkeys(counted, left)
    assert (await caller.get("/analytics")).json["data"]["account"]["message_credits"] == 0
    assert len(engine.turns) == left


async def test_with_a_fifth_failing_never_more_and_after_retries_exactly_the_allowance_is_answered(
    make_caller: MakeCaller, engine: ScriptedEngine
) -> None:
    left = 15
    caller = await make_caller(messages_limit=9, credits=6)
    numbers = count(1)

    def script(turn: Turn) -> Reply:
        if next(numbers) % 5 == 0:
            raise EngineError("overloaded")
        return Reply(f"echo: {turn.message}")

    engine.script, engine.delay_s = script, 0.003
    answered = 0
    while answered < left:
        statuses = Counter(answer.status for answer in await _at_once(caller, 3 * left))
        assert statuses.keys() <= {200, 402, 502}
        answered += statuses[200]
        assert answered <= left
        counted = await _counted(caller)
        assert counted == dict.fromkeys(counted, answered)


async def test_two_bots_and_two_keys_share_the_allowance_of_their_account(
    app: App, make_caller: MakeCaller, engine: ScriptedEngine
) -> None:
    caller = await make_caller(messages_limit=10)
    other = Caller(app, caller.session, caller.account, "", (await accounts.create_key(app.services, ADMIN, account=caller.account)).secret)
    other.bot = (await bots.create(app.services, ADMIN, name="Other", account=caller.account, model="scripted")).id
    engine.delay_s = 0.003
    answers = await asyncio.gather(*(sender.send() for sender in (caller, other) * 20))
    assert Counter(answer.status for answer in answers) == {200: 10, 402: 30}
    answered = Counter(answer.json["data"]["chatbot_id"] for answer in answers if answer.status == 200)
    used = {bot["id"]: bot["messages_used"] for bot in (await caller.get("/chatbots")).json["data"]}
    assert used == {bot: answered[bot] for bot in (caller.bot, other.bot)}


async def test_what_is_being_answered_is_reserved(make_caller: MakeCaller, engine: ScriptedEngine) -> None:
    caller = await make_caller(messages_limit=1, credits=1)
    engine.gate = asyncio.Event()
    under_way = [asyncio.create_task(caller.send()) for _ in range(2)]
    await until(lambda: len(engine.turns) == 2)
    assert (await caller.send()).status == 402
    engine.release()
    assert [(await request).status for request in under_way] == [200, 200]
    assert (await caller.send()).status == 402


async def test_credits_given_while_messages_are_answered_are_not_lost(app: App, make_caller: MakeCaller, engine: ScriptedEngine) -> None:
    caller = await make_caller(messages_limit=0, credits=2)
    engine.gate = asyncio.Event()
    under_way = [asyncio.create_task(caller.send()) for _ in range(2)]
    await until(lambda: len(engine.turns) == 2)
    await accounts.change(app.services, ADMIN, account=caller.account, credits=5)
    engine.release()
    assert [(await request).status for request in under_way] == [200, 200]
    assert (await caller.get("/analytics")).json["data"]["account"]["message_credits"] == 3
    assert [(await caller.send()).status for _ in range(4)] == [200, 200, 200, 402]


async def test_a_message_in_flight_over_the_end_of_the_month_belongs_to_the_month_it_was_accepted_in(
    make_caller: MakeCaller, clock: FakeClock, engine: ScriptedEngine
) -> None:
    caller = await make_caller(messages_limit=1)
    clock.now = NOVEMBER_ENDS - 1
    under_way = await engine.hold(caller.send(user_id="v"))
    clock.now = NOVEMBER_ENDS + 4_000
    december = await engine.hold(caller.send())
    engine.release()
    first = await under_way
    assert first.status == (await december).status == 200
    assert first.json["data"]["created_at"] == "2026-12-01T00:00:04.000Z"
    data = (await caller.get("/analytics?days=2")).json["data"]
    assert data["account"]["messages_used"] == 1
    assert data["usage"]["by_day"] == [{"day": "2026-11-30", "messages": 1}, {"day": "2026-12-01", "messages": 1}]
    assert (await caller.send()).status == 402
    clock.now = NOVEMBER_ENDS - 1
    assert (await caller.send()).status == 402
    assert (await caller.get("/analytics")).json["data"]["account"]["messages_used"] == 1


async def test_one_that_fails_over_the_end_of_the_month_gives_back_to_the_old_month(
    make_caller: MakeCaller, clock: FakeClock, engine: ScriptedEngine
) -> None:
    caller = await make_caller(messages_limit=1)
    script, engine.gate = engine.script, asyncio.Event()
    clock.now = NOVEMBER_ENDS - 1
    engine.script = failing("overloaded")
    under_way = asyncio.create_task(caller.send())
    await until(lambda: bool(engine.turns))
    clock.now = NOVEMBER_ENDS
    engine.release()
    assert (await under_way).status == 502
    engine.script = script
    assert [(await caller.send()).status for _ in range(2)] == [200, 402]
    clock.now = NOVEMBER_ENDS - 1
    assert [(await caller.send()).status for _ in range(2)] == [200, 402]


async def test_the_counts_are_the_same_after_a_restart(app: App, make_caller: MakeCaller, config: Config, clock: FakeClock) -> None:
    caller = await make_caller(messages_limit=3, credits=1)
    assert [(await caller.send(user_id="v")).status for _ in range(2)] == [200, 200]
    before = await _counted(caller)
    await app.stop()
    async with App(config, clock, store=store_of_test()) as again:
        again.services.engines["anthropic"] = ScriptedEngine()
        caller.base_url = f"{again.url}/api/v2"
        assert await _counted(caller) == before
        assert [(await caller.send()).status for _ in range(3)] == [200, 200, 402]
