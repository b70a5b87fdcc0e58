"""Fixtures of the dashboard's tests: one service for the tests of a module, and a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from inspect import iscoroutinefunction
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.browsers import chromium, tool
from tests.dashboard.client import Client
from tests.dashboard.site import Site, open_site


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the asynchronous tests of a module in one event loop, that of its service."""
    for item in items:
        if isinstance(item, pytest.Function) and Path(__file__).parent in item.path.parents and iscoroutinefunction(item.function):
            item.add_marker(pytest.mark.asyncio(loop_scope="module"), append=False)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    """A running service with records and people, for all tests of a module."""
    async with AsyncExitStack() as stack:
        yield await open_site(tmp_path_factory.mktemp("dashboard"), stack)


@pytest_asyncio.fixture(loop_scope="module")
async def anyone(site: Site) -> Client:
    """A browser without a session."""
    return await site.client()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def administrator(site: Site) -> Client:
    """The installation's administrator."""
    return await site.client("administrator")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def owner(site: Site) -> Client:
    """The owner of `site.mine`."""
    return await site.client("owner")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def editor(site: Site) -> Client:
    """An editor of `site.mine`."""
    return await site.client("editor")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reader(site: Site) -> Client:
    """A reader of `site.mine`."""
    return await site.client("reader")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    """Chromium without a window."""
    async with chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def html_validate() -> Path:
    """The command of html-validate."""
    return tool(".bin", "html-validate")
