"""Tests in a real browser that typed text survives another save, another page, a reload, a refusal and a sign-out."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from playwright.async_api import Browser, Dialog, Page

from chatsvc.store import exchanges
from tests.dashboard.client import Shown
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


async def test_the_second_of_two_tabs_overwrites_nothing_unseen(page: Page, site: Site) -> None:
    bot = site.mine.bot
    await site.do("bot.set", bot=bot, description="Old", greeting="Good day")
    await page.goto(f"{site.app.url}/bots/{bot}")
    await site.do("bot.set", bot=bot, description="By somebody else", greeting="Good evening")
    await page.fill("#general textarea[name=description]", "By me")
    await page.locator("#general [data-action='bot.set'] button[type=submit]").click()
    await page.get_by_text("It now says: By somebody else").wait_for()
    assert await page.input_value("#general textarea[name=description]") == "By me"
    assert (await site.do("bot.show", bot=bot)).description == "By somebody else"
    # The second save is a decision. What another section holds stays as it is.
    await page.locator("#general [data-action='bot.set'] button[type=submit]").click()
    await page.locator("#general .saved-now").wait_for()
    shown = await site.do("bot.show", bot=bot)
    assert (shown.description, shown.greeting) == ("By me", "Good evening")


async def test_who_leaves_unsaved_settings_is_asked(page: Page, site: Site) -> None:
    asked: list[str] = []

    async def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        await dialog.dismiss()

    page.on("dialog", stay)
    await page.goto(f"{site.app.url}/bots/{site.mine.bot}")
    await page.locator("#general textarea[name=description]").fill("Half a")
    await page.locator("nav.tabs a").nth(1).click()
    assert asked == ["beforeunload"]
    assert await page.input_value("#general textarea[name=description]") == "Half a"


def version_in(shown: Shown) -> str:
    """Return the version that the page's form has."""
    (form,) = [form for form in shown.forms() if dict(shown.values(form)).get("version")]
    return dict(shown.values(form))["version"]


async def test_an_older_page_of_an_entry_a_sentence_or_a_form_says_so(site: Site) -> None:
    owner, bot, entry = await site.client("owner"), site.mine.bot, site.mine.ids["entry"]
    paths = {
        f"/bots/{bot}/knowledge/{entry}": ({"question": "Are you open?", "answer": "Yes."}, {"question": "Are you open?", "answer": "No."}),
        f"/bots/{bot}/texts/smalltalk.greeting": ({"en": "Hello"}, {"en": "Good day"}),
        f"/bots/{bot}/forms/quote": ({"name_0": "size", "kind_0": "text"}, {"name_0": "colour", "kind_0": "text"}),
    }
    for path, (first, second) in paths.items():
        version = version_in(await owner.get(path))
        hidden = {"version": version, "bot": bot, "id": bot, "entry": entry}
        assert (await owner.post(path, {**hidden, **first}, follow=False)).status == 303
        refused = await owner.post(path, {**hidden, **second})
        assert (refused.status, "It now says:" in refused.text) == (409, True), path
        again = await owner.post(path, {**hidden, **second, "version": version_in(refused)}, follow=False)
        assert again.status == 303
