"""Engine that replies by a language model. One deadline covers all calls of a message, their retries and pauses."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from chatsvc.engines import EngineError, Reply, Turn, language
from chatsvc.engines.anthropic import rounds
from chatsvc.engines.anthropic.faults import ModelFault
from chatsvc.engines.anthropic.provider import Provider
from chatsvc.engines.fair_share import FairShare
from chatsvc.outbound.egress import Egress, EgressRefused

if TYPE_CHECKING:
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

    from chatsvc.engines.anthropic.client import Client

FIRST_BACKOFF_S = 0.5
MAX_BACKOFF_S = 8.0
WITHOUT_TOOLS_S = 600.0
"""Seconds for which a model is offered no tools after its server refused them; it may be configured anew meanwhile."""


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

    async def close(self) -> None:
        """Close connections; calls in flight fail as unreachable. May be called twice."""
        self._closed = True
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _ready_client(self) -> Client:
        """Return the client, which is created once. The library's import takes a second: in a thread."""
        if self._new_client is None:
            self._new_client = await asyncio.to_thread(_import_client)
        if self._closed:
            raise EngineError("unreachable", "the engine is closed")
        if self._client is None:
            try:
                self._client = self._new_client(self._provider, self._egress)
            except OSError as error:
                raise EngineError("not_configured", f"the system's certificates cannot be read: {type(error).__name__}") from error
        return self._client

    async def _reply(self, client: Client, turn: Turn, ends_at: float) -> Reply:
        ask = partial(self._send, client, ends_at)
        converse = partial(rounds.converse, turn, ask, self._share, hosted=self._hosted, ends_at=ends_at)
        try:
            return await self._converse(converse, turn.model)
        except EngineError as fault:
            if fault.reason != "context_exceeded" or not turn.history:
                raise
        return await self._converse(partial(converse, shortened=True), turn.model)

    async def _converse(self, converse: Callable[..., Awaitable[Reply]], model: str) -> Reply:
        """Answer with tools, and without them if the model's server refuses them."""
        if self._without_tools_until.get(model, 0.0) > asyncio.get_running_loop().time():
            return await converse(may_use_tools=False)
        try:
            return await converse(may_use_tools=True)
        except ModelFault as fault:
            if not fault.no_tools:
                raise
        reply = await converse(may_use_tools=False)
        # Believed only now that the same question was answered without tools, so that no other fault turns them off.
        self._without_tools_until[model] = asyncio.get_running_loop().time() + WITHOUT_TOOLS_S
        return reply

    async def _send(self, client: Client, ends_at: float, body: MessageCreateParamsNonStreaming) -> bytes:
        """Make one call with its retries. A pause past `ends_at` (loop time) is not begun: the fault is raised instead."""
        for attempt in itertools.count():
            try:
                return await client.send(body)
            except ModelFault as fault:
                if attempt >= self._max_retries or not fault.retryable:
                    raise
                wait_s = _backoff_s(attempt) if fault.retry_after_s is None else fault.retry_after_s
                if asyncio.get_running_loop().time() + wait_s >= ends_at:
                    raise
            await asyncio.sleep(wait_s)
        raise AssertionError("unreachable")


def _import_client() -> type[Client]:
    from chatsvc.engines.anthropic.client import Client

    return Client


def _backoff_s(attempt: int) -> float:
    """Compute the exponential back-off before the next attempt in seconds, with a quarter of jitter."""
    return min(FIRST_BACKOFF_S * 2.0 ** min(attempt, 10), MAX_BACKOFF_S) * (1 - 0.25 * random.random())
