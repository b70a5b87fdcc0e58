"""Fixtures of the dashboard's tests: one service for the tests of a module, one browser for all, and tabs in it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from chatsvc.services.team import credentials
from tests.browsers import chromium, tool
from tests.dashboard.client import Client
from tests.dashboard.site import Site, open_site

Tabs = Callable[..., Awaitable[Page]]


@pytest.fixture(scope="package", autouse=True)
def _hash_passwords_quickly() -> Iterator[None]:
    """Spare the memory that makes guessing slow: each test signs in."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(credentials, "MEMORY_KIB", 64)
        yield


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    """A running service with records and people, for all tests of a module."""
    async with AsyncExitStack() as stack:
        yield await open_site(tmp_path_factory.mktemp("dashboard"), stack)


@pytest_asyncio.fixture(loop_scope="package")
async def anyone(site: Site) -> Client:
    """A browser without a session."""
    return await site.client()


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def administrator(site: Site) -> Client:
    """The installation's administrator."""
    return await site.client("administrator")


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def owner(site: Site) -> Client:
    """The owner of `site.mine`."""
    return await site.client("owner")


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def editor(site: Site) -> Client:
    """An editor of `site.mine`."""
    return await site.client("editor")


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def reader(site: Site) -> Client:
    """A reader of `site.mine`."""
    return await site.client("reader")


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def browser() -> AsyncIterator[Browser]:
    """Chromium without a window."""
    async with chromium() as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="package")
async def tabs(site: Site, browser: Browser) -> AsyncIterator[Tabs]:
    """Opens tabs, each in a browser of its own, as a person who is signed in. Options are those of a browser context."""
    contexts = []

    async def open_tab(role: str | None = None, width: int = 1280, height: int = 800, **options: Any) -> Page:
        context = await browser.new_context(**{"locale": "en-GB", "viewport": {"width": width, "height": height}, **options})
        contexts.append(context)
        if role is not None:
            session = await site.client(role)
            (cookie,) = session.session.cookie_jar
            await context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": site.app.url}])
        return await context.new_page()

    yield open_tab
    for context in contexts:
        await context.close()


async def wait_for(tab: Page, selector: str, text: str | None = None) -> None:
    """Let the tab's own clock run until an open page has read an element by itself."""
    element = tab.locator(selector).get_by_text(text, exact=True) if text else tab.locator(selector)
    for _ in range(100):
        if await element.count():
            return
        await tab.clock.run_for(5000)
        await tab.wait_for_timeout(50)
    raise AssertionError(f"{selector} has not appeared")


@pytest.fixture(scope="session")
def html_validate() -> Path:
    """The command of html-validate."""
    return tool(".bin", "html-validate")
