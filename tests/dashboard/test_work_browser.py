"""Inbox and conversations in a real browser: by keyboard, and with messages that appear by themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from playwright.async_api import Browser, Page, Route

from chatsvc.store import exchanges
from tests.dashboard.site import Site
from tests.store.inspection import execute
from tests.store.support import new_exchange


@pytest_asyncio.fixture(loop_scope="module")
async def tab(site: Site, browser: Browser) -> AsyncIterator[Page]:
    """A tab of the editor's."""
    context = await browser.new_context(locale="en-GB")
    page = await context.new_page()
    await site.sign_in(page, "editor")
    yield page
    await context.close()


async def test_a_list_is_worked_by_keys_that_can_be_switched_off(site: Site, tab: Page) -> None:
    await tab.goto(f"{site.app.url}/conversations")
    rows = await tab.locator(".talk[data-id] a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert len(rows) >= 2
    await tab.keyboard.press("j")
    await tab.keyboard.press("j")
    await tab.keyboard.press("k")
    await tab.keyboard.press("j")
    assert await tab.evaluate("document.activeElement.getAttribute('href')") == rows[1]
    await tab.keyboard.press("/")
    assert await tab.evaluate("document.activeElement.name") == "q"
    await tab.keyboard.type("jk/")
    assert await tab.input_value("input[name=q]") == "jk/"
    await tab.locator("[data-shortcuts] button").click()
    await tab.reload()
    await tab.keyboard.press("j")
    assert await tab.evaluate("document.activeElement.getAttribute('href')") is None
    await tab.locator("[data-shortcuts] button").click()
    await tab.locator("body").press("j")
    await tab.keyboard.press("Enter")
    await tab.wait_for_url(f"{site.app.url}{rows[0]}")


async def test_the_list_goes_on_at_the_record_that_was_saved(site: Site, tab: Page) -> None:
    await tab.goto(f"{site.app.url}/inbox")
    records = tab.locator("li.record")
    assert await records.count() >= 2
    appointment = site.mine.ids["appointment"]
    at = await records.evaluate_all("(rows, id) => rows.findIndex((row) => row.querySelector(`[data-id='${id}']`))", appointment)
    await records.nth(at).locator("summary").first.click()
    await records.nth(at).locator("textarea[name='note']").fill("call first")
    await records.nth(at).locator("form[data-action='appointment.set']:has([name='note']) button[type='submit']").click()
    await tab.wait_for_url(f"**#{appointment}")
    # The link opens the record.
    assert await records.nth(at).locator("details").first.evaluate("(record) => record.open")
    await tab.keyboard.press("k" if at else "j")
    there = await records.nth(at - 1 if at else 1).get_attribute("data-id")
    assert await tab.evaluate("document.activeElement.closest('.record').dataset.id") == there


async def test_a_new_message_appears_in_an_open_conversation(site: Site, tab: Page) -> None:
    await tab.goto(f"{site.app.url}/conversations/{site.mine.ids['conversation']}")
    shown = await tab.locator("#messages li.message").count()
    (found,) = [one for one in (await site.do("conversation.list", bot=site.mine.bot)).items if one.id == site.mine.ids["conversation"]]
    exchange = new_exchange(site.mine.bot, site.mine.account, found.user_id, at=site.clock.now, text="Are you still there?")
    await exchanges.record(site.app.services.db, exchange)
    await tab.locator("#messages").get_by_text("Are you still there?", exact=True).wait_for(timeout=15_000)
    assert await tab.locator("#messages li.message").count() == shown + 2


async def test_an_open_conversation_refreshes_after_faults_and_while_a_link_has_the_focus(site: Site, tab: Page) -> None:
    conversation = site.mine.ids["conversation"]
    (found,) = [one for one in (await site.do("conversation.list", bot=site.mine.bot)).items if one.id == conversation]
    address = f"{site.app.url}/conversations/{conversation}"
    await tab.goto(address)
    link = tab.locator("#messages li.message footer a").first
    await link.focus()
    focused = await link.get_attribute("href")
    faults = iter(("status", "network"))

    async def fail(route: Route) -> None:
        match next(faults, None):
            case "status":
                await route.fulfill(status=503, body="")
            case "network":
                await route.abort()
            case _:
                await route.continue_()

    await tab.route(address, fail)
    exchange = new_exchange(site.mine.bot, site.mine.account, found.user_id, at=site.clock.now, text="After the faults")
    await exchanges.record(site.app.services.db, exchange)
    await tab.locator("#messages").get_by_text("After the faults", exact=True).wait_for(timeout=40_000)
    assert next(faults, None) is None
    assert await tab.evaluate("document.activeElement.getAttribute('href')") == focused


# Counts the tones instead of playing them, and keeps the notices.
TONES = """
window.tones = 0;
const part = () => ({ connect: (next) => next, frequency: {}, gain: { setValueAtTime() {}, exponentialRampToValueAtTime() {} },
                      start() { window.tones += 1; }, stop() {} });
window.notices = [];
window.Notification = class extends EventTarget {
  static permission = "default";
  static async requestPermission() { Notification.permission = "granted"; }
  constructor(title) { super(); window.notices.push(title); }
};
Object.defineProperty(document, "hidden", { get: () => window.isAway ?? false });
window.AudioContext = class { currentTime = 0; destination = {}; resume() {} createOscillator = part; createGain = part; };
"""


async def test_a_new_waiting_visitor_is_in_the_title_and_heard(site: Site, tab: Page) -> None:
    services, bot = site.app.services, site.mine.bot
    ids = []
    for visitor in ("waits-1", "waits-2"):
        await exchanges.record(services.db, new_exchange(bot, site.mine.account, visitor, at=site.clock.now))
        (found,) = (await site.do("conversation.list", bot=bot, q=visitor)).items
        ids.append(found.id)

    async def wait_for_a_person(conversation: str) -> None:
        unit = "UPDATE conversations SET handling = 'waiting', handling_since = ? WHERE id = ?"
        await services.db.write(lambda connection: connection.execute(unit, (site.clock.now, conversation)).rowcount)

    await tab.add_init_script(TONES)
    await tab.goto(f"{site.app.url}/inbox")
    await tab.locator("h1").click()
    await wait_for_a_person(ids[0])
    await tab.locator(f"#waiting [data-id='{ids[0]}']").wait_for(timeout=15_000)
    assert ((await tab.title()).startswith("(1) Inbox"), await tab.evaluate("window.tones")) == (True, 1)
    await tab.locator("[data-sound] button").click()
    await tab.goto(f"{site.app.url}/")
    await tab.locator("h1").click()
    await tab.locator("[data-notices] button").click()
    assert await tab.locator("[data-notices]").is_hidden()
    await tab.evaluate("window.isAway = true")
    await wait_for_a_person(ids[1])
    await tab.locator(f"#waiting [data-id='{ids[1]}']").wait_for(timeout=15_000)
    assert ((await tab.title()).startswith("(2) Today"), await tab.evaluate("window.tones")) == (True, 0)
    assert await tab.evaluate("window.notices") == ["Visitor waits-2"]


async def test_the_visitor_sees_that_a_reply_is_being_typed(site: Site, tab: Page) -> None:
    services, bot = site.app.services, site.mine.bot
    await exchanges.record(services.db, new_exchange(bot, site.mine.account, "watched", channel="web", at=site.clock.now))
    (found,) = (await site.do("conversation.list", bot=bot, channel="web")).items
    await tab.goto(f"{site.app.url}/conversations/{found.id}")
    async with tab.expect_response("**/typing") as answer:
        await tab.locator("[data-action='conversation.reply'] textarea").press_sequentially("One")
    assert ((await answer.value).status, services.events.is_typing((bot, "web", "watched"), "operator")) == (204, True)


async def test_an_open_page_leads_to_the_sign_in_once_the_session_has_ended(site: Site, tab: Page) -> None:
    sent = []
    tab.on("request", lambda request: sent.append(request.headers.get("chatsvc-refresh")))
    async with tab.expect_response("**/waiting"):
        await tab.goto(f"{site.app.url}/inbox")
    assert site.mine.account in sent
    await execute(
        site.app, "DELETE FROM operator_sessions WHERE operator_id = (SELECT id FROM operators WHERE email = :1)", site.email("editor")
    )
    await tab.wait_for_url(f"{site.app.url}/login?next=%2Finbox", timeout=15_000)
