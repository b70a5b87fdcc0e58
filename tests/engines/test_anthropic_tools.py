"""Captures through tools: accepted and refused arguments, and the results that the model gets."""

import json
from dataclasses import replace
from datetime import date, time
from typing import Any

import pytest

from chatsvc.domain.captures import Captured
from chatsvc.domain.models import Usage
from chatsvc.engines import Reply, Turn
from chatsvc.engines.anthropic import AnthropicEngine, answer, prompt, tools
from tests.engines.model_server import ModelServer, answers, calls, message, says
from tests.engines.test_anthropic import BOT, TURN, past
from tests.tables import rows

SAID = "Fren tamiri için fiyat istiyorum. Ben Selin, selin@example.com, 0532 123 45 67"
ASKED = replace(TURN, message=SAID, may_capture=True)

REQUEST = {"request_type": "quote", "quotes": ["Fren tamiri için fiyat istiyorum"], "visitor_email": "selin@example.com"}
APPOINTMENT = {
    "date": "2026-11-23",
    "time": "10:30",
    "quotes": ["Fren tamiri"],
    "visitor_name": "Selin",
    "visitor_phone": "+90 532 123 45 67",
}
NOTED = Captured("quote", "Fren tamiri için fiyat istiyorum.", None, "selin@example.com", None)
BOOKED = Captured("appointment", "Fren tamiri", "Selin", None, "+905321234567", date(2026, 11, 23), time(10, 30))


def request(**changes: object) -> tuple[str, object]:
    return tools.NOTE_REQUEST, {**REQUEST, **changes}


def appointment(**changes: object) -> tuple[str, object]:
    return tools.NOTE_APPOINTMENT, {**APPOINTMENT, **changes}


def results(server: ModelServer) -> list[dict[str, Any]]:
    """The last tool results that the model was sent."""
    blocks: list[dict[str, Any]] = server.body["messages"][-1]["content"]
    assert {block["type"] for block in blocks} == {"tool_result"}
    return blocks


async def told(server: ModelServer, engine: AnthropicEngine, turn: Turn, *uses: tuple[str, object]) -> tuple[Reply, list[dict[str, Any]]]:
    """Reply and tool results of a model that makes these calls and then replies."""
    server.script.extend([calls(*uses), says("Tamam.")])
    reply = await engine.reply(turn)
    return reply, results(server)


# --- what is offered -------------------------------------------------------------------------------------------------


async def test_tools_are_offered_where_something_may_be_captured_and_only_there(server: ModelServer, engine: AnthropicEngine) -> None:
    await engine.reply(ASKED)
    assert {tool["name"] for tool in server.body["tools"]} == {"note_request", "note_appointment", "no_answer"}
    assert set(server.body) == {"model", "max_tokens", "system", "messages", "tools"}, "no tool_choice: not every server knows it"
    assert "call the tool no_answer" in server.body["system"][0]["text"]
    assert "yet to be confirmed is said once" in server.body["system"][0]["text"]
    await engine.reply(replace(ASKED, may_capture=False))
    assert "tools" not in server.body
    assert "You can only talk." in server.body["system"][0]["text"]


def test_the_schemas_are_strict_and_small() -> None:
    for tool in tools.DEFINITIONS.values():
        schema: Any = tool["input_schema"]
        assert schema["additionalProperties"] is False
        assert set(schema.get("required", [])) <= set(schema["properties"])
        assert {field["type"] for field in schema["properties"].values()} <= {"string", "array", "boolean"}
    assert len(json.dumps(tools.DEFINITIONS)) < 8_000
    assert answer.NO_ANSWER in prompt.rules(BOT, "", offered=tuple(tools.DEFINITIONS), cached=False)["text"]


# --- capturing -------------------------------------------------------------------------------------------------------


async def test_a_request_is_noted_and_the_model_hears_it_before_it_talks(server: ModelServer, engine: AnthropicEngine) -> None:
    server.script.extend([calls(request()), says("Not aldım.")])
    assert await engine.reply(ASKED) == Reply("Not aldım.", Usage(20, 10), NOTED)
    first, second = (seen.body for seen in server.seen)
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert {**first, "messages": 0} == {**second, "messages": 0}, "caches hold only while nothing before changes"
    call, result = second["messages"][-2:]
    use = {"type": "tool_use", "id": "toolu_1_0", "name": "note_request", "input": REQUEST}
    assert call == {"role": "assistant", "content": [use]}
    assert result["role"] == "user"
    assert result["content"][0]["tool_use_id"] == "toolu_1_0"
    assert result["content"][0]["content"] == (
        "Noted. The team reads: request (quote); e-mail selin@example.com; words: “Fren tamiri için fiyat istiyorum.”. They will see it."
    )
    assert "is_error" not in result["content"][0]


async def test_an_appointment_is_noted_on_the_business_calendar(server: ModelServer, engine: AnthropicEngine) -> None:
    reply, blocks = await told(server, engine, ASKED, appointment())
    assert reply == Reply("Tamam.", Usage(20, 10), BOOKED)
    assert "appointment on Monday 2026-11-23 at 10:30; name Selin; phone +905321234567; words: “Fren tamiri”." in blocks[0]["content"]


async def test_a_request_and_an_appointment_of_one_message_are_one_record(server: ModelServer, engine: AnthropicEngine) -> None:
    both = replace(BOOKED, message="Fren tamiri\nFren tamiri için fiyat istiyorum.", visitor_email="selin@example.com")
    assert (await told(server, engine, ASKED, request(), appointment()))[0].captured == both
    server.script.extend([calls(request()), calls(appointment()), says("Tamam.")])
    assert await engine.reply(ASKED) == Reply("Tamam.", Usage(30, 15), both)


async def test_contact_data_of_earlier_messages_counts(server: ModelServer, engine: AnthropicEngine) -> None:
    turn = replace(ASKED, message="evet, lütfen", history=past(SAID, "Not alayım mı?"))
    assert (await told(server, engine, turn, request()))[0].captured == NOTED


async def test_a_second_call_of_the_same_tool_takes_the_place_of_the_first(server: ModelServer, engine: AnthropicEngine) -> None:
    reply, blocks = await told(server, engine, ASKED, appointment(), appointment(time="11:00"))
    assert [block.get("is_error", False) for block in blocks] == [False, False]
    assert blocks[1]["content"].startswith("Noted in place of what this message noted before.")
    assert reply.captured == replace(BOOKED, time=time(11))


async def test_more_calls_in_one_answer_than_there_is_use_for_are_left_out(server: ModelServer, engine: AnthropicEngine) -> None:
    _, blocks = await told(server, engine, ASKED, *[request()] * 20)
    assert len(blocks) == answer.MAX_CALLS
    assert len(server.body["messages"][-2]["content"]) == answer.MAX_CALLS


# --- quotes ----------------------------------------------------------------------------------------------------------

COMPLAINT = "Picked my bike up and the gears still slip. Get the manager to ring me between 10 and 11, 07700 900256. Gareth"


async def test_every_quote_is_kept_in_the_order_of_the_conversation(server: ModelServer, engine: AnthropicEngine) -> None:
    turn = replace(ASKED, message="I want my money back!", history=past(COMPLAINT, "I am sorry."), bot=BOT._replace(country="GB"))
    quotes = ["i want my money back", "the gears STILL slip ... get the manager to ring me between 10 and 11", "he is furious about it"]
    use = request(request_type="support", quotes=quotes, visitor_email=None, visitor_phone="07700 900256", visitor_name="Gareth")
    reply, blocks = await told(server, engine, turn, use)
    assert reply.captured is not None
    assert reply.captured.message.splitlines() == [
        "the gears still slip. Get the manager to ring me between 10 and 11",
        "I want my money back!",
    ]
    assert "10 and 11” / “I want my money back!”" in blocks[0]["content"]
    assert blocks[0]["content"].endswith("Left out, since it is no quote of the visitor's: “he is furious about it”.")


@pytest.mark.parametrize("quotes", [["The customer demands a refund at once"], [], None])
async def test_without_a_quote_all_that_the_visitor_said_is_kept(server: ModelServer, engine: AnthropicEngine, quotes: object) -> None:
    turn = replace(ASKED, history=past("Fren sesi geliyor", "Ne zamandır?", "iki haftadır"))
    reply, _ = await told(server, engine, turn, request(quotes=quotes))
    assert reply.captured is not None
    assert reply.captured.message.splitlines() == ["Fren sesi geliyor", "iki haftadır", SAID]


async def test_quotes_as_one_text_are_quotes(server: ModelServer, engine: AnthropicEngine) -> None:
    assert (await told(server, engine, ASKED, request(quotes="fren tamiri için fiyat istiyorum")))[0].captured == NOTED


# --- what the visitor did not type -----------------------------------------------------------------------------------


async def test_what_the_visitor_did_not_type_is_dropped_and_the_model_hears_it(server: ModelServer, engine: AnthropicEngine) -> None:
    reply, blocks = await told(server, engine, ASKED, request(visitor_name="Mehmet Kaya", visitor_phone="+90 555 000 11 22"))
    assert reply.captured == NOTED
    assert blocks[0]["content"].endswith("Left out, since the visitor did not type it: name, phone.")


@pytest.mark.parametrize("changes", [{"visitor_email": "boss@example.com"}, {"visitor_email": None}, {"visitor_email": ""}])
async def test_a_request_of_nobody_who_can_be_reached_is_not_noted(
    server: ModelServer, engine: AnthropicEngine, changes: dict[str, object]
) -> None:
    reply, blocks = await told(server, engine, ASKED, request(**changes))
    assert reply == Reply("Tamam.", Usage(20, 10))
    assert blocks[0]["is_error"]
    assert "an e-mail address or a phone number" in blocks[0]["content"]
    assert "boss@" not in blocks[0]["content"]


async def test_on_whatsapp_the_visitor_is_reached_where_they_write_from(server: ModelServer, engine: AnthropicEngine) -> None:
    reply, _ = await told(server, engine, replace(ASKED, channel="whatsapp"), request(visitor_email=None))
    assert reply.captured == replace(NOTED, visitor_email=None)


async def test_an_appointment_wants_a_name_that_was_typed(server: ModelServer, engine: AnthropicEngine) -> None:
    reply, blocks = await told(server, engine, ASKED, appointment(visitor_name="Mehmet"))
    assert reply.captured is None
    assert "a name" in blocks[0]["content"]


# --- dates -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("changes", "why"), rows("engines/impossible_days"))
async def test_a_day_that_cannot_be_is_not_noted(server: ModelServer, engine: AnthropicEngine, changes: str, why: str) -> None:
    reply, blocks = await told(server, engine, ASKED, appointment(**json.loads(changes)))
    assert reply == Reply("Tamam.", Usage(20, 10))
    assert blocks[0]["is_error"]
    assert why in blocks[0]["content"]


@pytest.mark.parametrize("hours", [None, "", "weekdays, ring the bell"])
async def test_without_hours_that_can_be_read_every_hour_is_open(server: ModelServer, engine: AnthropicEngine, hours: str | None) -> None:
    turn = replace(ASKED, bot=BOT._replace(opening_hours=hours))
    assert (await told(server, engine, turn, appointment(date="2026-11-22", time="3:15")))[0].captured is not None


@pytest.mark.parametrize("changes", [{"date": "2026-11-22"}, {"time": "08:59"}, {"time": "18:00"}])
async def test_a_wish_outside_the_hours_is_noted_and_told_apart(
    server: ModelServer, engine: AnthropicEngine, changes: dict[str, object]
) -> None:
    reply, blocks = await told(server, engine, ASKED, appointment(**changes))
    assert reply.captured is not None
    assert "The business is closed then: tell the visitor" in blocks[0]["content"]


@pytest.mark.parametrize(("form", "clock"), [("date", time(9)), ("nights", time(9)), ("time", None)])
async def test_a_day_alone_is_enough_where_a_day_or_a_stay_is_booked(
    server: ModelServer, engine: AnthropicEngine, form: str, clock: time | None
) -> None:
    profile = json.dumps({"forms": {"appointment": {"appointment": form, "fields": []}}})
    turn = replace(ASKED, bot=BOT._replace(profile=profile))
    reply, blocks = await told(server, engine, turn, appointment(time=None, end_date="2026-11-25", item="oda"))
    assert (reply.captured and reply.captured.time) == clock
    if clock is not None:
        assert all(part in blocks[0]["content"] for part in (" until 2026-11-25;", "only in the quotes: item."))


# --- arguments that are none -----------------------------------------------------------------------------------------

GIVEN: dict[str, dict[str, Any]] = {tools.NOTE_REQUEST: REQUEST, tools.NOTE_APPOINTMENT: APPOINTMENT}
WRONG: list[tuple[str, tuple[str, object], str]] = [
    ("an unknown tool", ("delete_everything", {}), "There is no such tool; the tools are note_request, note_appointment, no_answer."),
    ("a tool without a name", ("", {}), "no such tool"),
    ("a tool whose name is no name", ("x" * 10_000, {}), "no such tool"),
    ("no object", (tools.NOTE_REQUEST, [REQUEST]), "one JSON object"),
    ("null", (tools.NOTE_REQUEST, None), "one JSON object"),
    ("a number", (tools.NOTE_REQUEST, 7), "one JSON object"),
    ("nothing", (tools.NOTE_REQUEST, {}), "request_type is missing"),
    ("broken JSON", (tools.NOTE_REQUEST, '{"request_type": "quote", "quotes"'), "no JSON"),
    ("nested JSON", (tools.NOTE_REQUEST, "[" * 15_000), "no JSON"),
    ("endless JSON", (tools.NOTE_REQUEST, " " * 100_000), "one JSON object"),
    ("a megabyte", request(visitor_email="a" * 100_000), "visitor_email has at most 254"),
    *((name, (tool, {**GIVEN[tool], **json.loads(changes)}), why) for name, tool, changes, why in rows("engines/wrong_arguments")),
]


@pytest.mark.parametrize(("use", "why"), [pytest.param(use, why, id=name) for name, use, why in WRONG])
async def test_wrong_arguments_are_explained_and_never_raise(
    server: ModelServer, engine: AnthropicEngine, use: tuple[str, object], why: str
) -> None:
    reply, blocks = await told(server, engine, ASKED, use)
    assert reply.text == "Tamam."
    assert why in blocks[0]["content"]
    assert reply.captured == (None if blocks[0].get("is_error") else NOTED)
    assert len(server.seen[-1].raw) < 40_000, "what is no argument is not sent back"


async def test_arguments_as_a_string_of_json_are_arguments(server: ModelServer, engine: AnthropicEngine) -> None:
    assert (await told(server, engine, ASKED, (tools.NOTE_REQUEST, json.dumps(REQUEST))))[0].captured == NOTED
    assert server.body["messages"][-2]["content"][0]["input"] == {}, "an object is what servers take"


async def test_ids_that_no_server_should_give_are_replaced(server: ModelServer, engine: AnthropicEngine) -> None:
    block = {"type": "tool_use", "name": tools.NOTE_REQUEST, "input": REQUEST}
    odd = [block, {**block, "id": 7}, {**block, "id": "a b"}, {**block, "id": "good"}, {**block, "id": "good"}]
    server.script.extend([answers(message(odd[:4])), says("Tamam."), answers(message(odd[3:])), says("Tamam.")])
    for _ in range(2):
        await engine.reply(ASKED)
        used, blocks = (server.body["messages"][n]["content"] for n in (-2, -1))
        ids = [use["id"] for use in used]
        assert ids == [result["tool_use_id"] for result in blocks]
        assert len(set(ids)) == len(ids)
        assert "good" in ids


async def test_a_call_that_was_cut_off_is_not_believed(server: ModelServer, engine: AnthropicEngine) -> None:
    server.script.extend([calls(request(), stop_reason="max_tokens"), says("Tamam.")])
    assert (await engine.reply(ASKED)).captured is None
    assert "cut off" in results(server)[0]["content"]


@pytest.mark.parametrize("stop", ["end_turn", "stop", None])
async def test_a_call_counts_whatever_made_the_model_stop(server: ModelServer, engine: AnthropicEngine, stop: str | None) -> None:
    server.script.extend([calls(request(), stop_reason=stop), says("Tamam.")])
    assert (await engine.reply(ASKED)).captured == NOTED
