"""Validation of a model's answers, which the provider's library takes as they are; pure functions."""

from __future__ import annotations

import json
import re
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from chatsvc.domain.models import Usage
from chatsvc.engines import EngineError, Reply
from chatsvc.engines.anthropic import marks
from chatsvc.engines.anthropic.faults import ModelFault, error_type, says_no_tools, says_too_long

if TYPE_CHECKING:
    from anthropic.types import ContentBlockParam, TextBlockParam, ToolUseBlockParam

NO_ANSWER = "[NO_ANSWER]"
"""Reply that a model is told to give where neither its knowledge nor its instructions have the answer."""

MAX_REPLY_CHARS = 32_000
"""Characters of the longest accepted reply; a longer one shows that the server ignores max_tokens."""

MAX_TOKENS_COUNTED = 1_000_000_000
"""The highest credible count of tokens."""

MAX_CALLS = 4
"""Tool calls of one answer that are executed; there is no use for more than two."""

MAX_INPUT_BYTES = 16_384
"""Size of the largest arguments of a tool call that are sent back to the model, in bytes."""

_UNSENDABLE = re.compile("[\0\ud800-\udfff]")
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")

# Characters that models put around a token that they were told to write bare.
_WRAPPING = " \t\r\n[](){}<>*_`'\".!“”"
_BARE = NO_ANSWER.strip(_WRAPPING)

_WITHOUT_TEXT = {
    None: "empty",
    "end_turn": "empty",
    "stop_sequence": "empty",
    "max_tokens": "truncated",
    "tool_use": "tool_loop",
    "pause_turn": "tool_loop",
    "model_context_window_exceeded": "context_exceeded",
}


class ToolCall(NamedTuple):
    """A tool call of the model; `name` and `input` are unverified."""

    id: str
    name: str
    input: object


class ModelAnswer(NamedTuple):
    """One answer of a model. Its text, its tool calls and, where there are any, the blocks that are sent back with their results."""

    text: str
    calls: tuple[ToolCall, ...]
    blocks: list[ContentBlockParam]
    stop: str | None
    usage: Usage


def parse(payload: bytes, *, hosted: bool = False) -> ModelAnswer:
    """Read the body of a 200, with or without text; raises EngineError."""
    data = _parse(payload)
    stop = data.get("stop_reason")
    if stop is not None and not isinstance(stop, str):
        raise EngineError("bad_response", "stop_reason is no string")
    if stop == "refusal":
        # Also with text, which breaks off before the refusal.
        raise EngineError("refused")
    content, said = _content(data.get("content"))
    text = marks.without_thoughts(said).strip()
    calls = _calls(content)
    blocks = _blocks(content, text, calls, hosted=hosted) if calls else []
    return ModelAnswer(text, calls, blocks, stop, usage(data.get("usage")))


def reply(said: ModelAnswer) -> Reply:
    """Return the reply of an answer. Raises EngineError where it has no text, or the sentinel as its text."""
    if not said.text:
        raise EngineError(_WITHOUT_TEXT.get(said.stop, "bad_response"), "no text")
    return Reply(_checked(_without_sentinel(said.text)), said.usage)


def usage(raw: object) -> Usage:
    """Read the tokens of a reply. On-prem servers may send no counts, or null; implausible ones count as 0."""
    counts = raw if isinstance(raw, dict) else {}

    def count(name: str) -> int:
        value = counts.get(name)
        # bool is an int to Python.
        return value if type(value) is int and 0 <= value <= MAX_TOKENS_COUNTED else 0

    return Usage(
        input_tokens=count("input_tokens"),
        output_tokens=count("output_tokens"),
        cache_write_tokens=count("cache_creation_input_tokens"),
        cache_read_tokens=count("cache_read_input_tokens"),
    )


def _parse(payload: bytes) -> dict[str, object]:
    try:
        data = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise EngineError("bad_response", f"no JSON: {type(error).__name__}, {len(payload)} bytes") from None
    if not isinstance(data, dict):
        raise EngineError("bad_response", f"a JSON {type(data).__name__} instead of a message")
    if "content" not in data and "error" in data:
        # LM Studio answers some errors with status 200.
        reason = "context_exceeded" if says_too_long(data) else "bad_response"
        raise ModelFault(reason, f"an error with status 200 {error_type(data)}".rstrip(), no_tools=says_no_tools(data))
    return data


def _content(content: object) -> tuple[list[dict[str, object]], str]:
    """Return the blocks and all their text. Blocks of unknown types (thinking and later ones) are kept as they are."""
    if not isinstance(content, list):
        raise EngineError("bad_response", f"content is {type(content).__name__}")
    texts: list[str] = []
    for block in content:
        if not isinstance(block, dict):
            raise EngineError("bad_response", f"a block is {type(block).__name__}")
        if block.get("type") == "text":
            text = block.get("text")
            if not isinstance(text, str):
                raise EngineError("bad_response", f"the text of a block is {type(text).__name__}")
            texts.append(text)
    return content, "".join(texts)


def _calls(content: list[dict[str, object]]) -> tuple[ToolCall, ...]:
    """Read at most MAX_CALLS tool calls. A missing, malformed or repeated id is replaced: servers match results by it."""
    calls: dict[str, ToolCall] = {}
    for block in content:
        if block.get("type") == "tool_use" and len(calls) < MAX_CALLS:
            given, name = block.get("id"), block.get("name")
            usable = isinstance(given, str) and _ID.fullmatch(given) is not None and given not in calls
            key = str(given) if usable else f"call_{uuid.uuid4().hex}"
            calls[key] = ToolCall(key, name if isinstance(name, str) and _ID.fullmatch(name) else "unknown", block.get("input"))
    return tuple(calls.values())


def _blocks(content: list[dict[str, object]], text: str, calls: tuple[ToolCall, ...], *, hosted: bool) -> list[ContentBlockParam]:
    """Build the answer as it is sent back with the results of its tools.

    Anthropic's models need their thinking blocks back unchanged while tools are called. On-prem servers get only text and
    tool_use: some return thinking that they then refuse.
    """
    uses = map(_use, calls)
    if not hosted:
        return [*([text_block(text)] if text else []), *uses]
    blocks: list[ContentBlockParam] = []
    for block in content:
        kind = block.get("type")
        if kind in ("thinking", "redacted_thinking"):
            blocks.append(_sendable(block))
        elif kind == "text" and str(block["text"]).strip():
            blocks.append(text_block(str(block["text"])))
        elif kind == "tool_use":
            blocks += [use] if (use := next(uses, None)) else []
    return blocks


def text_block(text: str) -> TextBlockParam:
    return {"type": "text", "text": clean(text)}


def _sendable(block: dict[str, object]) -> Any:
    """Return a block of thinking as it can be sent back; raises EngineError for one that no JSON can hold."""
    try:
        return json.loads(clean(json.dumps(block, ensure_ascii=False, allow_nan=False)))
    except (ValueError, RecursionError):
        raise EngineError("bad_response", "thinking that no JSON can hold") from None


def _use(call: ToolCall) -> ToolUseBlockParam:
    """Build the tool_use block that is sent back. Arguments that no server could take are left out."""
    given: dict[str, object] = call.input if isinstance(call.input, dict) else {}
    try:
        fits = len(json.dumps(given, ensure_ascii=False, allow_nan=False).encode()) <= MAX_INPUT_BYTES
    except (ValueError, RecursionError):
        fits = False
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": given if fits else {}}


def clean(text: str) -> str:
    """Remove lone surrogates and NUL, which JSON or a server cannot take."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")


def _without_sentinel(text: str) -> str:
    """Cut the sentinel out of a text; raises EngineError("no_answer") where nothing else is left."""
    if _BARE not in text:
        return text
    if text.strip(_WRAPPING) == _BARE:
        raise EngineError("no_answer")
    rest = text.replace(NO_ANSWER, "").strip()
    if not rest.strip(_WRAPPING):
        raise EngineError("no_answer")
    return rest


def _checked(text: str) -> str:
    """Return a text that can be stored and sent; raises EngineError."""
    if len(text) > MAX_REPLY_CHARS:
        raise EngineError("bad_response", f"a reply of {len(text)} characters")
    # A lone surrogate breaks SQLite's binding and every encoder.
    if _UNSENDABLE.search(text):
        raise EngineError("bad_response", "NUL or a lone surrogate in the text")
    return text
