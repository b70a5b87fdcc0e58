"""POST /messages (help/interface.md 5.3): the body rule by rule, the order of the checks, one answer at a time."""

import asyncio
import gzip
import io
import json
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest

from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.engines import EngineError, Reply, Turn
from chatsvc.services.accounts import accounts, bots
from chatsvc.services.conversations import conversations
from chatsvc.store import exchanges
from tests.api.conftest import Connect
from tests.api.support import assert_headers, envelope, execute, request, until
from tests.conftest import Answer, Caller, MakeCaller
from tests.fakes import ADMIN, FakeClock, ScriptedEngine, failing
from tests.postgres import store_of_test

KIB64 = 64 * 1024
NO_JSON = ("Gövde, UTF-8 ile yazılmış geçerli bir JSON değil.", "The body is not valid JSON in UTF-8.")
NO_OBJECT = ("Gövde bir JSON nesnesi olmalıdır.", "The body must be a JSON object.")
TWICE = ("Bir alan iki kez gönderildi.", "A field was sent twice.")
UNPRINTABLE = ("NUL ve eşleşmemiş surrogate karakterlerine izin verilmez.", "NUL and lone surrogates are not allowed.")
NO_TAG = (
    "“language” alanı bir BCP 47 dil etiketi olmalıdır, örneğin “tr” ya da “en-GB”.",
    "The field “language” must be a BCP 47 language tag, such as “tr” or “en-GB”.",
)
LONG_USER = ("“user_id” alanı en fazla 128 karakter olabilir.", "The field “user_id” may have 128 characters at most.")


def _no_string(name: str) -> tuple[str, str]:
    return f"“{name}” alanı metin olmalıdır.", f"The field “{name}” must be a string."


def _unknown(name: str) -> tuple[str, str]:
    return f"Bilinmeyen alan: “{name}”.", f"Unknown field: “{name}”."


async def _post(caller: Caller, body: bytes | str, **headers: str) -> Answer:
    data = body.encode() if isinstance(body, str) else body
    return await caller.request("POST", "/messages", data=data, headers=headers)


async def test_a_message_goes_in_and_the_reply_comes_out(caller: Caller) -> None:
    answer = await caller.send("hello", "visitor-1")
    assert answer.status == 200
    assert answer.json == {
        "success": True,
        "data": {
            "chatbot_id": caller.bot,
            "user_id": "visitor-1",
            "session_id": "api:visitor-1",
            "channel": "api",
            "message": "hello",
            "reply": "echo: hello",
            "created_at": "2026-11-20T12:14:28.123Z",
        },
    }
    assert_headers(answer, limit=100_000, remaining=99_999)


async def test_the_history_that_reaches_the_engine_is_the_newest_of_this_conversation_alone(caller: Caller, engine: ScriptedEngine) -> None:
    for n in range(25):
        await caller.send(f"{n}", "v")
    await caller.send("other", "w")
    await caller.send("last", "v")
    assert engine.turns[-2].history == []
    history = [message.content for message in engine.turns[-1].history]
    assert history == [text for n in range(5, 25) for text in (f"{n}", f"echo: {n}")]


async def test_words_without_an_answer_are_context_until_one_is_answered_or_the_visitor_is_erased(
    app: App, caller: Caller, engine: ScriptedEngine
) -> None:
    async def ask(*unanswered: str) -> str:
        engine.script = failing("no_answer")
        for text in unanswered:
            assert (await caller.send(text, "v")).status == 502
        engine.script = lambda turn: Reply(" | ".join(past.content for past in turn.history) or "nothing")
        return str((await caller.send("so?", "v")).json["data"]["reply"])

    assert await ask("one", "one", "two") == "one | two"
    assert await ask() == "so? | one | two"
    engine.script = failing("no_answer")
    assert (await caller.send("three", "v")).status == 502
    await conversations.erase(app.services, ADMIN, user_id="v")
    assert await ask() == "nothing"


async def test_a_conversation_goes_on_with_a_made_up_visitor_after_a_restart_and_when_the_clock_is_set_back(
    app: App, caller: Caller, config: Config, clock: FakeClock, engine: ScriptedEngine
) -> None:
    user_id = (await caller.send("one")).json["data"]["user_id"]
    await app.stop()
    clock.advance(-3600)
    async with App(config, clock, store_of_test()) as again:
        again.services.engines["anthropic"] = engine
        caller.base_url = f"{again.url}/api/v2"
        assert (await caller.send("two", user_id)).status == 200
        (listed,) = (await caller.get("/conversations")).json["data"]
        detail = (await caller.get(f"/conversations/{listed['id']}")).json["data"]
    assert [message["content"] for message in detail["messages"]] == ["one", "echo: one", "two", "echo: two"]


# -- the body -----------------------------------------------------------------------------------------------------------

GOOD = '"chatbot_id": "x", "message": "hello"'
# The sentence of the answer -> bodies.
INVALID: dict[tuple[str, str], list[bytes | str]] = {
    NO_JSON: [
        b"",
        b" \r\n\t ",
        "{",
        '{"chatbot_id": "x", "mess',
        "hello",
        f"{{{GOOD},}}",
        f"{{{GOOD}}} x",
        '{"chatbot_id": "x", "message": "a\nb"}',
        '{"chatbot_id": "x", "message": "a\x01b"}',
        '{"chatbot_id": "x", "message": "\\u00"}',
        '{"chatbot_id": "x", "message": "\\x41"}',
        b"\xef\xbb\xbf{" + GOOD.encode() + b"}",
        f"{{{GOOD}}}".encode("utf-16"),
        '{"chatbot_id": "x", "message": "é"}'.encode("latin-1"),
        b'{"chatbot_id": "x", "message": "\xc0\x80"}',  # overlong UTF-8
        b'{"chatbot_id": "x", "message": "\xed\xa0\xbd"}',  # a surrogate in UTF-8
        gzip.compress(f"{{{GOOD}}}".encode()),
        '{"chatbot_id": NaN, "message": "hello"}',
        '{"chatbot_id": "x", "message": [-Infinity]}',
        f'{{"chatbot_id": "x", "message": {"9" * 5000}}}',
        "[" * 30_000,
        f'{{"chatbot_id": "x", "message": {"[" * 30_000}{"]" * 30_000}}}',
        '{"a":' * 10_000 + "1" + "}" * 10_000,
    ],
    NO_OBJECT: ["[]", f"[{{{GOOD}}}]", '"text"', "0.5", "true", "null", "1e400"],
    TWICE: [
        f'{{{GOOD}, "message": "hello"}}',
        f'{{{GOOD}, "user_id": null, "user_id": null}}',
        f'{{{GOOD}, "mess\\u0061ge": "other"}}',
        '{"chatbot_id": "x", "message": {"a": 1, "a": 2}}',
    ],
    UNPRINTABLE: [
        *(f'{{{GOOD}, "{name}": 1}}' for name in ("\\u0000", "\\ud83d", "message\\u0000")),
        *(f'{{"message": "{text}"}}' for text in ("\\u0000", "a\\u0000b", "\\ud83d", "\\udeb2\\ud83d", "a\\ud83db")),
        *(f'{{"{name}": "a\\u0000"}}' for name in ("chatbot_id", "user_id", "language")),
    ],
}


async def test_a_body_that_cannot_be_read_is_invalid_json_and_reaches_nobody(app: App, caller: Caller, engine: ScriptedEngine) -> None:
    for because, bodies in INVALID.items():
        for body in bodies:
            answer = await _post(caller, body)
            assert (answer.status, answer.json) == (400, envelope("invalid_json", because)), body[:80]
    assert engine.turns == []
    assert await execute(app, "SELECT (SELECT count(*) FROM messages) + (SELECT count(*) FROM conversations)") == [(0,)]


VALUES: list[tuple[str, list[Any], Callable[[], dict[str, Any]]]] = [
    ("chatbot_id", [None, "", 1, 1.5, True, [], {}, {"id": "x"}], lambda: envelope("missing_chatbot_id")),
    ("message", [None, "", " ", "\n\t\r ", "\u2003\u00a0\u3000", 1, True, [], {}], lambda: envelope("missing_message")),
    ("user_id", [1, False, [], {}, 1.5], lambda: envelope("invalid_json", _no_string("user_id"))),
    ("language", [0, True, [], {}, ["v"]], lambda: envelope("invalid_json", _no_string("language"))),
    ("user_id", ["v" * 129, "🚲" * 129, " " * 129], lambda: envelope("invalid_json", LONG_USER)),
    ("message", ["x" * 4001, "🚲" * 4001, " " * 4000 + "x"], lambda: envelope("message_too_long", max_chars=4000)),
    (
        "language",
        ["t", "en_GB", "en-", "-en", "en--GB", "türkçe", " tr", "tr\n", "*", "12", "x" * 9, "en" + "-abcde" * 30],
        lambda: envelope("invalid_json", NO_TAG),
    ),
    *(
        (name, [None, {"nested": [1]}], lambda name=name: envelope("invalid_json", _unknown(name)))
        for name in ("stream", "Message", "chatbot_id ", "", "ı", "🚲", "__proto__", "x" * 64)
    ),
    ("x" * 60_000, [1], lambda: envelope("invalid_json", _unknown("x" * 64 + "…"))),
]


async def test_a_field_with_a_wrong_value_is_refused_and_named(caller: Caller, engine: ScriptedEngine) -> None:
    for name, values, refusal in VALUES:
        for value in values:
            answer = await caller.request("POST", "/messages", json={"chatbot_id": caller.bot, "message": "hello", name: value})
            assert (answer.status, answer.json) == (400, refusal()), (name[:64], value)
    assert engine.turns == []
    assert (await _post(caller, "{}")).json == envelope("missing_chatbot_id")


async def test_what_fits_comes_back_and_is_asked_as_it_was_sent(caller: Caller, engine: ScriptedEngine) -> None:
    for text in ("  hello  ", "Ş\u0327 İı", "<b>&amp;</b>", 'a"\\/\b\f\n\r\t', "\u2028\ufeff\U0010ffff\ufffe", "'; DROP TABLE x; --"):
        assert (await caller.send(text, "v")).json["data"]["message"] == engine.turns[-1].message == text
    for character in ("x", "🚲", "\u0301", '"'):
        assert (await caller.send(character * 4000, character * 128)).json["data"]["message"] == character * 4000
    body = json.dumps({"chatbot_id": caller.bot, "message": "🚲" * 4000})
    assert "\\ud83d\\udeb2" in body
    assert (await _post(caller, body)).json["data"]["message"] == "🚲" * 4000
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1", "x"):
        body = json.dumps({"chatbot_id": caller.bot, "message": "ş"}, ensure_ascii=False)
        assert (await _post(caller, body, **{"Content-Type": kind})).json["data"]["message"] == "ş"


async def test_a_bcp_47_tag_reaches_the_engine_and_null_and_empty_fields_count_as_omitted(caller: Caller, engine: ScriptedEngine) -> None:
    for tag in ("tr", "EN-gb", "zh-Hant-TW", "es-419", "de-CH-1996", "ckb", "en-x-shop", "de-u-co-phonebk"):
        assert (await caller.send(language=tag)).status == 200
        assert engine.turns[-1].language == tag
    for nothing in (None, ""):
        body = {"chatbot_id": caller.bot, "message": "hello", "user_id": nothing, "language": nothing}
        answer = await caller.request("POST", "/messages", json=body)
        assert re.fullmatch("[0-9a-f]{32}", answer.json["data"]["user_id"])
        assert engine.turns[-1].language is None


async def test_a_body_of_64_kib_is_read_and_one_byte_more_is_too_long(caller: Caller) -> None:
    body = json.dumps({"chatbot_id": caller.bot, "message": "hello"}).encode()

    async def pieces(size: int) -> AsyncIterator[bytes]:
        whole = body.ljust(size)
        for start in range(0, size, 10_000):
            yield whole[start : start + 10_000]

    for size, status in ((KIB64, 200), (KIB64 + 1, 400), (5_000_000, 400)):
        for data in (io.BytesIO(body.ljust(size)), pieces(size)):  # with a length, and without
            answer = await caller.request("POST", "/messages", data=data)
            assert answer.status == status
            assert status == 200 or answer.json == envelope("message_too_long", max_chars=4000)
    # A compressed one is not unpacked.
    bomb = gzip.compress(body.ljust(10_000_000))
    assert (await _post(caller, bomb, **{"Content-Encoding": "gzip"})).json == envelope("invalid_json", NO_JSON)


# -- the order of the checks --------------------------------------------------------------------------------------------


async def test_the_checks_come_in_the_order_of_the_manual(app: App, make_caller: MakeCaller, engine: ScriptedEngine) -> None:
    caller = await make_caller(messages_limit=0, status="paused")
    await bots.deactivate(app.services, ADMIN, bot=await caller.chatbot())
    engine.script = failing("timeout")
    body: dict[str, Any] = {"surplus": 1, "user_id": 1, "language": "?"}
    headers = {"Idempotency-Key": "not visible: ü"}

    async def refused(status: int, error: str, reason: str | None = None) -> None:
        answer = await caller.request("POST", "/messages", json=body, headers=headers)
        assert (answer.status, answer.error, answer.json.get("reason")) == (status, error, reason)

    await refused(400, "invalid_json")
    del body["surplus"]
    await refused(400, "missing_chatbot_id")
    body["chatbot_id"] = "nobody"
    await refused(400, "missing_message")
    body["message"] = "x" * 4001
    await refused(400, "message_too_long")
    body["message"] = "hello"
    await refused(400, "invalid_json")
    body["user_id"] = "v"
    await refused(400, "invalid_json")
    del body["language"]
    await refused(400, "invalid_json")
    del headers["Idempotency-Key"]
    await refused(404, "chatbot_not_found")
    body["chatbot_id"] = caller.bot
    await refused(409, "chatbot_inactive")
    await bots.activate(app.services, ADMIN, bot=await caller.chatbot())
    await refused(402, "message_quota_exceeded", "subscription_inactive")
    await accounts.change(app.services, ADMIN, account=caller.account, status="active")
    await refused(402, "message_quota_exceeded", "allowance_exhausted")
    await accounts.change(app.services, ADMIN, account=caller.account, messages_limit=1)
    await refused(502, "assistant_unavailable", "timeout")
    assert len(engine.turns) == 1


async def test_a_failed_reply_gives_back_and_writes_nothing(app: App, make_caller: MakeCaller, engine: ScriptedEngine) -> None:
    caller = await make_caller(messages_limit=1)
    tables = ("messages", "conversations", "usage_records", "allowances", "conversation_counts", "idempotency_keys")
    script = engine.script
    for reason in ("timeout", "empty", "refused", "no_answer"):
        engine.script = failing(reason)
        assert (await caller.send(user_id="v", headers={"Idempotency-Key": "k"})).status == 502
    counts = [await execute(app, f"SELECT count(*) FROM {table}") for table in tables]  # noqa: S608  # the names above
    assert counts == [[(0,)]] * len(tables)
    assert (await caller.get(f"/chatbots/{caller.bot}")).json["data"]["messages_used"] == 0
    engine.script = script
    assert (await caller.send(user_id="v")).status == 200
    # The words of a turn without an answer are context for the next one; nothing of them is stored.
    assert [(past.role, past.content) for past in engine.turns[-1].history] == [("user", "hello")]
    assert (await caller.send(user_id="v")).json == envelope("message_quota_exceeded", reason="allowance_exhausted")


async def test_a_bot_switched_off_while_it_answers_still_answers(app: App, caller: Caller, engine: ScriptedEngine) -> None:
    under_way = await engine.hold(caller.send())
    await bots.deactivate(app.services, ADMIN, bot=await caller.chatbot())
    engine.release()
    assert (await under_way).status == 200
    answer = await caller.send()
    assert answer.status == 409
    assert answer.json == envelope("chatbot_inactive", chatbot_id=caller.bot)
    assert (await caller.get(f"/chatbots/{caller.bot}")).json["data"]["active"] is False


# -- one answer at a time -----------------------------------------------------------------------------------------------


async def test_a_conversation_is_answered_one_message_at_a_time_first_come_first_served(
    app: App, caller: Caller, engine: ScriptedEngine
) -> None:
    engine.gate = asyncio.Event()
    waiting = []
    for n in range(12):
        waiting.append(asyncio.create_task(caller.send(str(n), "v")))
        await until(lambda n=n: app.services.conversation_locks.unfinished == n + 1)  # type: ignore[misc]  # bound at once
    await until(lambda: bool(engine.turns))
    assert [turn.message for turn in engine.turns] == ["0"]
    engine.release()
    answers = await asyncio.gather(*waiting)
    assert [answer.json["data"]["reply"] for answer in answers] == [f"echo: {n}" for n in range(12)]
    assert [turn.message for turn in engine.turns] == [str(n) for n in range(12)]
    assert [[message.content for message in turn.history[-2:]] for turn in engine.turns[1:]] == [[str(n), f"echo: {n}"] for n in range(11)]
    assert [len(turn.history) for turn in engine.turns] == [2 * n for n in range(12)]


async def test_one_that_fails_does_not_hold_up_those_behind_it(app: App, caller: Caller, engine: ScriptedEngine) -> None:
    def script(turn: Turn) -> Reply:
        if turn.message == "0":
            raise EngineError("overloaded")
        return Reply("fine")

    engine.script, engine.gate = script, asyncio.Event()
    waiting = []
    for n in range(3):
        waiting.append(asyncio.create_task(caller.send(str(n), "v")))
        await until(lambda n=n: app.services.conversation_locks.unfinished == n + 1)  # type: ignore[misc]  # bound at once
    engine.release()
    assert [(await request).status for request in waiting] == [502, 200, 200]
    assert [len(turn.history) for turn in engine.turns] == [0, 0, 2]


async def test_different_conversations_are_answered_at_the_same_time(app: App, caller: Caller, engine: ScriptedEngine) -> None:
    other = Caller(app, caller.session, caller.account, "", caller.key)
    other.bot = (await bots.create(app.services, ADMIN, name="Other", account=caller.account, model="scripted")).id
    engine.gate = asyncio.Event()
    sent = [caller.send("m", "a"), caller.send("m", "b"), other.send("m", "a"), caller.send("m"), caller.send("m")]
    waiting = [asyncio.create_task(request) for request in sent]
    await until(lambda: len(engine.turns) == 5)
    engine.release()
    assert [(await request).status for request in waiting] == [200] * 5


async def test_busy_is_told_at_the_deadline_and_nothing_is_charged(
    app: App, make_caller: MakeCaller, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = await make_caller(messages_limit=2)
    record, disk = exchanges.record, asyncio.Event()

    async def slow(*arguments: Any) -> Any:
        await disk.wait()
        return await record(*arguments)

    monkeypatch.setattr(exchanges, "record", slow)
    first = asyncio.create_task(caller.send("first", "v"))
    await until(lambda: bool(engine.turns))
    app.services.config = replace(app.config, anthropic=replace(app.config.anthropic, timeout_s=0.15))
    began = asyncio.get_running_loop().time()
    answer = await caller.send("second", "v")
    took = asyncio.get_running_loop().time() - began
    assert answer.status == 502
    assert answer.json == envelope("assistant_unavailable", reason="busy")
    assert took > 0.14
    app.services.config = app.config
    disk.set()
    assert (await first).status == 200
    monkeypatch.undo()
    assert [turn.message for turn in engine.turns] == ["first"]
    assert [(await caller.send(user_id="v")).status for _ in range(2)] == [200, 402]
    assert await app.services.conversation_locks.locked("v", caller.bot) == []


async def test_what_is_left_of_the_deadline_is_what_the_engine_gets(app: App, caller: Caller, engine: ScriptedEngine) -> None:
    waiting = [await engine.hold(caller.send("a", "v")), asyncio.create_task(caller.send("b", "v"))]
    await until(lambda: app.services.conversation_locks.waiting == 1)
    await asyncio.sleep(0.1)
    engine.release()
    await asyncio.gather(*waiting)
    first, second = (turn.timeout_s for turn in engine.turns)
    assert 20 < first <= 30
    assert 20 < second < 29.91


# -- callers that hang up -----------------------------------------------------------------------------------------------


async def _stored(app: App) -> tuple[int, int, int]:
    ((messages, records, used),) = await execute(
        app,
        "SELECT (SELECT count(*) FROM messages), (SELECT count(*) FROM usage_records),"
        " (SELECT coalesce(sum(messages_used), 0) FROM allowances)",
    )
    return messages, records, used


async def test_a_caller_that_hangs_up_mid_answer_finds_the_exchange_written_once(
    app: App, caller: Caller, connect: Connect, engine: ScriptedEngine
) -> None:
    engine.gate = asyncio.Event()
    wire = await connect()
    body = json.dumps({"chatbot_id": caller.bot, "message": "hello", "user_id": "v"}).encode()
    await wire.send(request("POST", "/api/v2/messages", caller, body=body))
    await until(lambda: bool(engine.turns))
    wire.hang_up()
    await asyncio.sleep(0.05)
    assert await _stored(app) == (0, 0, 0)
    engine.release()
    await until(lambda: app.services.conversation_locks.unfinished == 0)
    assert await _stored(app) == (2, 1, 1)
    assert (await caller.send("again", "v")).status == 200
    assert [message.content for message in engine.turns[-1].history] == ["hello", "echo: hello"]
    assert len(engine.turns) == 2


async def test_a_caller_that_hangs_up_while_it_waits_its_turn_is_answered_in_its_turn(
    app: App, caller: Caller, connect: Connect, engine: ScriptedEngine
) -> None:
    first = await engine.hold(caller.send("first", "v"))
    wire = await connect()
    body = json.dumps({"chatbot_id": caller.bot, "message": "second", "user_id": "v"}).encode()
    await wire.send(request("POST", "/api/v2/messages", caller, body=body))
    await until(lambda: app.services.conversation_locks.unfinished == 2)
    wire.hang_up()
    third = asyncio.create_task(caller.send("third", "v"))
    await until(lambda: app.services.conversation_locks.unfinished == 3)
    engine.release()
    assert [(await request).status for request in (first, third)] == [200, 200]
    assert [turn.message for turn in engine.turns] == ["first", "second", "third"]
    assert await _stored(app) == (6, 3, 3)


async def test_a_caller_that_hangs_up_before_its_body_is_whole_sends_nothing(
    app: App, caller: Caller, connect: Connect, engine: ScriptedEngine, caplog: pytest.LogCaptureFixture
) -> None:
    body = json.dumps({"chatbot_id": caller.bot, "message": "hello"}).encode()
    for cut in (1, len(body)):
        wire = await connect()
        await wire.send(request("POST", "/api/v2/messages", caller, body=body)[:-cut])
        await asyncio.sleep(0.02)
        wire.hang_up()
    await asyncio.sleep(0.05)
    assert engine.turns == []
    assert await _stored(app) == (0, 0, 0)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that waits for connections hardly at all when it stops."""
    monkeypatch.setattr("chatsvc.app.GRACE_S", 0.05)


async def test_what_a_caller_that_hung_up_had_asked_is_answered_before_the_service_stops(
    impatient: None, app: App, caller: Caller, connect: Connect, engine: ScriptedEngine, config: Config, clock: FakeClock
) -> None:
    engine.gate = asyncio.Event()
    body = json.dumps({"chatbot_id": caller.bot, "message": "hello", "user_id": "v"}).encode()
    wire = await connect()
    await wire.send(request("POST", "/api/v2/messages", caller, body=body))
    await until(lambda: bool(engine.turns))
    wire.hang_up()
    stopping = asyncio.create_task(app.stop())
    await asyncio.sleep(0.3)
    engine.release()
    await stopping
    async with App(config, clock, store_of_test()) as again:
        assert await _stored(again) == (2, 1, 1)
