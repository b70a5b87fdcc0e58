"""The stand-in model beside tests that are not asynchronous themselves."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from tests.cli.server_thread import ServerThread
from tests.engines.model_server import ModelServer, Step, says

TIER = "models: {{slow: {{engine: anthropic, model: m, input_usd_per_mtok: 1, output_usd_per_mtok: 1}}}}"


def settings(url: str, *, timeout_s: float = 30) -> str:
    """A configuration with one tier, `slow`, behind the stand-in."""
    return f'engines: {{anthropic: {{base_url: "{url}", api_key: sk-the-providers-key, timeout_s: {timeout_s}}}}}\n{TIER.format()}'


def after(seconds: float, text: str = "slow but sure") -> Step:

    async def step(server: ModelServer, request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await says(text)(server, request)

    return step


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
