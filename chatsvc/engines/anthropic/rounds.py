"""The rounds of one message with a model that is offered tools: ask, check what it calls, tell it, ask again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import partial

import orjson

from chatsvc.domain.models import Usage
from chatsvc.engines import EngineError, Reply, Turn, threads
from chatsvc.engines.anthropic import answer, notes, prompt, tools

MAX_ROUNDS = 4
"""Calls of the model for one message: a request, an appointment, one mistake, and the reply."""

SPARE_S = 0.5
"""What is left of the deadline, in seconds, when waiting for words about a note ends: it still has to be written."""

Ask = Callable[[dict[str, object]], Awaitable[bytes]]


async def converse(turn: Turn, ask: Ask, *, hosted: bool, ends_at: float) -> Reply:
    """The reply to `turn`, with what was captured and what all rounds cost; raises EngineError.

    Once something is noted, no failure of the model takes it away: the visitor gets a sentence of ours instead of its words.
    `ends_at` is the deadline (loop time); that it is kept is the caller's business.
    """
    body = await threads.off_loop_if_long(partial(prompt.request, hosted=hosted, offers_tools=True), turn)
    noted = notes.Notes(turn)
    spent = Usage()
    for _ in range(MAX_ROUNDS):
        try:
            async with nullcontext() if noted.captured is None else asyncio.timeout_at(ends_at - SPARE_S):
                said = answer.parse(await ask(body), hosted=hosted)
            spent = spent.plus(said.usage)
            if not said.calls:
                return Reply(answer.reply(said).text, spent, noted.captured)
        except (EngineError, TimeoutError):
            if noted.captured is None:
                raise
            break
        results = _results(said, noted)
        if noted.captured is None and all(call.name == tools.NO_ANSWER for call in said.calls):
            raise EngineError("no_answer", "said by the tool")
        body = _continued(body, said.blocks, results)
    if noted.captured is None:
        raise EngineError("tool_loop", f"still calling tools after {MAX_ROUNDS} rounds")
    return Reply(notes.confirmation(turn, noted.captured), spent, noted.captured)


def _results(said: answer.Answer, noted: notes.Notes) -> list[dict[str, object]]:
    if said.stop != "max_tokens":
        return noted.results(said.calls)
    # Arguments that were cut off may look whole.
    told = "Nothing was noted: the call was cut off. Call again with less text, or answer the visitor."
    return [{"type": "tool_result", "tool_use_id": call.id, "content": told, "is_error": True} for call in said.calls]


def _continued(body: dict[str, object], blocks: list[dict[str, object]], results: list[dict[str, object]]) -> dict[str, object]:
    """The same request with one exchange more. Nothing before it changes: caches and the signatures of thoughts hold to that."""
    so_far = body["messages"]
    if not isinstance(so_far, list):
        raise TypeError("messages is no list")
    return {**body, "messages": [*so_far, {"role": "assistant", "content": _as_said(blocks)}, {"role": "user", "content": results}]}


def _as_said(blocks: list[dict[str, object]]) -> orjson.Fragment:
    """What a model has said goes back to it as it was, and may hold half characters and integers of more than 64 bits."""
    try:
        return orjson.Fragment(orjson.dumps(blocks))
    except orjson.JSONEncodeError:
        return orjson.Fragment(json.dumps(blocks).encode())
