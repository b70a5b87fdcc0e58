"""Reading what a model answered (SPEC.md 4.3 rule 5): nothing of it is believed before it was looked at; pure functions."""

from __future__ import annotations

import json

from chatsvc.domain.models import Usage
from chatsvc.engines import EngineError, Reply
from chatsvc.engines.anthropic.faults import error_type, says_too_long

NO_ANSWER = "[NO_ANSWER]"
"""What a model is told to reply, and nothing else, where neither its knowledge nor its instructions hold the answer."""

MAX_REPLY_CHARS = 32_000
"""A reply longer than this, in characters, is a server that ignores max_tokens."""

MAX_TOKENS_COUNTED = 1_000_000_000
"""A count of tokens above this is no count."""

# What models like to put around a token they were told to write bare.
_WRAPPING = " \t\r\n[](){}<>*_`'\".!“”"

_WITHOUT_TEXT = {
    None: "empty",
    "end_turn": "empty",
    "stop_sequence": "empty",
    "max_tokens": "truncated",
    "tool_use": "tool_loop",
    "pause_turn": "tool_loop",
    "model_context_window_exceeded": "context_exceeded",
}


def read(payload: bytes) -> Reply:
    """The reply in the body of a 200; raises EngineError for everything that is none."""
    data = _parse(payload)
    stop = data.get("stop_reason")
    if stop is not None and not isinstance(stop, str):
        raise EngineError("bad_response", "stop_reason is no string")
    if stop == "refusal":
        # Also with text: what stands before a refusal is half a sentence.
        raise EngineError("refused")
    text = _without_thoughts(_text(data.get("content"))).strip()
    if not text:
        raise EngineError(_WITHOUT_TEXT.get(stop, "bad_response"), "no text")
    return Reply(_checked(_without_sentinel(text)), usage(data.get("usage")))


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
        data = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise EngineError("bad_response", f"no JSON: {type(error).__name__}, {len(payload)} bytes") from None
    if not isinstance(data, dict):
        raise EngineError("bad_response", f"a JSON {type(data).__name__} instead of a message")
    if "content" not in data and "error" in data:
        # LM Studio answers some errors with status 200.
        reason = "context_exceeded" if says_too_long(data) else "bad_response"
        raise EngineError(reason, f"an error with status 200 {error_type(data)}".rstrip())
    return data


def _text(content: object) -> str:
    """The text blocks, joined; a block of another type (thinking, tool_use, whatever comes later) is passed over."""
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
    return "".join(texts)


def _without_thoughts(text: str) -> str:
    """`text` without the `<think>` part that reasoning models on-prem write into it where the server does not take it out.

    Often the opening tag belongs to the chat template, so that only the closing one is seen; where max_tokens ended the
    thinking, only the opening one.
    """
    return text.rpartition("</think>")[2].partition("<think>")[0]


def _without_sentinel(text: str) -> str:
    """`text`, unless it is the sentinel as a whole: then EngineError("no_answer"). Inside a real reply it is cut out, never shown."""
    if text.strip(_WRAPPING) == NO_ANSWER.strip(_WRAPPING):
        raise EngineError("no_answer")
    if NO_ANSWER not in text:
        return text
    rest = text.replace(NO_ANSWER, "").strip()
    if not rest.strip(_WRAPPING):
        raise EngineError("no_answer")
    return rest


def _checked(text: str) -> str:
    """`text` if it can be stored and sent."""
    if len(text) > MAX_REPLY_CHARS:
        raise EngineError("bad_response", f"a reply of {len(text)} characters")
    # A lone surrogate breaks SQLite's binding and every encoder.
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise EngineError("bad_response", "NUL or a lone surrogate in the text")
    return text
