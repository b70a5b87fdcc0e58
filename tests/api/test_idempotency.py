"""The header Idempotency-Key of POST /messages: asked twice, answered once, charged once."""

import asyncio
import json

import pytest

from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.services.accounts import accounts, bots
from chatsvc.services.messages.conversation_locks import ConversationLocks
from tests.api.conftest import Connect
from tests.api.support import envelope, execute, request, until
from tests.conftest import Answer, Caller, MakeCaller
from tests.fakes import ADMIN, FakeClock, ScriptedEngine, bot_of, failing
from tests.postgres import store_of_test

DAY = 86_400_000
KEY = {"Idempotency-Key": "order-17"}
OTHER_FIELDS = (
    "Bu “Idempotency-Key” daha önce başka alanlarla kullanıldı.",
    "This “Idempotency-Key” was used before with other fields.",
)
BAD_KEY = (
    "“Idempotency-Key” başlığı 1-255 görünür ASCII karakter olmalıdır.",
    "The header “Idempotency-Key” must be 1 to 255 visible ASCII characters.",
)


async def _used(caller: Caller) -> int:
    return int((await caller.get("/analytics")).json["data"]["account"]["messages_used"])


async def test_the_same_request_again_gives_the_first_answer_and_is_charged_once(
    caller: Caller, clock: FakeClock, engine: ScriptedEngine
) -> None:
    first = await caller.send("hello", "v", headers=KEY)
    clock.now += 5_000
    again = [await caller.send("hello", "v", headers=KEY) for _ in range(3)]
    assert first.status == 200
    assert {(answer.status, answer.body) for answer in again} == {(200, first.body)}
    assert first.json["data"]["created_at"] == "2026-11-20T12:14:28.123Z"
    assert len({answer.headers["X-Request-Id"] for answer in (first, *again)}) == 4
    assert len(engine.turns) == 1
    assert await _used(caller) == 1
    (listed,) = (await caller.get("/conversations")).json["data"]
    assert (await caller.get(f"/conversations/{listed['id']}")).json["data"]["message_count"] == 2


async def test_a_made_up_user_id_is_the_same_in_the_replay(caller: Caller) -> None:
    first = await caller.send(headers=KEY)
    assert (await caller.send(headers=KEY)).body == first.body


async def test_without_the_key_and_under_another_one_it_is_another_message(caller: Caller, engine: ScriptedEngine) -> None:
    for headers in (KEY, {}, {"Idempotency-Key": "ORDER-17"}, {"Idempotency-Key": "order-1"}, {"Idempotency-Key": "order-17."}, {}):
        assert (await caller.send("hello", "v", headers=headers)).status == 200
    assert len(engine.turns) == 6
    assert await _used(caller) == 6


async def test_the_replay_comes_also_after_the_bot_went_off_or_the_quota_ended(
    app: App, make_caller: MakeCaller, engine: ScriptedEngine
) -> None:
    caller = await make_caller(messages_limit=1)
    first = await caller.send(headers=KEY)
    assert (await caller.send(headers=KEY)).body == first.body
    await accounts.change(app.services, ADMIN, account=caller.account, status="canceled")
    assert (await caller.send(headers=KEY)).body == first.body
    await bots.deactivate(app.services, ADMIN, bot=await caller.chatbot())
    assert (await caller.send(headers=KEY)).body == first.body
    engine.script = failing("timeout")
    assert (await caller.send(headers=KEY)).body == first.body
    assert (await caller.send()).status == 409


async def test_the_replay_comes_also_after_a_restart(app: App, caller: Caller, config: Config, clock: FakeClock) -> None:
    first, engine = await caller.send(headers=KEY), ScriptedEngine()
    await app.stop()
    async with App(config, clock, store=store_of_test()) as again:
        again.services.engines["anthropic"] = engine
        caller.base_url = f"{again.url}/api/v2"
        assert (await caller.send(headers=KEY)).body == first.body
        assert (engine.turns, await _used(caller)) == ([], 1)


async def test_those_who_come_while_it_is_answered_share_the_one_answer(app: App, make_caller: MakeCaller, engine: ScriptedEngine) -> None:
    caller = await make_caller(messages_limit=1)
    engine.gate = asyncio.Event()
    waiting = [asyncio.create_task(caller.send("hello", headers=KEY)) for _ in range(10)]
    await until(lambda: bool(engine.turns))
    await bots.deactivate(app.services, ADMIN, bot=await caller.chatbot())
    waiting.append(asyncio.create_task(caller.send("hello", headers=KEY)))
    await until(lambda: app.services.tallies.in_flight == 11)
    engine.release()
    answers = await asyncio.gather(*waiting)
    assert {(answer.status, answer.body) for answer in answers} == {(200, answers[0].body)}
    assert len({answer.headers["X-Request-Id"] for answer in answers}) == 11
    assert len(engine.turns) == 1
    assert await _used(caller) == 1


async def test_they_share_a_failure_too_and_it_is_not_kept(caller: Caller, engine: ScriptedEngine) -> None:
    script, engine.script = engine.script, failing("overloaded")
    engine.gate = asyncio.Event()
    waiting = [asyncio.create_task(caller.send(headers=KEY)) for _ in range(5)]
    await until(lambda: bool(engine.turns) and caller.app.services.tallies.in_flight == 5)
    engine.release()
    for answer in await asyncio.gather(*waiting):
        assert answer.status == 502
        assert answer.json == envelope("assistant_unavailable", reason="overloaded")
    assert len(engine.turns) == 1
    engine.script = script
    assert (await caller.send(headers=KEY)).status == 200
    assert len(engine.turns) == 2
    assert await _used(caller) == 1


@pytest.mark.parametrize("status", [404, 409, 402, 502, 500])
async def test_a_failed_request_keeps_nothing_under_its_key(status: int, app: App, make_caller: MakeCaller, engine: ScriptedEngine) -> None:
    caller = await make_caller(messages_limit=0 if status == 402 else 5)
    bot, script = caller.bot, engine.script
    if status == 404:
        caller.bot = "nobody"
    if status == 409:
        await bots.deactivate(app.services, ADMIN, bot=await bot_of(app.services, bot))
    if status >= 500:
        engine.script = failing("empty") if status == 502 else None  # type: ignore[assignment]  # a bug
    assert (await caller.send("hello", headers=KEY)).status == status
    assert await execute(app, "SELECT count(*) FROM idempotency_keys") == [(0,)]
    caller.bot, engine.script = bot, script
    await bots.activate(app.services, ADMIN, bot=await bot_of(app.services, bot))
    await accounts.change(app.services, ADMIN, account=caller.account, messages_limit=5)
    assert (await caller.send("another text", headers=KEY)).status == 200


async def test_other_fields_under_the_same_key_are_invalid_json(caller: Caller, engine: ScriptedEngine) -> None:
    body = {"chatbot_id": caller.bot, "message": "hello", "user_id": "v", "language": "tr"}
    first = await engine.hold(caller.request("POST", "/messages", json=body, headers=KEY))
    others: dict[str, tuple[str | None, ...]] = {
        "message": ("other", "hello "),
        "user_id": ("w", None),
        "language": ("en", None, "TR"),
        "chatbot_id": ("nobody",),
    }
    for state in ("in flight", "answered"):
        for change in ({name: value} for name, values in others.items() for value in values):
            answer = await caller.request("POST", "/messages", json={**body, **change}, headers=KEY)
            assert (answer.status, answer.json) == (400, envelope("invalid_json", OTHER_FIELDS)), (state, change)
        engine.release()
        assert (await first).status == 200
    assert (await caller.request("POST", "/messages", json=body, headers=KEY)).body == (await first).body
    assert len(engine.turns) == 1


async def test_the_same_fields_spelled_another_way_are_the_same(caller: Caller, engine: ScriptedEngine) -> None:
    first = await caller.send("ş", headers=KEY)
    bodies = [
        f'{{"message":"ş","chatbot_id":"{caller.bot}"}}',
        f'{{"message":"\\u015f","chatbot_id":"{caller.bot}","user_id":null,"language":""}}',
        f' {{ "user_id" : "" , "message" : "ş" , "chatbot_id" : "{caller.bot}" }} ',
    ]
    for body in bodies:
        assert (await caller.request("POST", "/messages", data=body.encode(), headers=KEY)).body == first.body
    assert len(engine.turns) == 1


async def test_it_is_kept_for_24_hours_to_the_millisecond(caller: Caller, clock: FakeClock, engine: ScriptedEngine) -> None:
    first = await caller.send("hello", headers=KEY)
    clock.now += DAY - 1
    assert (await caller.send("hello", headers=KEY)).body == first.body
    assert (await caller.send("other", headers=KEY)).json == envelope("invalid_json", OTHER_FIELDS)
    clock.now += 1
    second = await caller.send("other", headers=KEY)
    assert second.json["data"]["reply"] == "echo: other"
    assert (await caller.send("other", headers=KEY)).body == second.body
    assert (await caller.send("hello", headers=KEY)).json == envelope("invalid_json", OTHER_FIELDS)
    assert len(engine.turns) == 2
    assert await _used(caller) == 2


async def test_what_is_older_is_removed_in_time(app: App, caller: Caller, clock: FakeClock) -> None:
    for n in range(4):
        await caller.send(headers={"Idempotency-Key": f"k{n}"})
    clock.now += DAY
    await caller.send(headers={"Idempotency-Key": "new"})
    assert await execute(app, "SELECT key FROM idempotency_keys") == [("new",)]


async def test_the_key_belongs_to_the_account(app: App, caller: Caller, make_caller: MakeCaller, engine: ScriptedEngine) -> None:
    stranger = await make_caller()
    second = Caller(
        app, caller.session, caller.account, caller.bot, (await accounts.create_key(app.services, ADMIN, account=caller.account)).secret
    )
    first = await caller.send("hello", headers=KEY)
    theirs = await stranger.send("hello", headers=KEY)
    assert theirs.status == 200
    assert theirs.json["data"]["chatbot_id"] == stranger.bot
    assert (await second.send("hello", headers=KEY)).body == first.body
    assert (await stranger.send("hello", headers=KEY)).body == theirs.body
    assert len(engine.turns) == 2


async def _with_header(connect: Connect, caller: Caller, *lines: str, message: str = "hello") -> Answer:
    wire = await connect()
    body = json.dumps({"chatbot_id": caller.bot, "message": message}).encode()
    await wire.send(request("POST", "/api/v2/messages", caller, *lines, body=body))
    return await wire.answer()


BAD = (
    ["Idempotency-Key:"],
    ["Idempotency-Key:   "],
    ["Idempotency-Key: " + "k" * 256],
    ["Idempotency-Key: a b"],
    ["Idempotency-Key: a\tb"],
    ["Idempotency-Key: \xfc"],
    ["Idempotency-Key: \xc5\x9f"],
    ["Idempotency-Key: a", "Idempotency-Key: b"],
    ["Idempotency-Key: a", "idempotency-key: a"],
    ["Idempotency-Key: a", "Idempotency-Key:"],
)


async def test_1_to_255_visible_characters_are_a_key_and_anything_else_is_invalid_json(
    caller: Caller, connect: Connect, engine: ScriptedEngine
) -> None:
    for lines in BAD:
        answer = await _with_header(connect, caller, *lines)
        assert (answer.status, answer.json) == (400, envelope("invalid_json", BAD_KEY)), lines
    assert engine.turns == []
    for number, key in enumerate(("a", "k" * 255, "!~", "a,b", '"quoted"', "%20"), 1):
        first = await _with_header(connect, caller, f"Idempotency-Key: {key}")
        assert first.status == 200
        assert (await _with_header(connect, caller, f"idempotency-key:   {key}  ")).body == first.body
        assert len(engine.turns) == number


async def test_the_body_is_checked_before_the_key_and_the_key_before_the_bot(caller: Caller, connect: Connect) -> None:
    bad = "Idempotency-Key: a b"
    assert (await _with_header(connect, caller, bad, message=" ")).json == envelope("missing_message")
    caller.bot = "nobody"
    assert (await _with_header(connect, caller, bad)).json == envelope("invalid_json", BAD_KEY)


async def test_a_caller_that_hung_up_gets_the_answer_with_the_same_key(
    app: App, make_caller: MakeCaller, connect: Connect, engine: ScriptedEngine
) -> None:
    caller = await make_caller(messages_limit=1)
    engine.gate = asyncio.Event()
    body = json.dumps({"chatbot_id": caller.bot, "message": "hello"}).encode()
    wire = await connect()
    await wire.send(request("POST", "/api/v2/messages", caller, "Idempotency-Key: order-17", body=body))
    await until(lambda: bool(engine.turns))
    wire.hang_up()
    joined = asyncio.create_task(caller.send("hello", headers=KEY))
    await asyncio.sleep(0.05)
    engine.release()
    assert (await joined).status == 200
    assert (await caller.send("hello", headers=KEY)).body == (await joined).body
    assert len(engine.turns) == 1
    assert isinstance(app.services.conversation_locks, ConversationLocks)
    assert app.services.conversation_locks.in_flight == {}


async def test_100_at_once_under_ten_keys_are_ten_messages(make_caller: MakeCaller, engine: ScriptedEngine) -> None:
    caller = await make_caller(messages_limit=10)
    engine.delay_s = 0.005
    answers = await asyncio.gather(*(caller.send(str(n % 10), headers={"Idempotency-Key": str(n % 10)}) for n in range(100)))
    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == len(engine.turns) == await _used(caller) == 10
