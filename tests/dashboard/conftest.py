"""Fixtures of the dashboard's tests: one service for the tests of a module, and a browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from inspect import iscoroutinefunction
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from tests.dashboard.client import Client
from tests.dashboard.site import Site, open_site

CHROMIUM = shutil.which("chromium")
# scripts/test installs axe-core and html-validate here, outside of the repository.
TOOLS = Path(os.environ.get("CHATSVC_TEST_TOOLS") or Path.home() / ".cache" / "chatsvc-test-tools")
CHROMIUM_OPTIONS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"
)


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
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_OPTIONS.split())
        yield opened
        await opened.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core, which finds what keeps people from using a page."""
    script = TOOLS / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        pytest.skip("axe-core is not installed: run scripts/test, with npm on this machine")
    return script.read_text("utf-8")


@pytest.fixture(scope="session")
def html_validate() -> Path:
    """The command of html-validate."""
    command = TOOLS / "node_modules" / ".bin" / "html-validate"
    if not command.exists():
        pytest.skip("html-validate is not installed: run scripts/test, with npm on this machine")
    return command
