"""The inbox of conversations in a real browser: columns, keys, saved replies, the end of the thread; with and without a script."""

from itertools import pairwise

import pytest
import pytest_asyncio
from playwright.async_api import Page

from tests.dashboard.conftest import Tabs, wait_for
from tests.dashboard.site import Site

REPLY = "[data-action='conversation.reply'] textarea"
LAST = "#messages li.message:last-child"


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def address(site: Site) -> str:
    """The page of a long conversation on the website, and saved replies."""
    await site.do("channel.set", bot=site.mine.bot, channel="web", sites=["https://shop.example"])
    (conversation,) = {await site.write("web-visitor", f"Question {number}", channel="web", later_ms=number - 1000) for number in range(15)}
    await site.do("visitor.set", conversation=conversation, name="Deniz")
    for name, text in (("address", "We are at 128 Harbour Road."), ("greeting", "Hello {name}, this is Ada.")):
        await site.do("saved_reply.set", account=site.mine.account, name=name, text=text)
    return f"{site.app.url}/conversations/{conversation}"


async def in_sight(page: Page, selector: str) -> bool:
    """Whether an element lies inside of the window."""
    box, size = await page.locator(selector).first.bounding_box(), page.viewport_size
    assert size is not None
    return box is not None and box["y"] >= 0 and box["y"] + box["height"] <= size["height"] and box["x"] + box["width"] <= size["width"]


async def visible(page: Page, *selectors: str) -> list[bool]:
    return [await page.locator(selector).is_visible() for selector in selectors]


@pytest.mark.parametrize("scripts", [True, False], ids=["script", "no script"])
async def test_three_columns_on_a_desk_and_one_on_a_phone(site: Site, tabs: Tabs, address: str, *, scripts: bool) -> None:
    desk = await tabs("editor", 1200, java_script_enabled=scripts)
    await desk.goto(address)
    boxes = [await desk.locator(selector).bounding_box() for selector in (".talks", ".thread", ".visitor")]
    edges = [(box["x"], box["width"]) for box in boxes if box]
    assert len(edges) == 3
    assert all(left + width <= following + 1 for (left, width), (following, _) in pairwise(edges))
    assert [await in_sight(desk, selector) for selector in (REPLY, LAST, "#messages li.message")] == [True, True, False]
    phone = await tabs("editor", 375, java_script_enabled=scripts)
    await phone.goto(f"{site.app.url}/conversations")
    await phone.locator(f".talk a[href='{address.removeprefix(site.app.url)}']").click()
    assert await visible(phone, ".talks", ".thread", ".visitor") == [False, True, False]
    assert await phone.get_by_text("Times are in").is_visible()
    assert [await in_sight(phone, selector) for selector in (REPLY, LAST)] == [True, True]
    assert await phone.locator("html").evaluate("html => html.scrollWidth <= innerWidth")
    await phone.locator("a[href='#person']").click()
    assert await visible(phone, ".visitor", ".thread") == [True, False]
    await phone.locator(".visitor a[href='#reply']").click()
    assert (await visible(phone, ".visitor"), await in_sight(phone, REPLY)) == ([False], True)


async def test_a_saved_reply_is_chosen_by_a_slash_and_sent_by_keys(tabs: Tabs, address: str) -> None:
    page = await tabs("editor", 1200)
    await page.goto(address)
    box, options = page.locator(REPLY), page.locator("[role=option]")
    await box.press_sequentially("Well, /")
    assert (await options.count(), await in_sight(page, "[role=option]")) == (2, True)
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


async def test_a_thread_that_was_scrolled_back_stays_at_its_place(site: Site, tabs: Tabs, address: str) -> None:
    page = await tabs("editor", 1200)
    await page.clock.install()
    await page.goto(address)
    await page.locator(".thread-scroll").evaluate("one => { one.scrollTop = -400; }")
    message = page.locator("#messages li.message").nth(12)
    before = await message.bounding_box()
    await site.write("web-visitor", "One more", channel="web")
    await wait_for(page, "#messages", "One more")
    after = await message.bounding_box()
    assert before is not None
    assert after is not None
    assert abs(before["y"] - after["y"]) < 3
