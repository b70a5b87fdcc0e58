"""The rounds with a model that is offered tools: they end, a note once made is not lost, and a server without tools does without."""

import asyncio
import threading
import time as stopwatch
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from chatsvc.domain.captures import Captured
from chatsvc.domain.models import Usage
from chatsvc.engines import EngineError, Reply
from chatsvc.engines.anthropic import AnthropicEngine, notes, review
from chatsvc.engines.anthropic import engine as engine_module
from chatsvc.engines.anthropic.engine import WITHOUT_TOOLS_S
from tests.engines.conftest import Make
from tests.engines.model_server import ModelServer, Step, answers, calls, fails, hangs, says
from tests.engines.test_anthropic import TURN, past
from tests.engines.test_anthropic_tools import ASKED, BOOKED, NOTED, appointment, request, results, told

# --- the loop --------------------------------------------------------------------------------------------------------


async def test_a_model_that_never_talks_is_a_tool_loop(server: ModelServer, engine: AnthropicEngine) -> None:
    server.always = calls(("delete_everything", {}), text="Bir saniye...")
    with pytest.raises(EngineError) as caught:
        await engine.reply(ASKED)
    assert caught.value.reason == "tool_loop"
    assert len(server.seen) == engine_module.MAX_ROUNDS


async def test_attempts_are_bounded_within_a_message(server: ModelServer, engine: AnthropicEngine) -> None:
    server.script.extend([calls(*[appointment(date="2020-01-01")] * 4)] * 3)
    reply = await engine.reply(ASKED)
    assert reply == Reply("Hello.", Usage(40, 20))
    assert [("tried too often" in result["content"]) for result in results(server)] == [True] * 4
    assert notes.MAX_ATTEMPTS == 8


async def test_a_mistake_can_be_mended_within_the_message(server: ModelServer, engine: AnthropicEngine) -> None:
    server.script.extend([calls(appointment(date="23.11.2026")), calls(appointment()), says("Tamam.")])
    assert await engine.reply(ASKED) == Reply("Tamam.", Usage(30, 15), BOOKED)


async def test_text_before_a_call_is_not_the_reply(server: ModelServer, engine: AnthropicEngine) -> None:
    server.script.extend([calls(request(visitor_email="x@example.com"), text="Not aldım!"), says("E-postanızı yazar mısınız?")])
    assert (await engine.reply(ASKED)).text == "E-postanızı yazar mısınız?"
    assert server.body["messages"][-2]["content"][0] == {"type": "text", "text": "Not aldım!"}


THOUGHT = {"type": "thinking", "thinking": "they want a quote", "signature": "c2ln"}
HIDDEN = {"type": "redacted_thinking", "data": "xyz"}


async def test_thoughts_do_not_go_back_to_a_server_in_the_house(server: ModelServer, engine: AnthropicEngine) -> None:
    server.script.extend([calls(request(), before=[THOUGHT, HIDDEN], text="<think>hm</think>Bakıyorum."), says("Tamam.")])
    assert (await engine.reply(ASKED)).captured == NOTED
    assert [block["type"] for block in server.body["messages"][-2]["content"]] == ["text", "tool_use"]
    assert server.body["messages"][-2]["content"][0]["text"] == "Bakıyorum."


async def test_anthropic_gets_its_models_thoughts_back_as_they_were(server: ModelServer, engine: AnthropicEngine) -> None:
    engine._hosted = True
    server.script.extend([calls(request(), before=[THOUGHT, HIDDEN]), says("Tamam.")])
    assert (await engine.reply(ASKED)).captured == NOTED
    assert server.body["messages"][-2]["content"][:-1] == [THOUGHT, HIDDEN]
    assert server.body["messages"][-2]["content"][-1]["type"] == "tool_use"


# --- no answer -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [calls(("no_answer", {})), calls(("no_answer", None), text="Bilmiyorum."), says("[NO_ANSWER]")])
async def test_no_answer_is_said_by_the_tool_or_by_the_sentinel(server: ModelServer, engine: AnthropicEngine, step: Step) -> None:
    server.always = step
    with pytest.raises(EngineError) as caught:
        await engine.reply(ASKED)
    assert caught.value.reason == "no_answer"
    assert len(server.seen) == 1


async def test_no_answer_beside_a_note_does_not_lose_the_note(server: ModelServer, engine: AnthropicEngine) -> None:
    reply, blocks = await told(server, engine, ASKED, request(), ("no_answer", {}))
    assert reply.captured == NOTED
    assert "what you do not know" in blocks[1]["content"]


async def test_no_answer_beside_a_note_that_failed_lets_the_model_ask(server: ModelServer, engine: AnthropicEngine) -> None:
    reply, _ = await told(server, engine, ASKED, request(visitor_email=None), ("no_answer", {}))
    assert reply == Reply("Tamam.", Usage(20, 10))


# --- a note is not lost ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "step",
    [
        says(""),
        says("[NO_ANSWER]"),
        calls(("no_answer", {})),
        calls(request()),
        fails(529),
        fails(400, text="does not support tools"),
        answers({"type": "message"}),
        says("I cannot", stop_reason="refusal"),
        says("", stop_reason="max_tokens"),
    ],
    ids=["empty", "sentinel", "no_answer", "calls on", "overloaded", "no tools", "broken", "refused", "truncated"],
)
async def test_what_is_noted_is_not_lost_with_the_models_words(server: ModelServer, engine: AnthropicEngine, step: Step) -> None:
    server.script.append(calls(request()))
    server.always = step
    reply = await engine.reply(ASKED)
    assert reply.captured == NOTED
    assert reply.text == "Talebinizi not aldım (selin@example.com). Ekibimiz görecek."
    assert len(server.seen) <= engine_module.MAX_ROUNDS


async def test_what_is_noted_is_not_lost_at_the_deadline(
    server: ModelServer, engine: AnthropicEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "SPARE_S", 10.0)
    await engine.start()
    server.script.append(calls(appointment()))
    server.always = hangs()
    began = stopwatch.monotonic()
    reply = await engine.reply(replace(ASKED, timeout_s=10.5, language="en-GB"))
    assert stopwatch.monotonic() - began < 10, "there is time left to write it"
    assert reply.captured == BOOKED
    assert reply.text.startswith("I have noted that you would like an appointment on 2026-11-23 at 10:30 (Selin, +905321234567).")


def test_the_sentence_of_our_own_is_in_the_visitors_language() -> None:
    for language, booked, noted in (("tr", "23.11.2026 saat 10:30", "Talebinizi"), ("en", "2026-11-23 at 10:30", "your request")):
        turn = replace(ASKED, language=language)
        assert booked in notes.confirmation(turn, BOOKED)
        assert noted in notes.confirmation(turn, NOTED)
    assert notes.confirmation(ASKED, Captured("other", "x")).startswith("Talebinizi not aldım. ")


async def test_a_cancelled_reply_stays_cancelled_after_a_note(server: ModelServer, engine: AnthropicEngine) -> None:
    await engine.start()
    again = asyncio.Event()

    async def tells_and_hangs(server: ModelServer, request: web.Request) -> web.StreamResponse:
        again.set()
        return await hangs()(server, request)

    server.script.extend([calls(request()), tells_and_hangs])
    task = asyncio.create_task(engine.reply(ASKED))
    await again.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# --- servers without tools -------------------------------------------------------------------------------------------

WITHOUT = [
    ("Ollama", 400, "registry.ollama.ai/library/gemma3:4b does not support tools"),
    ("llama.cpp", 500, "tools param requires --jinja flag"),
    ("vLLM", 400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    ("LiteLLM", 400, "litellm.UnsupportedParamsError: ollama does not support parameters: ['tools'], for model=x"),
    ("OpenRouter", 404, "No endpoints found that support tool use. Try disabling it."),
    ("a proxy", 422, "Function calling is not supported by this model"),
    ("LM Studio", 200, "Tools are not supported for this model"),
]


@pytest.mark.parametrize(("who", "status", "fault"), WITHOUT)
async def test_a_server_without_tools_is_asked_again_without_and_remembered(
    server: ModelServer, make: Make, who: str, status: int, fault: str
) -> None:
    engine = make(max_retries=3)
    server.script.append(answers({"error": fault if status == 200 else {"message": fault, "type": "api_error"}}, status=status))
    assert (await engine.reply(ASKED)).text == "Hello."
    assert ["tools" in seen.body for seen in server.seen] == [True, False]
    assert "You can only talk." in server.body["system"][0]["text"]
    await engine.reply(ASKED)
    assert len(server.seen) == 3
    assert "tools" not in server.body
    await engine.reply(replace(ASKED, model="another"))
    assert "tools" in server.body


async def test_a_server_is_offered_tools_again_after_a_while(server: ModelServer, engine: AnthropicEngine) -> None:
    server.script.append(fails(400, text="x does not support tools"))
    await engine.reply(ASKED)
    engine._without_tools_until[ASKED.model] -= WITHOUT_TOOLS_S
    await engine.reply(ASKED)
    assert "tools" in server.body


async def test_a_server_that_fails_either_way_is_not_remembered(server: ModelServer, engine: AnthropicEngine) -> None:
    server.script.extend([fails(400, text="x does not support tools"), fails(529)])
    with pytest.raises(EngineError) as caught:
        await engine.reply(ASKED)
    assert caught.value.reason == "overloaded"
    await engine.reply(ASKED)
    assert "tools" in server.body


@pytest.mark.parametrize("text", ["invalid tool name", "messages: roles must alternate", "The visitor asked for tools"])
async def test_another_fault_does_not_turn_tools_off(server: ModelServer, engine: AnthropicEngine, text: str) -> None:
    server.script.append(fails(400, text=text))
    with pytest.raises(EngineError):
        await engine.reply(ASKED)
    assert len(server.seen) == 1


# --- a history that is too long --------------------------------------------------------------------------------------

TOO_LONG = fails(400, "invalid_request_error", "prompt is too long: 9000 tokens > 8192 maximum")
LONG_TURN = replace(TURN, history=past(*(f"message {number} " + "x" * 300 for number in range(8))))


@pytest.mark.parametrize("step", [TOO_LONG, says("", stop_reason="model_context_window_exceeded")])
async def test_a_history_that_is_too_long_is_cut_to_half_and_tried_once(server: ModelServer, engine: AnthropicEngine, step: Step) -> None:
    server.script.extend([step, says("Yes.")])
    assert (await engine.reply(LONG_TURN)).text == "Yes."
    first, second = (seen.body["messages"] for seen in server.seen)
    assert [len(first), len(second)] == [9, 5]
    assert second == first[-5:]
    server.always = step
    with pytest.raises(EngineError) as caught:
        await engine.reply(LONG_TURN)
    assert (caught.value.reason, len(server.seen)) == ("context_exceeded", 4)


async def test_a_first_message_that_is_too_long_is_not_tried_again(server: ModelServer, engine: AnthropicEngine) -> None:
    server.always = TOO_LONG
    with pytest.raises(EngineError):
        await engine.reply(TURN)
    assert len(server.seen) == 1


async def test_what_reads_much_runs_in_a_thread(server: ModelServer, engine: AnthropicEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = list[str]()
    complaint = review.complaint

    def noting(*arguments: Any) -> str | None:
        threads.append(threading.current_thread().name)
        return complaint(*arguments)

    monkeypatch.setattr(review, "complaint", noting)
    server.script.extend([says("Yes."), says("yes " * 5_000), says("Yes.")])
    for turn in (TURN, TURN, replace(TURN, history=past("a" * 20_000))):
        await engine.reply(turn)
    assert [name == "MainThread" for name in threads] == [True, False, False]
