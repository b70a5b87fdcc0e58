"""Fixtures: a site that embeds a bot's widget for each test, one service for all tests of a module, and one browser for all."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio
from aiohttp import ClientSession
from playwright.async_api import Browser, BrowserContext, Page

from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.services.administration import perform
from tests.browsers import chromium
from tests.conftest import Caller, config_in, new_caller
from tests.fakes import ADMIN, FakeClock, ScriptedEngine
from tests.widget.browsing import HostSite


@pytest.fixture(scope="module")
def config_of_module(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """A configuration with a limit that is in no test's way."""
    config = config_in(tmp_path_factory.mktemp("widget"))
    return replace(config, limits=replace(config.limits, web_per_minute=1000))


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def app_of_module(config_of_module: Config) -> AsyncIterator[App]:
    async with App(config_of_module, FakeClock()) as running:
        yield running


@pytest.fixture
def app(app_of_module: App, engine: ScriptedEngine) -> App:
    app_of_module.services.engines["anthropic"] = engine
    return app_of_module


@pytest_asyncio.fixture(loop_scope="package")
async def caller(app: App) -> AsyncIterator[Caller]:
    async with ClientSession() as session:
        yield await new_caller(app, session)


@pytest_asyncio.fixture(loop_scope="package")
async def site(caller: Caller) -> AsyncIterator[HostSite]:
    """A site that may embed the bot's widget, on another origin than the service."""
    host = HostSite(caller.app.url, caller.bot)
    await host.start()
    settings = {"sites": [host.url, "any-link"], "privacy_url": "https://example.com/privacy", "title": "Help"}
    await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "web", **settings})
    await perform(caller.app.services, ADMIN, "bot.set", {"bot": caller.bot, "language": "en"})
    yield host
    await host.stop()


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as started:
        yield started


@pytest_asyncio.fixture(loop_scope="package")
async def context(browser: Browser) -> AsyncIterator[BrowserContext]:
    async with await browser.new_context(locale="en-GB", viewport={"width": 1000, "height": 800}) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="package")
async def hasty(context: BrowserContext) -> None:
    """Let a fifth of the time pass in pages until they give up waiting."""
    await context.add_init_script("const later = window.setTimeout; window.setTimeout = (work, ms = 0) => later(work, ms / 5)")


@pytest_asyncio.fixture(loop_scope="package")
async def page(context: BrowserContext) -> Page:
    return await context.new_page()


@pytest_asyncio.fixture(loop_scope="package")
async def chat(page: Page, site: HostSite) -> Page:
    """A tab with the conversation as its own page, whose storage is not blocked."""
    await page.goto(f"{site.service}/chat/{site.bot}")
    await page.wait_for_selector("[data-action=send]")
    return page
