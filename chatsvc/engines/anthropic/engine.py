"""Engine that replies with a language model. One deadline covers all calls for a message, with their retries and pauses."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from chatsvc.domain.models import Usage
from chatsvc.engines import EngineError, Evidence, Reply, Turn
from chatsvc.engines.anthropic import answer, notes, prompt, review, tools
from chatsvc.engines.anthropic.faults import ModelFault
from chatsvc.engines.anthropic.provider import Provider
from chatsvc.engines.fair_share import FairShare
from chatsvc.language import language_detection
from chatsvc.outbound.egress import Egress, EgressRefused

if TYPE_CHECKING:
    from anthropic.types import ContentBlockParam, MessageParam
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

    from chatsvc.engines.anthropic.client import Client

FIRST_BACKOFF_S = 0.5
MAX_BACKOFF_S = 8.0
WITHOUT_TOOLS_S = 600.0  # seconds for which a model is offered no tools after its server refused them; it may be configured anew meanwhile
MAX_ROUNDS = 6  # calls of the model for one message: searches, a request, an appointment, one mistake, a correction, and the reply
_LONGEST_COMPLETION_S = 120.0
SPARE_S = 0.5  # seconds of the deadline that are left for writing a capture when waiting for the model's words about it ends


class AnthropicEngine:
    """Implementation of `engines.Engine` with a model behind the Anthropic Messages API.

    If the provider has a fault, every reply fails with `not_configured`, and no connection is opened. `timeout_s` (seconds) limits the
    deadline of a turn, `max_retries` the retries within it.
    """

    def __init__(self, provider: Provider, *, timeout_s: float, max_retries: int, egress: Egress | None = None) -> None:
        """Store the settings, without opening a connection."""
        self._provider = provider
        self._fault, self._hosted = provider.fault, provider.is_hosted
        self._timeout_s = timeout_s
        self._max_retries = max(0, max_retries)
        self._egress = egress or Egress()
        self._client: Client | None = None
        self._closed = False
        self._share = FairShare()
        self._without_tools_until: dict[str, float] = {}

    async def start(self) -> None:
        """Load the languages and create the client before the first message; raises EngineError."""
        if self._provider.missing:
            raise EngineError("not_configured", self._provider.missing)
        if self._fault is None and self._egress.allowed:
            language_detection.load()
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
                return await self._reply(turn, ends_at)
        except TimeoutError:
            raise EngineError("timeout", f"no reply within {limit:.3g} s") from None

    async def complete(self, model: str, system: str, text: str, max_tokens: int) -> tuple[str, Usage]:
        """Return a model's answer to a text outside of any conversation, and its usage; raises EngineError."""
        if self._fault is not None:
            raise EngineError("not_configured", self._fault)
        client = await self._ready_client()
        messages: list[MessageParam] = [{"role": "user", "content": text}]
        body: MessageCreateParamsNonStreaming = {"model": model, "max_tokens": max_tokens, "system": system, "messages": messages}
        ends_at = asyncio.get_running_loop().time() + _LONGEST_COMPLETION_S
        try:
            async with asyncio.timeout_at(ends_at):
                message = answer.parse(await self._ask(client, ends_at, body), hosted=self._hosted)
        except TimeoutError:
            raise EngineError("timeout", f"no reply within {_LONGEST_COMPLETION_S:.3g} s") from None
        return message.text, message.usage

    async def close(self) -> None:
        """Close connections. Calls in flight fail with the reason `unreachable`. It may be called twice."""
        self._closed = True
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _ready_client(self) -> Client:
        """Return the client, and create it the first time. The library is imported in a thread, since that takes a second."""
        if self._client is None:
            module = await asyncio.to_thread(import_module, "chatsvc.engines.anthropic.client")
            if self._closed:
                raise EngineError("unreachable", "the engine is closed")
            try:
                # Another call may have made it meanwhile.
                self._client = self._client or module.Client(self._provider, self._egress)  # type: ignore[redundant-expr]
            except OSError as error:
                raise EngineError("not_configured", f"the system's certificates cannot be read: {type(error).__name__}") from error
        return self._client

    async def _reply(self, turn: Turn, ends_at: float) -> Reply:
        """Answer a message. Try again without tools if the server refuses them, and with half of the history if it is too long."""
        loop, client = asyncio.get_running_loop(), await self._ready_client()
        may_use_tools, shortened = self._without_tools_until.get(turn.model, 0.0) <= loop.time(), False
        refused_tools = False
        while True:
            try:
                begin = partial(self._begin, may_use_tools=may_use_tools, shortened=shortened)
                reply = await self._rounds(turn, client, ends_at, *await self._share.run(begin, turn))
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

    def _begin(self, turn: Turn, *, may_use_tools: bool, shortened: bool) -> tuple[notes.Notes, MessageCreateParamsNonStreaming]:
        """Choose the tools for a message, search passages of the knowledge for it, and build the request.

        If `shortened` is true, half of the history is sent.
        """
        budget = prompt.HOSTED if self._hosted else prompt.ON_PREM
        offered: tuple[str, ...] = ()
        if may_use_tools:
            offered += () if turn.knowledge.characters <= budget.knowledge else (tools.SEARCH,)
            offered += (tools.NOTE_REQUEST, tools.NOTE_APPOINTMENT) if turn.may_capture else ()
            offered += (tools.CHANGE_RECORD,) if any(record.status in notes.TAKEN_BACK for record in turn.captured) else ()
            offered += (tools.NO_ANSWER,) if offered else ()
        hits = prompt.passages(turn, budget.passages)
        request = prompt.request(turn, hits, hosted=self._hosted, offered=offered, shortened=shortened)
        return notes.Notes(turn, offered, hits), request

    async def _rounds(self, turn: Turn, client: Client, ends_at: float, noted: notes.Notes, body: MessageCreateParamsNonStreaming) -> Reply:
        """Call the model until its reply passes the review, and execute its tool calls; raises EngineError.

        `ends_at` is the deadline (loop time), which the caller enforces. If the model fails after something was captured, the capture is
        kept, and the visitor gets a fixed sentence.
        """
        spent, captured, is_corrected = Usage(), None, False
        for _ in range(MAX_ROUNDS):
            try:
                async with nullcontext() if captured is None else asyncio.timeout_at(ends_at - SPARE_S):
                    message = answer.parse(await self._ask(client, ends_at, body), hosted=self._hosted)
                spent = spent.plus(message.usage)
                if not message.calls or not noted.offered:
                    text = answer.reply(message)
                    work = partial(review.complaint, text, noted.hits, captured)
                    complaint = await self._share.run(work, turn, review.characters_read(turn, text))
                    if complaint is None:
                        return Reply(text, spent, captured, evidence=Evidence.of(noted.hits))
                    if is_corrected:
                        raise EngineError("no_answer", "the model's reply failed its review twice")
                    is_corrected = True
                    body = _continued(body, [answer.text_block(text)], [answer.text_block(complaint)])
                    continue
            except (EngineError, TimeoutError):
                if captured is None:
                    raise
                break
            results = await self._share.run(partial(noted.results, message), turn)
            captured = noted.captured
            if captured is None and all(call.name == tools.NO_ANSWER for call in message.calls):
                raise EngineError("no_answer", "by its tool")
            body = _continued(body, message.blocks, results)
        if captured is None:
            raise EngineError("tool_loop", f"still calling tools after {MAX_ROUNDS} rounds")
        text = notes.confirmation(turn, captured)
        return Reply(text, spent, captured, evidence=Evidence.of(noted.hits))

    async def _ask(self, client: Client, ends_at: float, body: MessageCreateParamsNonStreaming) -> bytes:
        """Make one call with its retries. Raise the fault if a pause would end after `ends_at` (loop time)."""
        attempt = 0
        while True:
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
            attempt += 1
            await asyncio.sleep(wait_s)


def _continued(
    body: MessageCreateParamsNonStreaming, message: Sequence[ContentBlockParam], following: Sequence[ContentBlockParam]
) -> MessageCreateParamsNonStreaming:
    """Append an answer of the model and our reply to it to a request. Caches and signed thinking need unchanged earlier messages."""
    return {**body, "messages": [*body["messages"], {"role": "assistant", "content": message}, {"role": "user", "content": following}]}
