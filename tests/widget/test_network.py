"""The widget in a browser: failing networks, and many tabs."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio
from aiohttp import ClientSession
from playwright.async_api import BrowserContext, Page

from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.services.administration import perform
from tests.conftest import Caller, new_caller
from tests.fakes import ADMIN, FakeClock, ScriptedEngine
from tests.platforms.conftest import begun
from tests.proxy import Fault, Link, Proxy
from tests.widget.browsing import HostSite, choose, log_of, say, sees, until


@pytest_asyncio.fixture(loop_scope="package")
async def proxy(app: App) -> AsyncIterator[Proxy]:
    """A proxy before the service, which can break its connections."""
    async with Proxy(app.port) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="package")
async def behind(page: Page, site: HostSite, proxy: Proxy) -> Page:
    """The conversation as a page of its own, behind the proxy, after a first exchange."""
    await page.goto(f"http://127.0.0.1:{proxy.port}/chat/{site.bot}")
    await say(page, "before")
    await sees(page, "echo: before")
    return page


async def lose(_: Link, __: bytes) -> None:
    """Lose a piece of an answer."""


async def counts(caller: Caller) -> list[int]:
    return [
        conversation.message_count
        for conversation in (await perform(caller.app.services, ADMIN, "conversation.list", {"bot": caller.bot})).items
    ]


@pytest.mark.usefixtures("hasty")
async def test_on_a_half_open_connection_the_reply_comes_by_another_one(
    behind: Page, proxy: Proxy, engine: ScriptedEngine, caller: Caller
) -> None:
    engine.gate = asyncio.Event()
    await say(behind, "hello")
    await begun(engine, 2)
    with proxy.broken(Fault(answered=lose)):
        # Their connections stay open, and nothing comes on them any more.
        engine.gate.set()
        await behind.get_by_role("textbox").fill("still typing")
        await until(behind, "document.getElementById('state').textContent.startsWith('No connection')", 40)
    await sees(behind, "echo: hello", 40)
    assert await behind.get_by_role("textbox").input_value() == "still typing"
    await say(behind, "later")
    await sees(behind, "echo: later", 10)
    assert (await log_of(behind))[1:] == ["before", "echo: before", "hello", "echo: hello", "later", "echo: later"]
    assert (await counts(caller), len(engine.turns)) == ([6], 3)


async def test_on_a_slow_network_nothing_is_sent_twice(
    behind: Page, context: BrowserContext, engine: ScriptedEngine, caller: Caller
) -> None:
    session = await context.new_cdp_session(behind)
    slow = {"offline": False, "latency": 1200, "downloadThroughput": 2000, "uploadThroughput": 2000}
    await session.send("Network.emulateNetworkConditions", slow)
    await say(behind, "slow one")
    await say(behind, "slow two")
    await sees(behind, "echo: slow two", 40)
    assert (await log_of(behind))[1:] == ["before", "echo: before", "slow one", "echo: slow one", "slow two", "echo: slow two"]
    assert (await counts(caller), len(engine.turns)) == ([6], 3)


async def test_a_service_that_restarts_during_a_reply_gives_it_once(
    page: Page, config: Config, clock: FakeClock, engine: ScriptedEngine
) -> None:
    async with App(config, clock) as app, ClientSession() as session:
        app.services.engines["anthropic"] = engine
        caller = await new_caller(app, session)
        await perform(app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "web", "sites": ["any-link"]})
        await page.goto(f"{app.url}/chat/{caller.bot}?language=en")
        await say(page, "before")
        await sees(page, "echo: before")
        engine.delay_s = 1.0
        await say(page, "meanwhile")
        await begun(engine, 2)
    async with App(replace(config, server=replace(config.server, port=app.port)), clock) as again:
        again.services.engines["anthropic"] = engine
        await sees(page, "echo: meanwhile", 40)
        await page.wait_for_timeout(500)
        assert (await log_of(page))[1:] == ["before", "echo: before", "meanwhile", "echo: meanwhile"]
        await page.close()
    assert len(engine.turns) == 2


async def other_tab(context: BrowserContext, site: HostSite) -> Page:
    tab = await context.new_page()
    await tab.goto(f"{site.service}/chat/{site.bot}")
    await tab.wait_for_selector("[data-action=send]")
    return tab


async def test_starting_anew_while_another_tab_sends_brings_nothing_back(
    chat: Page, context: BrowserContext, site: HostSite, engine: ScriptedEngine, caller: Caller
) -> None:
    await say(chat, "hello")
    await sees(chat, "echo: hello")
    other = await other_tab(context, site)
    await sees(other, "echo: hello")
    engine.gate = asyncio.Event()
    await say(other, "under way")
    await begun(engine, 2)
    await say(other, "not sent yet")
    await choose(chat, "anew")
    await until(other, "document.querySelectorAll('[role=log] .said').length === 1")
    assert await other.get_by_role("textbox").input_value() == "not sent yet"
    engine.gate.set()
    await chat.wait_for_timeout(1000)
    assert await chat.evaluate("localStorage.length") == 0
    for tab in (chat, other):
        assert len(await log_of(tab)) == 1
    await say(chat, "new")
    await sees(other, "echo: new")
    assert (await log_of(other))[1:] == ["new", "echo: new"]
    assert sorted(await counts(caller)) == [2, 4]


async def test_many_tabs_share_one_held_request_and_all_see_every_message(
    chat: Page, context: BrowserContext, site: HostSite, caller: Caller
) -> None:
    tabs = [chat, *[await other_tab(context, site) for _ in range(5)]]
    await say(chat, "hello to all tabs")
    for tab in tabs:
        await sees(tab, "echo: hello to all tabs", 20)
    (listed,) = (await perform(caller.app.services, ADMIN, "conversation.list", {"bot": caller.bot})).items
    waiters, visitor = caller.app.services.events._waiters, (caller.bot, "web", listed.user_id)
    async with asyncio.timeout(30):
        while visitor not in waiters:  # noqa: ASYNC110  # the read has no other sign
            await asyncio.sleep(0.05)
    assert len(waiters[visitor]) == 1
    await perform(caller.app.services, ADMIN, "conversation.reply", {"conversation": listed.id, "text": "Ada here"})
    for tab in tabs:
        await sees(tab, "Ada here", 20)
        assert (await log_of(tab))[1:] == ["hello to all tabs", "echo: hello to all tabs", "Ada here"]
