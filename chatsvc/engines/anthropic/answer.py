"""Reading what a model answered (SPEC.md 4.3 rule 5): nothing of it is believed before it was looked at; pure functions."""

from __future__ import annotations

import json
import re
import uuid
from typing import NamedTuple

import orjson

from chatsvc.domain.models import Usage
from chatsvc.engines import EngineError, Reply
from chatsvc.engines.anthropic.faults import Fault, error_type, says_no_tools, says_too_long

NO_ANSWER = "[NO_ANSWER]"
"""What a model is told to reply, and nothing else, where neither its knowledge nor its instructions hold the answer."""

MAX_REPLY_CHARS = 32_000
"""A reply longer than this, in characters, is a server that ignores max_tokens."""

MAX_TOKENS_COUNTED = 1_000_000_000
"""A count of tokens above this is no count."""

MAX_CALLS = 4
"""As many tools of one answer as are called; there is no use for more than two."""

MAX_INPUT_BYTES = 16_384
"""The arguments of a tool that are sent back to the model; larger ones are no arguments of ours."""

_UNSENDABLE = re.compile("[\0\ud800-\udfff]")
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")

# What models like to put around a token they were told to write bare, and that token without any of it.
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


class Call(NamedTuple):
    """A tool that the model wants called. `name` and `input` are what it says, whatever that is."""

    id: str
    name: str
    input: object


class Answer(NamedTuple):
    """One answer of a model: what it says, which tools it calls, and where it calls any the blocks by which it is reminded of both."""

    text: str
    calls: tuple[Call, ...]
    blocks: list[dict[str, object]]
    stop: str | None
    usage: Usage


def read(payload: bytes) -> Reply:
    """The reply in the body of a 200; raises EngineError for everything that is none."""
    return reply(parse(payload))


def parse(payload: bytes, *, hosted: bool = False) -> Answer:
    """What stands in the body of a 200, with or without text; raises EngineError."""
    data = _parse(payload)
    stop = data.get("stop_reason")
    if stop is not None and not isinstance(stop, str):
        raise EngineError("bad_response", "stop_reason is no string")
    if stop == "refusal":
        # Also with text: what stands before a refusal is half a sentence.
        raise EngineError("refused")
    content, said = _content(data.get("content"))
    text = _without_thoughts(said).strip()
    calls = _calls(content)
    blocks = _blocks(content, text, calls, hosted=hosted) if calls else []
    return Answer(text, calls, blocks, stop, usage(data.get("usage")))


def reply(said: Answer) -> Reply:
    """The reply that an answer is; raises EngineError where it has no text, or the sentinel for one."""
    if not said.text:
        raise EngineError(_WITHOUT_TEXT.get(said.stop, "bad_response"), "no text")
    return Reply(_checked(_without_sentinel(said.text)), said.usage)


def usage(raw: object) -> Usage:
    """The tokens of a reply. On-prem servers leave counts out, or null; what is no sane count is 0: the reply is good all the same."""
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
        data = _json(payload)
    except (ValueError, RecursionError) as error:
        raise EngineError("bad_response", f"no JSON: {type(error).__name__}, {len(payload)} bytes") from None
    if not isinstance(data, dict):
        raise EngineError("bad_response", f"a JSON {type(data).__name__} instead of a message")
    if "content" not in data and "error" in data:
        # LM Studio answers some errors with status 200.
        reason = "context_exceeded" if says_too_long(data) else "bad_response"
        raise Fault(reason, f"an error with status 200 {error_type(data)}".rstrip(), no_tools=says_no_tools(data))
    return data


def _json(payload: bytes) -> object:
    # orjson takes a quarter of the time, but makes floats of integers above 64 bits: what is sent back to a model has to be as it was.
    if b"tool_use" not in payload:
        try:
            return orjson.loads(payload)
        except ValueError:
            pass  # it is the stricter one, too
    return json.loads(payload)


def _content(content: object) -> tuple[list[dict[str, object]], str]:
    """The blocks and all their text. Each is an object, those of text with text, others (thinking, whatever comes later) as they are."""
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


def _calls(content: list[dict[str, object]]) -> tuple[Call, ...]:
    """The tools called, MAX_CALLS at most. An id that is missing, odd or used twice gets one of ours: servers match results by it."""
    calls: dict[str, Call] = {}
    for block in content:
        if block.get("type") == "tool_use" and len(calls) < MAX_CALLS:
            given, name = block.get("id"), block.get("name")
            usable = isinstance(given, str) and _ID.fullmatch(given) is not None and given not in calls
            key = str(given) if usable else f"call_{uuid.uuid4().hex}"
            calls[key] = Call(key, name if isinstance(name, str) and _ID.fullmatch(name) else "unknown", block.get("input"))
    return tuple(calls.values())


def _blocks(content: list[dict[str, object]], text: str, calls: tuple[Call, ...], *, hosted: bool) -> list[dict[str, object]]:
    """The answer as it is sent back with the results of its tools.

    Anthropic's models think unless told otherwise, and want their thoughts back as they were, in their place, while tools are
    called. Servers in the house get text and tool_use alone: some return thoughts that they then refuse.
    """
    uses = map(_use, calls)
    if not hosted:
        return [*([_said(text)] if text else []), *uses]
    blocks: list[dict[str, object]] = []
    for block in content:
        kind = block.get("type")
        if kind in ("thinking", "redacted_thinking"):
            blocks.append(block)
        elif kind == "text" and str(block["text"]).strip():
            blocks.append(_said(str(block["text"])))
        elif kind == "tool_use":
            blocks += [use] if (use := next(uses, None)) else []
    return blocks


def _said(text: str) -> dict[str, object]:
    return {"type": "text", "text": clean(text)}


def _use(call: Call) -> dict[str, object]:
    """A call in the form in which it is sent back; what no server could take as its arguments is left out."""
    given = call.input
    try:
        fits = isinstance(given, dict) and len(json.dumps(given, ensure_ascii=False).encode()) <= MAX_INPUT_BYTES
    except (ValueError, RecursionError):
        fits = False
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": given if fits else {}}


def clean(text: str) -> str:
    """`text` without what JSON or a server cannot take: lone surrogates and NUL."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")


def _without_thoughts(text: str) -> str:
    """`text` without the `<think>` part that reasoning models on-prem write into it where the server does not take it out.

    Often the opening tag belongs to the chat template, so that only the closing one is seen; where max_tokens ended the
    thinking, only the opening one.
    """
    return text.rpartition("</think>")[2].partition("<think>")[0]


def _without_sentinel(text: str) -> str:
    """`text`, unless it is the sentinel as a whole: then EngineError("no_answer"). Inside a real reply it is cut out, never shown."""
    if _BARE not in text:
        return text
    if text.strip(_WRAPPING) == _BARE:
        raise EngineError("no_answer")
    rest = text.replace(NO_ANSWER, "").strip()
    if not rest.strip(_WRAPPING):
        raise EngineError("no_answer")
    return rest


def _checked(text: str) -> str:
    """`text` if it can be stored and sent."""
    if len(text) > MAX_REPLY_CHARS:
        raise EngineError("bad_response", f"a reply of {len(text)} characters")
    # A lone surrogate breaks SQLite's binding and every encoder.
    if _UNSENDABLE.search(text):
        raise EngineError("bad_response", "NUL or a lone surrogate in the text")
    return text
