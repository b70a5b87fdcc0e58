"""A receiver on this machine. Tests on the wire run on both event loops: their TLS is not the same code."""

import asyncio
from collections.abc import Callable

import pytest
import uvloop

from tests.webhooks.fixtures import authority, config, receiver

__all__ = ["authority", "config", "pytest_asyncio_loop_factories", "receiver"]


def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    loops: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.SelectorEventLoop}
    return loops | {"uvloop": uvloop.new_event_loop} if item.path.name == "test_connector.py" else loops
