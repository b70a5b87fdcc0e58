"""Tests in a real browser that typed text survives another save, another page, a reload, a refusal and a sign-out."""

import pytest_asyncio
from playwright.async_api import Dialog, Page

from tests.dashboard.client import Client, Shown
from tests.dashboard.conftest import Tabs
from tests.dashboard.site import PASSWORD, Site

REPLY = "[data-action='conversation.reply'] textarea"
NOTE = "[data-action='conversation.note'] textarea"
SEND = "[data-action='conversation.reply'] [data-main]"


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def talks(site: Site) -> list[str]:
    """The pages of two conversations on the website."""
    await site.do("channel.set", bot=site.mine.bot, channel="web", sites=["https://shop.example"])
    return [f"{site.app.url}/conversations/{await site.write(visitor, channel='web')}" for visitor in ("first", "second")]


@pytest_asyncio.fixture(loop_scope="package")
async def page(tabs: Tabs) -> Page:
    """A tab of the owner's."""
    return await tabs("owner")


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
    await page.click(".note-form button")
    await page.locator("#messages li.note").wait_for()
    assert await page.input_value(REPLY) == "We have found your bicycle"
    assert await page.input_value(NOTE) == ""
    await page.reload()
    await page.click(SEND)
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
    await page.click(SEND)
    await page.fill("input[name=email]", site.email("owner"))
    await page.fill("input[name=password]", PASSWORD)
    await page.click("main button[type=submit]")
    await page.wait_for_url(f"{talks[1]}*")
    assert await page.input_value(REPLY) == "Written before the session ended"


DESCRIPTION, MONDAY = "#general textarea[name=description]", "#hours [name=hours_mon]"
SAVE = "[data-action='bot.set'] button[type=submit]"


async def test_settings_keep_what_was_typed_in_the_other_sections(page: Page, site: Site) -> None:
    await page.goto(f"{site.app.url}/bots/{site.mine.bot}")
    await page.fill(DESCRIPTION, "For customers of the shop")
    await page.fill(MONDAY, "soon")
    await page.click(f"#hours {SAVE}")
    await page.locator("#hours .fault").wait_for()
    assert await page.input_value(DESCRIPTION) == "For customers of the shop"
    assert await page.locator("#general .unsaved").is_visible()
    await page.fill(MONDAY, "09:00-18:00")
    await page.click(f"#hours {SAVE}")
    await page.locator("[data-action='bot.set'] .saved-now").wait_for()
    assert await page.input_value(DESCRIPTION) == "For customers of the shop"
    await page.click("#general .unsaved button")
    assert (await page.input_value(DESCRIPTION), await page.locator(".unsaved").count()) == ("", 0)


async def test_the_second_of_two_tabs_overwrites_nothing_unseen(page: Page, site: Site) -> None:
    bot = site.mine.bot
    await site.do("bot.set", bot=bot, description="Old", greeting="Good day")
    await page.goto(f"{site.app.url}/bots/{bot}")
    await site.do("bot.set", bot=bot, description="By somebody else", greeting="Good evening")
    await page.fill(DESCRIPTION, "By me")
    await page.click(f"#general {SAVE}")
    await page.get_by_text("It now says: By somebody else").wait_for()
    assert await page.input_value(DESCRIPTION) == "By me"
    assert (await site.do("bot.show", bot=bot)).description == "By somebody else"
    # The second save is a decision. What another section holds stays as it is.
    await page.click(f"#general {SAVE}")
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
    await page.fill(DESCRIPTION, "Half a")
    await page.locator("nav.tabs a").nth(1).click()
    assert asked == ["beforeunload"]
    assert await page.input_value(DESCRIPTION) == "Half a"


def version_in(shown: Shown) -> str:
    """Return the version that the page's form has."""
    (version,) = [value for form in shown.forms() for name, value in shown.values(form) if name == "version" and value]
    return version


async def test_an_older_page_of_an_entry_a_sentence_or_a_form_says_so(site: Site, owner: Client) -> None:
    bot, entry = site.mine.bot, site.mine.ids["entry"]
    paths = {
        f"/bots/{bot}/knowledge/{entry}": ({"question": "Are you open?", "answer": "Yes."}, {"question": "Are you open?", "answer": "No."}),
        f"/bots/{bot}/texts/smalltalk.greeting": ({"en": "Hello"}, {"en": "Good day"}),
        f"/bots/{bot}/forms/quote": ({"name_0": "size", "kind_0": "text"}, {"name_0": "colour", "kind_0": "text"}),
    }
    for path, (first, second) in paths.items():
        hidden = {"version": version_in(await owner.get(path)), "bot": bot, "id": bot, "entry": entry}
        assert (await owner.post(path, {**hidden, **first}, follow=False)).status == 303
        refused = await owner.post(path, {**hidden, **second})
        assert (refused.status, "It now says:" in refused.text) == (409, True), path
        again = await owner.post(path, {**hidden, **second, "version": version_in(refused)}, follow=False)
        assert again.status == 303
