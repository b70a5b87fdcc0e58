"""Tests in a real browser that typed text survives another save, another page, a reload, a refusal and a sign-out."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from playwright.async_api import Browser, Dialog, Page

from chatsvc.store import exchanges
from tests.dashboard.site import PASSWORD, Site
from tests.store.support import new_exchange

REPLY = "[data-action='conversation.reply'] textarea"
NOTE = "[data-action='conversation.note'] textarea"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def talks(site: Site) -> list[str]:
    """The pages of two conversations on the website."""
    bot = site.mine.bot
    await site.do("channel.set", bot=bot, channel="web", sites=["https://shop.example"])
    for visitor in ("first", "second"):
        exchange = new_exchange(bot, site.mine.account, visitor, channel="web", at=site.clock.now, text="Hello")
        await exchanges.record(site.app.services.db, exchange)
    return [f"{site.app.url}/conversations/{item.id}" for item in (await site.do("conversation.list", bot=bot, channel="web")).items]


@pytest_asyncio.fixture(loop_scope="module")
async def page(site: Site, browser: Browser) -> AsyncIterator[Page]:
    """A tab of the owner's."""
    context = await browser.new_context(locale="en-GB")
    page = await context.new_page()
    await site.sign_in(page, "owner")
    yield page
    await context.close()


async def test_a_reply_waits_for_its_writer(page: Page, talks: list[str]) -> None:
    await page.goto(talks[0])
    await page.fill(REPLY, "We have found your bicycle")
    await page.goto(talks[1])
    assert await page.input_value(REPLY) == ""
    await page.fill(REPLY, "Another reply")
    await page.goto(talks[0])
    assert await page.input_value(REPLY) == "We have found your bicycle"
    await page.click(".note-form summary")
    await page.fill(NOTE, "Blue frame")
    await page.locator(".note-form button").click()
    await page.locator("#messages li.note").wait_for()
    assert await page.input_value(REPLY) == "We have found your bicycle"
    assert await page.input_value(NOTE) == ""
    await page.reload()
    await page.locator("[data-action='conversation.reply'] [data-main]").click()
    await page.locator("#messages li.person").wait_for()
    assert await page.input_value(REPLY) == ""
    # Back shows the page of now, and nothing to send a second time.
    await page.go_back()
    assert await page.input_value(REPLY) == ""
    await page.goto(talks[1])
    assert await page.input_value(REPLY) == "Another reply"


async def test_a_sign_out_meanwhile_costs_no_text(page: Page, talks: list[str], site: Site) -> None:
    await page.goto(talks[1])
    await page.fill(REPLY, "Written before the session ended")
    await page.context.clear_cookies()
    await page.locator("[data-action='conversation.reply'] [data-main]").click()
    await page.fill("input[name=email]", site.email("owner"))
    await page.fill("input[name=password]", PASSWORD)
    await page.click("main button[type=submit]")
    await page.wait_for_url(f"{talks[1]}*")
    assert await page.input_value(REPLY) == "Written before the session ended"


async def test_settings_keep_what_was_typed_in_the_other_sections(page: Page, site: Site) -> None:
    await page.goto(f"{site.app.url}/bots/{site.mine.bot}")
    await page.fill("#general textarea[name=description]", "For customers of the shop")
    await page.fill("#hours [name=hours_mon]", "soon")
    await page.locator("#hours [data-action='bot.set'] button[type=submit]").click()
    assert await page.locator("#hours .fault").count() == 1
    assert await page.input_value("#general textarea[name=description]") == "For customers of the shop"
    assert await page.locator("#general .unsaved").is_visible()
    await page.fill("#hours [name=hours_mon]", "09:00-18:00")
    await page.locator("#hours [data-action='bot.set'] button[type=submit]").click()
    await page.locator("[data-action='bot.set'] .saved-now").wait_for()
    assert await page.input_value("#general textarea[name=description]") == "For customers of the shop"
    await page.locator("#general .unsaved button").click()
    assert await page.input_value("#general textarea[name=description]") == ""
    assert await page.locator(".unsaved").count() == 0


async def test_who_leaves_unsaved_settings_is_asked(page: Page, site: Site) -> None:
    asked: list[str] = []

    async def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        await dialog.dismiss()

    page.on("dialog", stay)
    await page.goto(f"{site.app.url}/bots/{site.mine.bot}")
    await page.locator("#general textarea[name=description]").press_sequentially("Half a")
    await page.locator("nav.tabs a").nth(1).click()
    assert asked == ["beforeunload"]
    assert await page.input_value("#general textarea[name=description]") == "Half a"
