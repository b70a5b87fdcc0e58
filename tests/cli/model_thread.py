"""Servers in a thread with an event loop, and the stand-in model as one, for synchronous tests."""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Self

from aiohttp import web

from tests.engines.model_server import ModelServer, Step, says

TIER = "models: {{slow: {{engine: anthropic, model: m, input_usd_per_mtok: 1, output_usd_per_mtok: 1}}}}"


def settings(url: str, *, timeout_s: float = 30) -> str:
    """A configuration with one tier, `slow`, behind the stand-in."""
    return f'engines: {{anthropic: {{base_url: "{url}", api_key: sk-the-providers-key, timeout_s: {timeout_s}}}}}\n{TIER.format()}'


def after(let_go: threading.Event, text: str = "slow but sure") -> Step:

    async def step(server: ModelServer, request: web.Request) -> web.StreamResponse:
        await asyncio.to_thread(let_go.wait, 60)
        return await says(text)(server, request)

    return step


class ServerThread(ABC):
    """Runs the server that `server` opens, for the length of a `with` block."""

    def __init__(self) -> None:
        self._up = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self.url = ""

    @abstractmethod
    def server(self) -> AbstractAsyncContextManager[str]:
        """Open the server, and close it at the end; its value is the URL."""

    async def _run(self) -> None:
        self._loop, self._down = asyncio.get_running_loop(), asyncio.Event()
        async with self.server() as self.url:
            self._up.set()
            await self._down.wait()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._up.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._down.set)
        self._thread.join(10)


class ModelThread(ServerThread):
    """`with ModelThread(step) as model`: a stand-in at `model.url`; `model.asked` is set once it has been asked."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self._step = step
        self.asked = threading.Event()

    @asynccontextmanager
    async def server(self) -> AsyncIterator[str]:

        async def noted(server: ModelServer, request: web.Request) -> web.StreamResponse:
            self.asked.set()
            return await self._step(server, request)

        async with ModelServer(always=noted) as server:
            yield server.url
