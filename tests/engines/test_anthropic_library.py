"""The product's Messages API calls, held against what the provider's library declares."""

import json
from dataclasses import replace
from typing import Any, get_args

import anthropic
import pytest
from anthropic import types
from pydantic import TypeAdapter

from chatsvc.engines import EngineError, Turn
from chatsvc.engines.anthropic import AnthropicEngine, Provider, answer
from chatsvc.engines.anthropic.client import Client
from chatsvc.engines.anthropic.faults import ModelFault
from chatsvc.outbound.egress import Egress
from tests.engines.conftest import KEY
from tests.engines.model_server import ModelServer, Step, answers, calls, fails, html, message, resets, says
from tests.engines.test_anthropic import TURN, past

TURNS = {
    "a question": TURN,
    "with tools": replace(TURN, may_capture=True),
    "with a history": replace(TURN, history=past("Merhaba", "Buyurun \N{WAVING HAND SIGN}", "Otopark?", "Evet.")),
}


@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)
async def test_a_request_has_the_shape_that_the_library_declares(server: ModelServer, engine: AnthropicEngine, turn: Turn) -> None:
    await engine.reply(turn)
    shape = TypeAdapter(types.message_create_params.MessageCreateParamsNonStreaming)
    assert server.body.keys() <= shape.validate_python(server.body).keys()


async def test_the_results_of_tools_go_back_in_the_shape_that_the_library_declares(server: ModelServer, engine: AnthropicEngine) -> None:
    server.script.append(calls(("note_request", {"request_type": "contact"}), text="Let me see.", before=[{"type": "thinking"}]))
    await engine.reply(replace(TURN, may_capture=True))
    assert [turn["role"] for turn in server.body["messages"]] == ["user", "assistant", "user"]
    shapes = {"text": types.TextBlockParam, "tool_use": types.ToolUseBlockParam, "tool_result": types.ToolResultBlockParam}
    blocks = [block for turn in server.body["messages"][1:] for block in turn["content"]]
    assert {block["type"] for block in blocks} == shapes.keys()
    for block in blocks:
        # What the library does not know of a block, it leaves out.
        assert TypeAdapter[Any](shapes[block["type"]]).validate_python(block).keys() == block.keys()


@pytest.mark.parametrize("stop", get_args(types.StopReason))
def test_every_stop_reason_that_the_library_knows_has_its_meaning(stop: str) -> None:
    """An answer with text is a reply unless it is a refusal. Without text it has a proper reason."""

    def read(content: list[object]) -> str:
        try:
            return answer.reply(answer.parse(json.dumps(message(content, stop_reason=stop)).encode()))
        except EngineError as fault:
            return fault.reason

    assert read([{"type": "text", "text": "We are open."}]) == ("refused" if stop == "refusal" else "We are open.")
    assert read([]) != "bad_response"


BLOCKS = get_args(get_args(types.ContentBlock)[0])


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.__name__)
def test_beside_every_block_that_the_library_knows_text_is_read(block: Any) -> None:
    kind = get_args(block.model_fields["type"].annotation)[0]
    filled = {name: "x" for name in block.model_fields if name not in {"type", "text"}}
    content = [{**filled, "type": kind, **({"text": "We are "} if kind == "text" else {})}, {"type": "text", "text": "open."}]
    assert answer.reply(answer.parse(json.dumps(message(content)).encode())) == ("We are open." if kind == "text" else "open.")


def test_every_count_of_tokens_that_is_paid_for_is_read() -> None:
    counted = {name: 1 for name in types.Usage.model_fields if name.endswith("_tokens")}
    assert sum(answer.usage(counted)) == len(counted) == 4


ERRORS = [
    value for value in vars(anthropic).values() if isinstance(value, type) and issubclass(value, anthropic.APIStatusError)
]  # fmt: skip


@pytest.mark.parametrize("error", [error for error in ERRORS if hasattr(error, "status_code")], ids=lambda error: error.__name__)
async def test_every_error_that_the_library_knows_has_its_reason(server: ModelServer, engine: AnthropicEngine, error: Any) -> None:
    status = getattr(error, "status_code", 500)
    server.always = fails(status if isinstance(status, int) else 500)
    with pytest.raises(EngineError) as raised:
        await engine.reply(TURN)
    assert raised.value.reason != "bad_response"


# --- what doctor asks ------------------------------------------------------------------------------------------------


async def offered(server: ModelServer, step: Step, key: str = KEY) -> list[str]:
    server.always = step
    client = Client(Provider.of(server.url, key), Egress())
    try:
        return await client.models()
    finally:
        await client.close()


async def test_the_models_of_a_server_are_listed_whoever_wrote_it(server: ModelServer) -> None:
    anthropics = {"data": [{"type": "model", "id": "claude-haiku-5-5", "display_name": "x"}], "has_more": False}
    assert await offered(server, answers(anthropics)) == ["claude-haiku-5-5"]
    assert await offered(server, answers({"object": "list", "data": [{"id": "qwen", "object": "model"}]}), "") == ["qwen"]
    assert "Authorization" not in server.headers


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (fails(401), "provider_auth"),
        (fails(404), "model_not_found"),
        (resets(), "unreachable"),
        (html(), "bad_response"),
        (answers({"data": [1, None]}), "bad_response"),
        (says("Hello."), "bad_response"),
    ],
)
async def test_a_server_without_a_list_says_why(server: ModelServer, step: Step, reason: str) -> None:
    with pytest.raises(ModelFault) as raised:
        await offered(server, step)
    assert raised.value.reason == reason
    assert KEY not in str(raised.value)
