"""Validation of a model's answers, which the provider's library does not check. The functions are pure."""

from __future__ import annotations

import json
import re
import uuid
from typing import TYPE_CHECKING, NamedTuple, cast

from chatsvc.domain.models import Usage
from chatsvc.engines import EngineError
from chatsvc.engines.anthropic.faults import ModelFault, error_type, says_no_tools, says_too_long

if TYPE_CHECKING:
    from anthropic.types import ContentBlockParam, TextBlockParam

NO_ANSWER = "[NO_ANSWER]"  # reply that a model is told to give where neither its knowledge nor its instructions have the answer
MAX_REPLY_CHARS = 32_000  # characters of the longest accepted reply; a longer one shows that the server ignores max_tokens
MAX_TOKENS_COUNTED = 1_000_000_000  # the highest credible count of tokens
MAX_CALLS = 4  # tool calls of one answer that are executed; there is no use for more than two
MAX_INPUT_BYTES = 16_384  # size of the largest arguments of a tool call that are sent back to the model, in bytes
_MARKED = re.compile(r"[<\[◁]")
_UNSENDABLE = re.compile("[\0\ud800-\udfff]")
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")

# Marks of reasoning and of chat templates are cut by their general form, since each model family has its own names: `<think>`, `[THINK]`,
# `<|begin_of_thought|>`, `<|channel|>analysis<|message|>`, `<|im_end|>`, `<end_of_turn>`, `</s>`, `[/INST]`.
_THOUGHT = r"(?:[a-z]{1,12}[:_])?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad)"
_THOUGHT_MARK = re.compile(
    r"(?P<close_bracket>[<\[]/)?"
    rf"(?(close_bracket)|[<\[◁](?P<close>/)?[|｜]?(?P<bar_close>/|end_(?:of_)?)?(?:begin_of_|start_(?:of_)?)?){_THOUGHT}[|｜]?[>\]▷]",
    re.IGNORECASE,
)
# <|channel|>analysis<|message|>, <|channel>thought
_CHANNEL = re.compile(r"<\|?channel\|?>\s{0,3}(?P<name>[a-z]{1,20})[^<]{0,80}(?:<\|?message\|?>|\n)", re.IGNORECASE)
_CHANNEL_END = re.compile(r"<channel\|>", re.IGNORECASE)
_ROLE = r"(?P<role>[a-z]{1,12})"
_TURN = re.compile(
    rf"<[|｜](?:start_header_id|im_start|start|start_of_role)[|｜]>\s{{0,3}}{_ROLE}(?:<[|｜](?:end_header_id|im_sep|end_of_role)[|｜]>)?\n?"
    rf"|<start_of_turn>\s{{0,3}}(?P<gemma>[a-z]{{1,12}})\n?"
    r"|<[|｜](?P<bare>assistant|model|user|system|human)[|｜]>\n?",
    re.IGNORECASE,
)
_OWN_ROLES = frozenset({"assistant", "model", "bot", "ai"})
# A tool's mark is left: the review has to see it.
_END = re.compile(
    r"<[|｜](?!/?(?:tool|python_tag|call))[^<>|｜\s]{0,40}(?:end|eot|eom|eos|return|stop)[^<>|｜\s]{0,40}[|｜]>|</s>|<end_of_turn>|<eos>|\[/INST\]",
    re.IGNORECASE,
)
_TOKEN = re.compile(
    r"<[|｜](?!/?(?:tool|python_tag|call))[^<>|｜\s]{1,60}[|｜]>|</?s>|<(?:start|end)_of_turn>|<[be]os>|<pad>|\[/?INST\]|<</?SYS>>"
)

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
    """One answer of a model: its text, its tool calls, and the content blocks that the next request repeats."""

    text: str
    calls: tuple[ToolCall, ...]
    blocks: list[ContentBlockParam]
    stop: str | None
    usage: Usage


def parse(payload: bytes, *, hosted: bool = False) -> ModelAnswer:
    """Parse the body of an answer with status 200, with or without text; raises EngineError."""
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
    stop, content = data.get("stop_reason"), data.get("content")
    if stop is not None and not isinstance(stop, str):
        raise EngineError("bad_response", "stop_reason is no string")
    if stop == "refusal":
        # Also with text, which breaks off before the refusal.
        raise EngineError("refused")
    if not isinstance(content, list):
        raise EngineError("bad_response", f"content is {type(content).__name__}")
    text, calls, blocks = _read(content, hosted=hosted)
    return ModelAnswer(text, calls, blocks, stop, usage(data.get("usage")))


def _read(content: list[object], *, hosted: bool) -> tuple[str, tuple[ToolCall, ...], list[ContentBlockParam]]:
    """Return the text, at most MAX_CALLS tool calls, and the blocks that the next request repeats; raises EngineError."""
    texts, calls = list[str](), dict[str, ToolCall]()
    blocks: list[ContentBlockParam] = []
    for block in content:
        if not isinstance(block, dict):
            raise EngineError("bad_response", f"a block is {type(block).__name__}")
        kind = block.get("type")
        if kind == "text":
            if not isinstance(words := block.get("text"), str):
                raise EngineError("bad_response", f"the text of a block is {type(words).__name__}")
            texts.append(words)
            blocks += [text_block(words)] if words.strip() else []
        elif kind in ("thinking", "redacted_thinking"):
            blocks.append(cast("ContentBlockParam", block))
        elif kind == "tool_use" and len(calls) < MAX_CALLS:
            # A missing, malformed or repeated id is replaced: servers match results by it.
            given, name, arguments = block.get("id"), block.get("name"), block.get("input")
            is_usable = isinstance(given, str) and _ID.fullmatch(given) is not None and given not in calls
            key = str(given) if is_usable else f"call_{uuid.uuid4().hex}"
            calls[key] = call = ToolCall(key, name if isinstance(name, str) and _ID.fullmatch(name) else "unknown", arguments)
            sent: dict[str, object] = arguments if isinstance(arguments, dict) and _is_sendable(arguments) else {}
            blocks.append({"type": "tool_use", "id": key, "name": call.name, "input": sent})
    text = without_thoughts("".join(texts)).strip()
    if not hosted:
        # Some servers in the house return thinking that they then refuse. Anthropic's models need theirs back unchanged.
        blocks = [*([text_block(text)] if text else []), *(block for block in blocks if block["type"] == "tool_use")]
    return text, tuple(calls.values()), blocks


def reply(message: ModelAnswer) -> str:
    """Return the text of an answer. Raises EngineError if it has no text, text that cannot be stored, or only NO_ANSWER."""
    if not message.text:
        raise EngineError(_WITHOUT_TEXT.get(message.stop, "bad_response"), "no text")
    text = message.text
    if _BARE in text:
        text = text.replace(NO_ANSWER, "").strip()
        if text.strip(_WRAPPING) in ("", _BARE):
            raise EngineError("no_answer")
    if len(text) > MAX_REPLY_CHARS:
        raise EngineError("bad_response", f"a reply of {len(text)} characters")
    # A lone surrogate breaks SQLite's binding and every encoder.
    if _UNSENDABLE.search(text):
        raise EngineError("bad_response", "NUL or a lone surrogate in the text")
    return text


def usage(raw: object) -> Usage:
    """Return the counts of tokens of an answer. On-prem servers may send no counts, or null; implausible ones count as 0."""
    counts = raw if isinstance(raw, dict) else {}
    given = map(counts.get, ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"))
    # bool is an int to Python.
    return Usage(*(value if type(value) is int and 0 <= value <= MAX_TOKENS_COUNTED else 0 for value in given))


def text_block(text: str) -> TextBlockParam:
    return {"type": "text", "text": clean(text)}


def _is_sendable(arguments: dict[str, object]) -> bool:
    try:
        return len(json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()) <= MAX_INPUT_BYTES
    except (ValueError, RecursionError):
        return False


def clean(text: str) -> str:
    """Replace lone surrogates and remove NUL, which JSON or a server does not accept."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")


def without_thoughts(text: str) -> str:
    """Return the part of a model's text that is for the visitor. Its thoughts, their marks, and invented turns are removed.

    The opening mark of a thought often belongs to the chat template, so that the text only has the closing mark. If max_tokens ended
    the thinking, the text only has the opening mark.
    """
    return without_tokens(_own_turn(_outside_thoughts(_of_final_channel(text)))) if _MARKED.search(text) else text


def without_tokens(text: str) -> str:
    """Remove tokens of chat templates. A server would read them as the end of a message."""
    return _TOKEN.sub("", _TURN.sub("", text)) if "<" in text or "[" in text else text


def _of_final_channel(text: str) -> str:
    """Return the text of the channel "final", which is for the visitor, and the text outside of channels."""
    parts, end = [(match.start(), match.end(), match["name"].lower()) for match in _CHANNEL.finditer(text)], 0
    if not parts:
        return text
    visible = [text[: parts[0][0]]]
    for (_, begin, name), following in zip(parts, [*(start for start, _, _ in parts[1:]), len(text)], strict=True):
        content = text[begin:following]
        ending = _CHANNEL_END.search(content)
        if name == "final":
            visible.append(content)
        elif ending is not None:
            visible.append(content[ending.end() :])
        end = following
    return "".join((*visible, text[end:]))


def _outside_thoughts(text: str) -> str:
    parts, begin, depth = list[str](), 0, 0
    for match in _THOUGHT_MARK.finditer(text):
        closes = bool(match["close_bracket"] or match["close"] or match["bar_close"])
        if closes:
            if depth == 0:
                parts.clear()  # everything before was a thought whose opening mark the template has
            depth = 0
        else:
            if depth == 0:
                parts.append(text[begin : match.start()])
            depth = 1
        begin = match.end()
    return "".join(parts) if depth else "".join((*parts, text[begin:]))


def _own_turn(text: str) -> str:
    """Return the text up to the end of the model's turn, or up to the first mark of another role."""
    text = text.lstrip()
    while (turn := _TURN.match(text)) is not None and (turn["role"] or turn["gemma"] or turn["bare"]).lower() in _OWN_ROLES:
        text = text[turn.end() :].lstrip()
    ends = [match.start() for pattern in (_END, _TURN) if (match := pattern.search(text)) is not None and match.start() > 0]
    return text[: min(ends)] if ends else text
