"""The inbox of conversations in a real browser: columns, keys, saved replies, the end of the thread; with and without a script."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from chatsvc.store import exchanges
from tests.dashboard.site import Site
from tests.store.inspection import execute
from tests.store.support import new_exchange


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def path(site: Site) -> str:
    """The page of a long conversation on the website, and saved replies."""
    bot = site.mine.bot
    await site.do("channel.set", bot=bot, channel="web", sites=["https://shop.example"])
    for number in range(15):
        exchange = new_exchange(
            bot, site.mine.account, "web-visitor", channel="web", at=site.clock.now - 1000 + number, text=f"Question {number}"
        )
        await exchanges.record(site.app.services.db, exchange)
    await execute(site.app, "UPDATE conversations SET visitor_name = 'Deniz' WHERE user_id = 'web-visitor'")
    await site.do("saved_reply.set", account=site.mine.account, name="address", text="We are at 128 Harbour Road.")
    await site.do("saved_reply.set", account=site.mine.account, name="greeting", text="Hello {name}, this is Ada.")
    (found,) = (await site.do("conversation.list", bot=bot, channel="web")).items
    return f"/conversations/{found.id}"


@asynccontextmanager
async def tab(site: Site, browser: Browser, width: int, height: int = 800, **options: Any) -> AsyncIterator[Page]:
    """A tab of the editor's."""
    context = await browser.new_context(locale="en-GB", viewport={"width": width, "height": height}, **options)
    page = await context.new_page()
    await site.sign_in(page, "editor")
    yield page
    await context.close()


async def in_sight(page: Page, selector: str) -> bool:
    """Whether an element lies inside of the window."""
    box = await page.locator(selector).first.bounding_box()
    size = page.viewport_size
    assert size is not None
    return box is not None and box["y"] >= 0 and box["y"] + box["height"] <= size["height"] and box["x"] + box["width"] <= size["width"]


REPLY = "[data-action='conversation.reply'] textarea"


@pytest.mark.parametrize("scripts", [True, False], ids=["script", "no script"])
async def test_three_columns_on_a_desk_and_one_on_a_phone(site: Site, browser: Browser, path: str, *, scripts: bool) -> None:
    async with tab(site, browser, 1200, java_script_enabled=scripts) as page:
        await page.goto(site.app.url + path)
        boxes = [await page.locator(one).bounding_box() for one in (".talks", ".thread", ".visitor")]
        places = [(box["x"], box["width"]) for box in boxes if box]
        assert len(places) == 3
        assert all(left + width <= following + 1 for (left, width), (following, _) in pairwise(places))
        assert await in_sight(page, REPLY)
        assert await in_sight(page, "#messages li.message:last-child")
        assert not await in_sight(page, "#messages li.message")
    async with tab(site, browser, 375, java_script_enabled=scripts) as page:
        await page.goto(f"{site.app.url}/conversations")
        await page.locator(f".talk a[href='{path}']").click()
        shown = [await page.locator(one).is_visible() for one in (".talks", ".thread", ".visitor")]
        assert shown == [False, True, False]
        assert await page.get_by_text("Times are in").is_visible()
        assert await in_sight(page, REPLY)
        assert await in_sight(page, "#messages li.message:last-child")
        assert await page.locator("html").evaluate("html => html.scrollWidth <= innerWidth")
        await page.locator("a[href='#person']").click()
        assert (await page.locator(".visitor").is_visible(), await page.locator(".thread").is_visible()) == (True, False)
        await page.locator(".visitor a[href='#reply']").click()
        assert (await page.locator(".visitor").is_visible(), await in_sight(page, REPLY)) == (False, True)


async def test_a_saved_reply_is_chosen_by_a_slash_and_sent_by_keys(site: Site, browser: Browser, path: str) -> None:
    async with tab(site, browser, 1200) as page:
        await page.goto(site.app.url + path)
        box = page.locator(REPLY)
        await box.press_sequentially("Well, /")
        options = page.locator("[role=option]")
        assert await options.count() == 2
        assert await in_sight(page, "[role=option]")
        await page.keyboard.press("ArrowDown")
        selected = await page.locator("[role=option][aria-selected=true]").get_attribute("id")
        assert await box.get_attribute("aria-activedescendant") == selected
        await page.keyboard.press("Escape")
        assert not await page.locator("[role=listbox]").is_visible()
        await box.press_sequentially("gre")
        assert await options.count() == 1
        await page.keyboard.press("Enter")
        assert await box.input_value() == "Well, Hello Deniz, this is Ada."
        await page.select_option("select[name=saved]", "address")
        await page.locator("[data-insert]").click()
        assert await box.input_value() == "Well, Hello Deniz, this is Ada.\n\nWe are at 128 Harbour Road."
        await page.keyboard.press("Control+Enter")
        await page.locator("#messages li.person").wait_for()
        assert "128 Harbour Road." in await page.locator("#messages li.person").inner_text()
        # The next words can be typed at once.
        await page.locator(f"{REPLY}:focus").wait_for()
        await page.keyboard.type("And")
        assert await box.input_value() == "And"


async def test_a_reply_and_a_note_are_written_without_a_script(site: Site, browser: Browser, path: str) -> None:
    async with tab(site, browser, 375, java_script_enabled=False) as page:
        await page.goto(site.app.url + path)
        await page.fill(REPLY, "First:")
        await page.select_option("select[name=saved]", "greeting")
        await page.click("button[value=saved]")
        assert await page.input_value(REPLY) == "First:\n\nHello Deniz, this is Ada."
        await page.click("[data-action='conversation.reply'] [data-main]")
        assert "First:" in await page.locator("#messages").inner_text()
        await page.click(".note-form summary")
        await page.fill(".note-form textarea", "A good customer")
        await page.click(".note-form button")
        assert await in_sight(page, "#messages li.note")


async def test_a_thread_that_was_scrolled_back_stays_at_its_place(site: Site, browser: Browser, path: str) -> None:
    async with tab(site, browser, 1200) as page:
        await page.goto(site.app.url + path)
        scroller = page.locator(".thread-scroll")
        await scroller.evaluate("one => { one.scrollTop = -400; }")
        message = page.locator("#messages li.message").nth(12)
        before = await message.bounding_box()
        exchange = new_exchange(site.mine.bot, site.mine.account, "web-visitor", channel="web", at=site.clock.now, text="One more")
        await exchanges.record(site.app.services.db, exchange)
        await page.locator("#messages").get_by_text("One more", exact=True).wait_for(timeout=15_000)
        after = await message.bounding_box()
        assert before is not None
        assert after is not None
        assert abs(before["y"] - after["y"]) < 3
