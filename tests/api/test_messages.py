"""POST /messages (help/interface.md 5.3): the body rule by rule, the order of the checks, one answer at a time."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.engines import EngineError, Reply, Turn
from chatsvc.services.accounts import accounts, bots
from chatsvc.services.messages.conversation_locks import ConversationLocks
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


async def test_the_language_override_and_the_history_reach_the_engine(caller: Caller, engine: ScriptedEngine) -> None:
    await caller.send("first", "v")
    await caller.send("second", "v", language="en-GB")
    assert engine.turns[1].language == "en-GB"
    assert [(m.role, m.content) for m in engine.turns[1].history] == [("user", "first"), ("assistant", "echo: first")]


async def test_the_history_that_reaches_the_engine_is_the_newest_of_this_conversation_alone(caller: Caller, engine: ScriptedEngine) -> None:
    for n in range(25):
        await caller.send(f"{n}", "v")
    await caller.send("other", "w")
    await caller.send("last", "v")
    assert engine.turns[-2].history == []
    history = [message.content for message in engine.turns[-1].history]
    assert history == [text for n in range(5, 25) for text in (f"{n}", f"echo: {n}")]


async def test_without_a_user_id_one_is_made_that_can_be_continued(caller: Caller, engine: ScriptedEngine) -> None:
    first, second = (await caller.send("first")).json["data"], (await caller.send("second")).json["data"]
    assert re.fullmatch("[0-9a-f]{32}", first["user_id"])
    assert first["session_id"] == f"api:{first['user_id']}"
    assert first["user_id"] != second["user_id"]
    await caller.send("again", first["user_id"])
    assert [message.content for message in engine.turns[-1].history] == ["first", "echo: first"]


# -- the body -----------------------------------------------------------------------------------------------------------

GOOD = '"chatbot_id": "x", "message": "hello"'

NOT_JSON: dict[str, bytes | str] = {
    "nothing": b"",
    "white space": b" \r\n\t ",
    "half an object": "{",
    "half a field": '{"chatbot_id": "x", "mess',
    "no JSON": "hello",
    "a form": "chatbot_id=x&message=hello",
    "single quotes": "{'chatbot_id': 'x'}",
    "a comma too many": f"{{{GOOD},}}",
    "a comment": f"{{{GOOD} /* hi */}}",
    "a name without quotes": '{chatbot_id: "x"}',
    "something behind it": f"{{{GOOD}}} x",
    "two objects": f"{{{GOOD}}}{{{GOOD}}}",
    "a line break in a string": '{"chatbot_id": "x", "message": "a\nb"}',
    "a control character in a string": '{"chatbot_id": "x", "message": "a\x01b"}',
    "half an escape": '{"chatbot_id": "x", "message": "\\u00"}',
    "an unknown escape": '{"chatbot_id": "x", "message": "\\x41"}',
    "BOM": b"\xef\xbb\xbf{" + GOOD.encode() + b"}",
    "UTF-16": f"{{{GOOD}}}".encode("utf-16"),
    "UTF-16 without BOM": f"{{{GOOD}}}".encode("utf-16-le"),
    "UTF-32": f"{{{GOOD}}}".encode("utf-32-be"),
    "Latin-1": '{"chatbot_id": "x", "message": "é"}'.encode("latin-1"),
    "overlong UTF-8": b'{"chatbot_id": "x", "message": "\xc0\x80"}',
    "a surrogate in UTF-8": b'{"chatbot_id": "x", "message": "\xed\xa0\xbd"}',
    "beyond Unicode": b'{"chatbot_id": "x", "message": "\xf4\x90\x80\x80"}',
    "a cut character": b'{"chatbot_id": "x", "message": "\xf0\x9f\x9a"}',
    "gzip": gzip.compress(f"{{{GOOD}}}".encode()),
    "NaN": '{"chatbot_id": NaN, "message": "hello"}',
    "Infinity": '{"chatbot_id": "x", "message": Infinity}',
    "-Infinity": '{"chatbot_id": "x", "message": [-Infinity]}',
    "NaN alone": "NaN",
    "5,000 digits": f'{{"chatbot_id": "x", "message": {"9" * 5000}}}',
    "60,000 digits": f"-{'1' * 60_000}",
    "30,000 arrays": "[" * 30_000,
    "30,000 arrays, closed": "[" * 30_000 + "]" * 30_000,
    "30,000 arrays as a field": f'{{"chatbot_id": "x", "message": {"[" * 30_000}{"]" * 30_000}}}',
    "10,000 objects": '{"a":' * 10_000 + "1" + "}" * 10_000,
}


@pytest.mark.parametrize("body", NOT_JSON.values(), ids=NOT_JSON)
async def test_what_is_no_json_is_invalid_json(body: bytes | str, caller: Caller) -> None:
    answer = await _post(caller, body)
    assert answer.status == 400
    assert answer.json == envelope("invalid_json", NO_JSON)
    assert_headers(answer, limit=100_000, remaining=99_999)


@pytest.mark.parametrize(
    "body", ["[]", '["chatbot_id", "message"]', f"[{{{GOOD}}}]", '"text"', "1", "0.5", "true", "false", "null", "1e400"]
)
async def test_json_that_is_no_object_is_invalid_json(body: str, caller: Caller) -> None:
    assert (await _post(caller, body)).json == envelope("invalid_json", NO_OBJECT)


@pytest.mark.parametrize(
    "body",
    [
        f'{{{GOOD}, "message": "hello"}}',
        f'{{{GOOD}, "chatbot_id": "x"}}',
        f'{{{GOOD}, "user_id": null, "user_id": null}}',
        f'{{{GOOD}, "mess\\u0061ge": "other"}}',
        '{"chatbot_id": "x", "message": {"a": 1, "a": 2}}',
        '[{"a": 1, "a": 1}]',
    ],
)
async def test_a_field_sent_twice_is_invalid_json(body: str, caller: Caller) -> None:
    assert (await _post(caller, body)).json == envelope("invalid_json", TWICE)


@pytest.mark.parametrize("name", ["chatbot_id", "message", "user_id", "language"])
@pytest.mark.parametrize("text", ["\\u0000", "a\\u0000b", "\\ud83d", "\\udeb2", "\\udeb2\\ud83d", "a\\ud83db"])
async def test_nul_and_half_pairs_are_invalid_json_in_every_field(name: str, text: str, caller: Caller) -> None:
    fields = {"chatbot_id": '"x"', "message": '"hello"', "user_id": '"v"', "language": '"tr"', name: f'"{text}"'}
    answer = await _post(caller, "{" + ", ".join(f'"{key}": {value}' for key, value in fields.items()) + "}")
    assert answer.json == envelope("invalid_json", UNPRINTABLE)


@pytest.mark.parametrize("name", ["\\u0000", "\\ud83d", "message\\u0000"])
async def test_nul_and_half_pairs_are_invalid_json_in_a_name_too(name: str, caller: Caller) -> None:
    assert (await _post(caller, f'{{{GOOD}, "{name}": 1}}')).json == envelope("invalid_json", UNPRINTABLE)


@pytest.mark.parametrize("name", ["stream", "Message", "chatbot_id ", "", "ı", "🚲", "userId", "bot_id", "__proto__", "x" * 64])
async def test_another_field_is_invalid_json_and_named(name: str, caller: Caller) -> None:
    for body in ({"chatbot_id": caller.bot, "message": "hello", name: None}, {name: {"nested": [1]}}):
        answer = await caller.request("POST", "/messages", json=body)
        assert answer.status == 400
        assert answer.json == envelope("invalid_json", _unknown(name))


async def test_a_very_long_name_of_a_field_is_shown_shortened(caller: Caller) -> None:
    answer = await caller.request("POST", "/messages", json={"x" * 60_000: 1})
    assert answer.json == envelope("invalid_json", _unknown("x" * 64 + "…"))


@pytest.mark.parametrize("value", [None, "", 1, 1.5, True, [], {}, ["x"], {"id": "x"}])
async def test_a_chatbot_id_that_is_missing_or_no_string_is_missing(value: Any, caller: Caller) -> None:
    answer = await caller.request("POST", "/messages", json={"chatbot_id": value, "message": "hello"})
    assert answer.status == 400
    assert answer.json == envelope("missing_chatbot_id")


@pytest.mark.parametrize("value", [None, "", " ", "\n\t\r ", "\u2003\u00a0\u3000", 1, True, [], {}, ["hello"]])
async def test_a_message_that_is_missing_blank_or_no_string_is_missing(value: Any, caller: Caller) -> None:
    answer = await caller.request("POST", "/messages", json={"chatbot_id": caller.bot, "message": value})
    assert answer.status == 400
    assert answer.json == envelope("missing_message")


async def test_without_any_field_the_chatbot_id_is_missing_first(caller: Caller) -> None:
    assert (await _post(caller, "{}")).json == envelope("missing_chatbot_id")
    assert (await caller.request("POST", "/messages", json={"message": ""})).json == envelope("missing_chatbot_id")


@pytest.mark.parametrize("character", ["x", "ı", "🚲", "\u0301", '"', "\u200b"])
async def test_a_message_has_4000_code_points_at_most(character: str, caller: Caller) -> None:
    answer = await caller.send(character * 4000, "v")
    assert answer.status == 200
    assert answer.json["data"]["message"] == character * 4000
    answer = await caller.send(character * 4001, "v")
    assert answer.status == 400
    assert answer.json == envelope("message_too_long", max_chars=4000)


async def test_white_space_counts_towards_the_length(caller: Caller) -> None:
    assert (await caller.send(" " * 3999 + "x")).status == 200
    assert (await caller.send(" " * 4000 + "x")).json == envelope("message_too_long", max_chars=4000)


async def test_pairs_of_escapes_are_one_character(caller: Caller) -> None:
    text = "\\ud83d\\udeb2" * 4000
    body = f'{{"chatbot_id": "{caller.bot}", "message": "{text}"}}'
    assert (await _post(caller, body)).json["data"]["message"] == "🚲" * 4000


async def test_the_message_comes_back_and_is_asked_as_it_was_sent(caller: Caller, engine: ScriptedEngine) -> None:
    for text in ("  hello  ", "\n", "Ş\u0327 İı", "<b>&amp;</b>", '"\\/\b\f\n\r\t', "\u2028\ufeff\U0010ffff\ufffe", "'; DROP TABLE x; --"):
        answer = await caller.send(f"a{text}", "v")
        assert answer.json["data"]["message"] == f"a{text}"
        assert engine.turns[-1].message == f"a{text}"


async def test_a_body_of_64_kib_is_read_and_one_byte_more_is_too_long(caller: Caller) -> None:
    body = json.dumps({"chatbot_id": caller.bot, "message": "hello"}).encode()
    assert (await _post(caller, body.ljust(KIB64))).status == 200
    for size in (KIB64 + 1, 100_000, 5_000_000):
        answer = await caller.request("POST", "/messages", data=io.BytesIO(body.ljust(size)))
        assert answer.status == 400
        assert answer.json == envelope("message_too_long", max_chars=4000)


async def test_the_size_of_a_body_without_a_length_is_counted_too(caller: Caller) -> None:
    body = json.dumps({"chatbot_id": caller.bot, "message": "hello"}).encode()

    async def pieces(size: int) -> AsyncIterator[bytes]:
        whole = body.ljust(size)
        for start in range(0, size, 10_000):
            yield whole[start : start + 10_000]

    assert (await caller.request("POST", "/messages", data=pieces(KIB64))).status == 200
    answer = await caller.request("POST", "/messages", data=pieces(KIB64 + 1))
    assert answer.json == envelope("message_too_long", max_chars=4000)


async def test_100000_arrays_are_too_much_before_they_are_parsed(caller: Caller) -> None:
    assert (await _post(caller, "[" * 100_000)).json == envelope("message_too_long", max_chars=4000)


@pytest.mark.parametrize("value", [1, 0, False, True, [], {}, ["v"], 1.5])
@pytest.mark.parametrize("name", ["user_id", "language"])
async def test_an_optional_field_that_is_no_string_is_invalid_json_and_named(name: str, value: Any, caller: Caller) -> None:
    answer = await caller.send(**{name: value})
    assert answer.status == 400
    assert answer.json == envelope("invalid_json", _no_string(name))


@pytest.mark.parametrize("value", [None, ""])
async def test_null_and_empty_optional_fields_count_as_omitted(value: str | None, caller: Caller, engine: ScriptedEngine) -> None:
    body = {"chatbot_id": caller.bot, "message": "hello", "user_id": value, "language": value}
    answer = await caller.request("POST", "/messages", json=body)
    assert re.fullmatch("[0-9a-f]{32}", answer.json["data"]["user_id"])
    assert engine.turns[0].language is None


@pytest.mark.parametrize("character", ["v", "ı", "🚲", " "])
async def test_a_user_id_has_128_characters_at_most(character: str, caller: Caller) -> None:
    assert (await caller.send("m", character * 128)).json["data"]["user_id"] == character * 128
    assert (await caller.send("m", character * 129)).json == envelope("invalid_json", LONG_USER)


@pytest.mark.parametrize(
    "tag", ["tr", "en", "en-GB", "EN-gb", "zh-Hant-TW", "es-419", "sr-Latn", "de-CH-1996", "ckb", "en-x-shop", "de-u-co-phonebk"]
)
async def test_a_bcp_47_tag_reaches_the_engine_as_it_was_sent(tag: str, caller: Caller, engine: ScriptedEngine) -> None:
    assert (await caller.send(language=tag)).status == 200
    assert engine.turns[0].language == tag


@pytest.mark.parametrize(
    "tag", ["t", "en_GB", "en-", "-en", "en--GB", "türkçe", "e n", " tr", "tr ", "tr\n", "*", "12", "en-GB-", "x" * 9, "en" + "-abcde" * 30]
)
async def test_what_is_no_language_tag_is_invalid_json_and_named(tag: str, caller: Caller, engine: ScriptedEngine) -> None:
    assert (await caller.send(language=tag)).json == envelope("invalid_json", NO_TAG)
    assert engine.turns == []


@pytest.mark.parametrize(
    "kind", ["application/json", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1", "x"]
)
async def test_the_content_type_does_not_matter(kind: str, caller: Caller) -> None:
    body = json.dumps({"chatbot_id": caller.bot, "message": "ş"}, ensure_ascii=False)
    assert (await _post(caller, body, **{"Content-Type": kind})).json["data"]["message"] == "ş"


async def test_a_compressed_body_is_not_unpacked(caller: Caller) -> None:
    bomb = gzip.compress(json.dumps({"chatbot_id": caller.bot, "message": "x"}).encode().ljust(10_000_000))
    assert (await _post(caller, bomb, **{"Content-Encoding": "gzip"})).json == envelope("invalid_json", NO_JSON)


async def test_no_refused_body_reaches_the_engine_or_the_store(app: App, caller: Caller, engine: ScriptedEngine) -> None:
    for body in ("", "[]", "{}", f'{{"chatbot_id": "{caller.bot}", "message": "m", "x": 1}}'):
        assert (await _post(caller, body)).status == 400
    assert engine.turns == []
    assert await execute(app, "SELECT (SELECT count(*) FROM messages) + (SELECT count(*) FROM conversations)") == [(0,)]


async def test_the_query_of_the_path_is_no_part_of_the_message(caller: Caller) -> None:
    body = {"chatbot_id": caller.bot, "message": "hello"}
    answer = await caller.request("POST", "/messages?message=other&chatbot_id=x", json=body)
    assert answer.json["data"]["message"] == "hello"


# -- the order of the checks --------------------------------------------------------------------------------------------


async def test_the_checks_come_in_the_order_of_the_decisions(app: App, make_caller: MakeCaller, engine: ScriptedEngine) -> None:
    caller = await make_caller(messages_limit=0, status="paused")
    await bots.deactivate(app.services, ADMIN, bot=caller.bot)
    engine.script = failing("timeout")
    body: dict[str, Any] = {"surplus": 1, "user_id": 1, "language": "?"}
    headers = {"Idempotency-Key": "not visible: ü"}
    seen = []

    async def step() -> None:
        answer = await caller.request("POST", "/messages", json=body, headers=headers)
        seen.append((answer.status, answer.error, answer.json.get("reason")))

    await step()
    del body["surplus"]
    await step()
    body["chatbot_id"] = "nobody"
    await step()
    body["message"] = "x" * 4001
    await step()
    body["message"] = "hello"
    await step()
    body["user_id"] = "v"
    await step()
    del body["language"]
    await step()
    del headers["Idempotency-Key"]
    await step()
    body["chatbot_id"] = caller.bot
    await step()
    await bots.activate(app.services, ADMIN, bot=caller.bot)
    await step()
    await accounts.change(app.services, ADMIN, account=caller.account, status="active")
    await step()
    await accounts.change(app.services, ADMIN, account=caller.account, messages_limit=1)
    await step()
    assert seen == [
        (400, "invalid_json", None),
        (400, "missing_chatbot_id", None),
        (400, "missing_message", None),
        (400, "message_too_long", None),
        (400, "invalid_json", None),
        (400, "invalid_json", None),
        (400, "invalid_json", None),
        (404, "chatbot_not_found", None),
        (409, "chatbot_inactive", None),
        (402, "message_quota_exceeded", "subscription_inactive"),
        (402, "message_quota_exceeded", "allowance_exhausted"),
        (502, "assistant_unavailable", "timeout"),
    ]
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
    engine.gate = asyncio.Event()
    under_way = asyncio.create_task(caller.send())
    await until(lambda: bool(engine.turns))
    await bots.deactivate(app.services, ADMIN, bot=caller.bot)
    engine.gate.set()
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
    engine.gate.set()
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
    engine.gate.set()
    assert [(await one).status for one in waiting] == [502, 200, 200]
    assert [len(turn.history) for turn in engine.turns] == [0, 0, 2]


async def test_different_conversations_are_answered_at_the_same_time(app: App, caller: Caller, engine: ScriptedEngine) -> None:
    other = Caller(app, caller.session, caller.account, "", caller.key)
    other.bot = (await bots.create(app.services, ADMIN, name="Other", account=caller.account, model="scripted")).id
    engine.gate = asyncio.Event()
    sent = [caller.send("m", "a"), caller.send("m", "b"), other.send("m", "a"), caller.send("m"), caller.send("m")]
    waiting = [asyncio.create_task(one) for one in sent]
    await until(lambda: len(engine.turns) == 5)
    engine.gate.set()
    assert [(await one).status for one in waiting] == [200] * 5


async def test_busy_is_told_at_the_deadline_and_nothing_is_charged(
    app: App, make_caller: MakeCaller, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = await make_caller(messages_limit=2)
    app.services.config = replace(app.config, anthropic=replace(app.config.anthropic, timeout_s=0.15))
    record, disk = exchanges.record, asyncio.Event()

    async def slow(*arguments: Any) -> Any:
        await disk.wait()
        return await record(*arguments)

    monkeypatch.setattr(exchanges, "record", slow)
    first = asyncio.create_task(caller.send("first", "v"))
    await until(lambda: bool(engine.turns))
    began = asyncio.get_running_loop().time()
    answer = await caller.send("second", "v")
    took = asyncio.get_running_loop().time() - began
    assert answer.status == 502
    assert answer.json == envelope("assistant_unavailable", reason="busy")
    assert 0.14 < took < 5
    disk.set()
    assert (await first).status == 200
    monkeypatch.undo()
    assert [turn.message for turn in engine.turns] == ["first"]
    assert [(await caller.send(user_id="v")).status for _ in range(2)] == [200, 402]
    assert isinstance(app.services.conversation_locks, ConversationLocks)
    assert app.services.conversation_locks._queues == {}


async def test_what_is_left_of_the_deadline_is_what_the_engine_gets(app: App, caller: Caller, engine: ScriptedEngine) -> None:
    engine.delay_s = 0.1
    await asyncio.gather(caller.send("a", "v"), caller.send("b", "v"))
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
    engine.gate.set()
    await until(lambda: app.services.conversation_locks.unfinished == 0)
    assert await _stored(app) == (2, 1, 1)
    assert (await caller.send("again", "v")).status == 200
    assert [message.content for message in engine.turns[-1].history] == ["hello", "echo: hello"]
    assert len(engine.turns) == 2


async def test_a_caller_that_hangs_up_while_it_waits_its_turn_is_answered_in_its_turn(
    app: App, caller: Caller, connect: Connect, engine: ScriptedEngine
) -> None:
    engine.gate = asyncio.Event()
    first = asyncio.create_task(caller.send("first", "v"))
    await until(lambda: bool(engine.turns))
    wire = await connect()
    body = json.dumps({"chatbot_id": caller.bot, "message": "second", "user_id": "v"}).encode()
    await wire.send(request("POST", "/api/v2/messages", caller, body=body))
    await until(lambda: app.services.conversation_locks.unfinished == 2)
    wire.hang_up()
    third = asyncio.create_task(caller.send("third", "v"))
    await until(lambda: app.services.conversation_locks.unfinished == 3)
    engine.gate.set()
    assert [(await one).status for one in (first, third)] == [200, 200]
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
    engine.gate.set()
    await stopping
    async with App(config, clock, store_of_test()) as again:
        assert await _stored(again) == (2, 1, 1)
