"""Fixtures of the API tests alone."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from chatsvc.app import App
from tests.api.support import Wire

Connect = Callable[[], Awaitable[Wire]]


@pytest.fixture
async def connect(app: App) -> AsyncIterator[Connect]:
    """Opens bare connections to the service."""
    opened: list[Wire] = []

    async def connection() -> Wire:
        wire = Wire(*await asyncio.open_connection("127.0.0.1", app.port))
        opened.append(wire)
        return wire

    yield connection
    for wire in opened:
        await wire.close()
