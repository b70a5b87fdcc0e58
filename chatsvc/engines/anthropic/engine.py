"""Engine that replies by a language model. One deadline covers all calls of a message, their retries and pauses."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from chatsvc.domain.models import Usage
from chatsvc.engines import EngineError, Evidence, Reply, Turn, language
from chatsvc.engines.anthropic import answer, notes, prompt, review, tools
from chatsvc.engines.anthropic.faults import ModelFault
from chatsvc.engines.anthropic.provider import Provider
from chatsvc.engines.fair_share import FairShare
from chatsvc.outbound.egress import Egress, EgressRefused

if TYPE_CHECKING:
    from anthropic.types import ContentBlockParam
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

    from chatsvc.engines.anthropic.client import Client

    Ask = Callable[[MessageCreateParamsNonStreaming], Awaitable[bytes]]

FIRST_BACKOFF_S = 0.5
MAX_BACKOFF_S = 8.0
WITHOUT_TOOLS_S = 600.0
"""Seconds for which a model is offered no tools after its server refused them; it may be configured anew meanwhile."""

MAX_ROUNDS = 6
"""Calls of the model for one message: searches, a request, an appointment, one mistake, a correction, and the reply."""

_LONGEST_COMPLETION_S = 120.0
SPARE_S = 0.5
"""Seconds of the deadline that are left for writing a capture when waiting for the model's words about it ends."""


class AnthropicEngine:
    """Replies from a model behind the Anthropic Messages API; implements `engines.Engine`.

    If the provider has a fault, every reply is `not_configured`, and no connection is opened. `timeout_s` (seconds) limits the deadline
    of a turn, `max_retries` the retries within it.
    """

    def __init__(self, provider: Provider, *, timeout_s: float, max_retries: int, egress: Egress | None = None) -> None:
        """Open no connection."""
        self._provider = provider
        self._fault, self._hosted = provider.fault, provider.is_hosted
        self._timeout_s = timeout_s
        self._max_retries = max(0, max_retries)
        self._egress = egress or Egress()
        self._new_client: type[Client] | None = None
        self._client: Client | None = None
        self._closed = False
        self._share = FairShare()
        self._without_tools_until: dict[str, float] = {}

    async def start(self) -> None:
        """Load the languages and create the client before the first message; raises EngineError."""
        if self._provider.missing:
            raise EngineError("not_configured", self._provider.missing)
        if self._fault is None and self._egress.allowed:
            language.load()
            await self._ready_client()

    async def reply(self, turn: Turn) -> Reply:
        """Answer one turn within `turn.timeout_s` seconds; raises EngineError."""
        if self._fault is not None:
            raise EngineError("not_configured", self._fault)
        try:
            self._egress.check("model")
        except EgressRefused:
            raise EngineError("unreachable", "egress: none") from None
        limit = min(turn.timeout_s, self._timeout_s)
        if limit <= 0:
            # On a kept connection the request would be sent before a timer could fire.
            raise EngineError("timeout", "no time was left")
        try:
            ends_at = asyncio.get_running_loop().time() + limit
            async with asyncio.timeout_at(ends_at):
                return await self._reply(await self._ready_client(), turn, ends_at)
        except TimeoutError:
            raise EngineError("timeout", f"no reply within {limit:.3g} s") from None

    async def complete(self, model: str, system: str, text: str, max_tokens: int) -> tuple[str, Usage]:
        """Return what a model writes to a text, outside of any conversation; raises EngineError."""
        if self._fault is not None:
            raise EngineError("not_configured", self._fault)
        client = await self._ready_client()
        body: MessageCreateParamsNonStreaming = {
            "model": model,
            "max_tokens": max_tokens,
            "system": system,
            "messages": [{"role": "user", "content": text}],
        }
        limit = _LONGEST_COMPLETION_S
        try:
            async with asyncio.timeout(limit):
                said = answer.parse(await self._ask(client, asyncio.get_running_loop().time() + limit, body), hosted=self._hosted)
        except TimeoutError:
            raise EngineError("timeout", f"no reply within {limit:.3g} s") from None
        return said.text, said.usage

    async def close(self) -> None:
        """Close connections; calls in flight fail as unreachable. May be called twice."""
        self._closed = True
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _ready_client(self) -> Client:
        """Return the client, which is created once. The library's import takes a second: in a thread."""
        if self._new_client is None:
            module = await asyncio.to_thread(import_module, "chatsvc.engines.anthropic.client")
            self._new_client = module.Client
        if self._closed:
            raise EngineError("unreachable", "the engine is closed")
        if self._client is None:
            try:
                self._client = self._new_client(self._provider, self._egress)
            except OSError as error:
                raise EngineError("not_configured", f"the system's certificates cannot be read: {type(error).__name__}") from error
        return self._client

    async def _reply(self, client: Client, turn: Turn, ends_at: float) -> Reply:
        """Answer in the rounds of one message. Without tools if the server refuses them, with half of the history if it is too long."""
        loop, ask = asyncio.get_running_loop(), partial(self._ask, client, ends_at)
        may_use_tools, shortened = self._without_tools_until.get(turn.model, 0.0) <= loop.time(), False
        refused_tools = False
        while True:
            rounds = _Rounds(turn, ask, self._share, self._hosted, ends_at, may_use_tools=may_use_tools, shortened=shortened)
            try:
                reply = await rounds.run()
            except EngineError as fault:
                if may_use_tools and isinstance(fault, ModelFault) and fault.no_tools:
                    may_use_tools, refused_tools = False, True
                elif not shortened and fault.reason == "context_exceeded" and turn.history:
                    shortened = True
                else:
                    raise
            else:
                if refused_tools:
                    # Believed only now that the same question was answered without tools, so that no other fault turns them off.
                    self._without_tools_until[turn.model] = loop.time() + WITHOUT_TOOLS_S
                return reply

    async def _ask(self, client: Client, ends_at: float, body: MessageCreateParamsNonStreaming) -> bytes:
        """Make one call with its retries. A pause past `ends_at` (loop time) is not begun: the fault is raised instead."""
        for attempt in itertools.count():
            try:
                return await client.send(body)
            except ModelFault as fault:
                if attempt >= self._max_retries or not fault.retryable:
                    raise
                wait_s = fault.retry_after_s
                if wait_s is None:  # with a quarter of jitter
                    wait_s = min(FIRST_BACKOFF_S * 2.0 ** min(attempt, 10), MAX_BACKOFF_S) * (1 - 0.25 * random.random())
                if asyncio.get_running_loop().time() + wait_s >= ends_at:
                    raise
            await asyncio.sleep(wait_s)
        raise AssertionError("unreachable")


class _Rounds:
    """The rounds of one message: ask the model, execute its tool calls or review its reply, and ask again.

    `ends_at` is the deadline (loop time), which the caller enforces. `shortened` sends half of the history.
    """

    def __init__(
        self, turn: Turn, ask: Ask, share: FairShare, hosted: bool, ends_at: float, *, may_use_tools: bool, shortened: bool
    ) -> None:
        self._turn, self._ask, self._share, self._hosted, self._ends_at = turn, ask, share, hosted, ends_at
        self._shortened = shortened
        self._budget = prompt.HOSTED if hosted else prompt.ON_PREM
        changes = any(record.status in notes.TAKEN_BACK for record in turn.captured)
        searches = prompt.knowledge(turn.knowledge, self._budget.knowledge, cached=hosted) is None
        self._offered = tools.offered(notes=turn.may_capture, changes=changes, searches=searches) if may_use_tools else ()
        self._notes = notes.Notes(turn, self._offered)
        self._spent = Usage()

    def _begin(self, turn: Turn) -> MessageCreateParamsNonStreaming:
        self._notes.hits = prompt.passages(turn, self._budget.passages)
        return prompt.request(turn, self._notes.hits, hosted=self._hosted, offered=self._offered, shortened=self._shortened)

    async def run(self) -> Reply:
        """Answer the turn, with what was captured and what all rounds cost; raises EngineError.

        Once something is captured, no failure of the model loses it: the visitor gets a fixed sentence instead of the model's words.
        """
        body, captured, is_corrected = await self._share.run(self._begin, self._turn), None, False
        for _ in range(MAX_ROUNDS):
            try:
                async with nullcontext() if captured is None else asyncio.timeout_at(self._ends_at - SPARE_S):
                    message = answer.parse(await self._ask(body), hosted=self._hosted)
                self._spent = self._spent.plus(message.usage)
                if not message.calls or not self._offered:
                    text = answer.reply(message)
                    work = partial(review.complaint, text, self._notes.hits, captured)
                    complaint = await self._share.run(work, self._turn, review.characters_read(self._turn, text))
                    if complaint is None:
                        return Reply(text, self._spent, captured, evidence=Evidence.of_hits(self._notes.hits))
                    if is_corrected:
                        raise EngineError("no_answer", "the model's reply failed its review twice")
                    is_corrected = True
                    body = _continued(body, [answer.text_block(text)], [answer.text_block(complaint)])
                    continue
            except (EngineError, TimeoutError):
                if captured is None:
                    raise
                break
            results = await self._share.run(partial(self._notes.results, message), self._turn)
            captured = self._notes.captured
            if captured is None and all(call.name == tools.NO_ANSWER for call in message.calls):
                raise EngineError("no_answer", "by its tool")
            body = _continued(body, message.blocks, results)
        if captured is None:
            raise EngineError("tool_loop", f"still calling tools after {MAX_ROUNDS} rounds")
        text = notes.confirmation(self._turn, captured)
        return Reply(text, self._spent, captured, evidence=Evidence.of_hits(self._notes.hits))


def _continued(
    body: MessageCreateParamsNonStreaming, message: Sequence[ContentBlockParam], following: Sequence[ContentBlockParam]
) -> MessageCreateParamsNonStreaming:
    """Append one exchange to a request. Nothing before it changes, as caches and signatures of thinking require."""
    return {**body, "messages": [*body["messages"], {"role": "assistant", "content": message}, {"role": "user", "content": following}]}
