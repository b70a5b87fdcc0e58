"""The stand-in model beside tests that are not asynchronous themselves."""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType
from typing import Self

from aiohttp import web

from tests.engines.model_server import ModelServer, Step, says

TIER = "models: {{slow: {{engine: anthropic, model: m, input_usd_per_mtok: 1, output_usd_per_mtok: 1}}}}"


def settings(url: str, *, timeout_s: float = 30) -> str:
    """A configuration with one tier, `slow`, behind the stand-in."""
    return f'engines: {{anthropic: {{base_url: "{url}", api_key: sk-the-providers-key, timeout_s: {timeout_s}}}}}\n{TIER.format()}'


def after(seconds: float, text: str = "slow but sure") -> Step:
    """A reply that takes its time."""

    async def step(server: ModelServer, request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await says(text)(server, request)

    return step


class ModelThread:
    """`with ModelThread(step) as model`: a stand-in at `model.url`; `model.asked` is set once it has been asked."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._up = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self.asked = threading.Event()
        self.url = ""

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._down = asyncio.Event()

        async def noted(server: ModelServer, request: web.Request) -> web.StreamResponse:
            self.asked.set()
            return await self._step(server, request)

        async with ModelServer(always=noted) as server:
            self.url = server.url
            self._up.set()
            await self._down.wait()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._up.wait(10)
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._down.set)
        self._thread.join(10)
