"""Fixtures of the anthropic engine: a model server on loopback, and engines that ask it."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from chatsvc.engines.anthropic import AnthropicEngine, Provider
from tests.engines.model_server import ModelServer

KEY = "sk-ant-api03-secret"

Make = Callable[..., AnthropicEngine]


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


@pytest.fixture
async def make(server: ModelServer) -> AsyncIterator[Make]:
    engines: list[AnthropicEngine] = []

    def build(**settings: Any) -> AnthropicEngine:
        provider = {"base_url": server.url, "api_key": KEY}
        provider |= {name: settings.pop(name) for name in ("base_url", "api_key", "platform", "region", "project") if name in settings}
        engines.append(AnthropicEngine(Provider.of(**provider), **{"timeout_s": 10.0, "max_retries": 0, **settings}))
        return engines[-1]

    yield build
    for engine in engines:
        await engine.close()


@pytest.fixture
def engine(make: Make) -> AnthropicEngine:
    return make()
