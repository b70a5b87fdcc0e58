"""Rounds of one message. Ask the model, execute its tool calls or review its reply, and ask again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from chatsvc.domain.models import Usage
from chatsvc.engines import EngineError, Evidence, Reply, Turn
from chatsvc.engines.anthropic import answer, notes, prompt, stable, tools
from chatsvc.engines.anthropic.review import Review, characters_read
from chatsvc.engines.fair_share import FairShare

if TYPE_CHECKING:
    from anthropic.types import ContentBlockParam
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

    Ask = Callable[[MessageCreateParamsNonStreaming], Awaitable[bytes]]

MAX_ROUNDS = 6
"""Calls of the model for one message: searches, a request, an appointment, one mistake, a correction, and the reply."""

SPARE_S = 0.5
"""Seconds of the deadline that are left for writing a capture when waiting for the model's words about it ends."""


async def converse(
    turn: Turn, ask: Ask, share: FairShare, *, hosted: bool, ends_at: float, may_use_tools: bool, shortened: bool = False
) -> Reply:
    """Answer `turn`, with what was captured and what all rounds cost; raises EngineError.

    Once something is captured, no failure of the model loses it: the visitor gets a fixed sentence instead of the model's words.
    `ends_at` is the deadline (loop time), which the caller enforces. `shortened` sends half of the history.
    """
    return await _Rounds(turn, ask, share, hosted, ends_at, may_use_tools=may_use_tools, shortened=shortened).run()


def _offered(turn: Turn, *, hosted: bool) -> tuple[str, ...]:
    changes = any(record.status in notes.TAKEN_BACK for record in turn.captured)
    searches = not stable.fits(turn.knowledge, prompt.budget_of(hosted=hosted).knowledge)
    return tools.offered(notes=turn.may_capture, changes=changes, searches=searches)


class _Rounds:
    """State of the rounds of one message."""

    def __init__(
        self, turn: Turn, ask: Ask, share: FairShare, hosted: bool, ends_at: float, *, may_use_tools: bool, shortened: bool
    ) -> None:
        self._turn, self._ask, self._share, self._hosted, self._ends_at = turn, ask, share, hosted, ends_at
        self._shortened = shortened
        self._offered = _offered(turn, hosted=hosted) if may_use_tools else ()
        self._notes = notes.Notes(turn, self._offered)
        self._spent = Usage()
        self._corrected = False

    def _begin(self, turn: Turn) -> MessageCreateParamsNonStreaming:
        self._notes.hits = prompt.passages(turn, prompt.budget_of(hosted=self._hosted).passages)
        return prompt.request(turn, self._notes.hits, hosted=self._hosted, offered=self._offered, shortened=self._shortened)

    async def run(self) -> Reply:
        """See converse()."""
        body = await self._share.run(self._begin, self._turn)
        for _ in range(MAX_ROUNDS):
            try:
                async with nullcontext() if self._notes.captured is None else asyncio.timeout_at(self._ends_at - SPARE_S):
                    said = answer.parse(await self._ask(body), hosted=self._hosted)
                self._spent = self._spent.plus(said.usage)
                if not said.calls or not self._offered:
                    text = answer.reply(said).text
                    complaint = await self._share.run(partial(self._complaint, text), self._turn, characters_read(self._turn, text))
                    if complaint is None:
                        return self._reply(text)
                    body = self._correct(body, text, complaint)
                    continue
            except (EngineError, TimeoutError):
                if self._notes.captured is None:
                    raise
                break
            results = await self._share.run(partial(self._results, said), self._turn)
            if self._notes.captured is None and all(call.name == tools.NO_ANSWER for call in said.calls):
                raise EngineError("no_answer", "by its tool")
            body = _continued(body, said.blocks, results)
        if self._notes.captured is None:
            raise EngineError("tool_loop", f"still calling tools after {MAX_ROUNDS} rounds")
        return self._reply(notes.confirmation(self._turn, self._notes.captured))

    def _complaint(self, text: str, turn: Turn) -> str | None:
        return Review(turn, self._notes.hits, self._notes.captured).complaint(text)

    def _correct(self, body: MessageCreateParamsNonStreaming, text: str, complaint: str) -> MessageCreateParamsNonStreaming:
        """Ask for another reply, once; raises EngineError."""
        if self._corrected:
            raise EngineError("no_answer", "the model's reply failed its review twice")
        self._corrected = True
        return _continued(body, [answer.text_block(text)], [answer.text_block(complaint)])

    def _reply(self, text: str) -> Reply:
        return Reply(text, self._spent, self._notes.captured, evidence=Evidence.of_hits(self._notes.hits))

    def _results(self, said: answer.ModelAnswer, _: Turn) -> Sequence[ContentBlockParam]:
        if said.stop != "max_tokens":
            return self._notes.results(said.calls)
        # Truncated arguments may look complete.
        told = "Nothing was noted: the call was cut off. Call again with less text, or answer the visitor."
        return [{"type": "tool_result", "tool_use_id": call.id, "content": told, "is_error": True} for call in said.calls]


def _continued(
    body: MessageCreateParamsNonStreaming, said: Sequence[ContentBlockParam], following: Sequence[ContentBlockParam]
) -> MessageCreateParamsNonStreaming:
    """Append one exchange to a request. Nothing before it changes, as caches and signatures of thinking require."""
    return {**body, "messages": [*body["messages"], {"role": "assistant", "content": said}, {"role": "user", "content": following}]}
