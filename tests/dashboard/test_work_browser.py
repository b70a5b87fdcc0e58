"""Inbox and conversations in a real browser: by keyboard, and with messages that appear by themselves."""

import pytest_asyncio
from playwright.async_api import Page, Route

from tests.dashboard.conftest import Tabs, wait_for
from tests.dashboard.site import Site
from tests.store.inspection import execute


@pytest_asyncio.fixture(loop_scope="package")
async def tab(tabs: Tabs) -> Page:
    """A tab of the editor's, whose clock the test can advance."""
    page = await tabs("editor")
    await page.clock.install()
    return page


async def test_a_list_is_worked_by_keys_that_can_be_switched_off(site: Site, tab: Page) -> None:
    await tab.goto(f"{site.app.url}/conversations")
    rows = await tab.locator(".talk[data-id] a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert len(rows) >= 2
    focused = "document.activeElement.getAttribute('href')"
    for key in "jjkj":
        await tab.keyboard.press(key)
    assert await tab.evaluate(focused) == rows[1]
    await tab.keyboard.press("/")
    await tab.keyboard.type("jk/")
    assert await tab.input_value("input[name=q]") == "jk/"
    await tab.locator("[data-shortcuts] button").click()
    await tab.reload()
    await tab.keyboard.press("j")
    assert await tab.evaluate(focused) is None
    await tab.locator("[data-shortcuts] button").click()
    await tab.locator("body").press("j")
    await tab.keyboard.press("Enter")
    await tab.wait_for_url(f"{site.app.url}{rows[0]}")


async def test_the_list_goes_on_at_the_record_that_was_saved(site: Site, tab: Page) -> None:
    await tab.goto(f"{site.app.url}/inbox")
    records, appointment = tab.locator("li.record"), site.mine.ids["appointment"]
    index = await records.evaluate_all("(rows, id) => rows.findIndex((row) => row.querySelector(`[data-id='${id}']`))", appointment)
    record = records.nth(index)
    await record.locator("summary").first.click()
    await record.locator("textarea[name='note']").fill("call first")
    await record.locator("form[data-action='appointment.set']:has([name='note']) button[type='submit']").click()
    await tab.wait_for_url(f"**#{appointment}")
    # The link opens the record.
    assert await record.locator("details").first.evaluate("(record) => record.open")
    await tab.keyboard.press("k" if index else "j")
    following = await records.nth(index - 1 if index else 1).get_attribute("data-id")
    assert await tab.evaluate("document.activeElement.closest('.record').dataset.id") == following


async def test_an_open_conversation_refreshes_after_faults_and_while_a_link_has_the_focus(site: Site, tab: Page) -> None:
    conversation = site.mine.ids["conversation"]
    (user_id,) = (await execute(site.app, "SELECT user_id FROM conversations WHERE id = :1", conversation))[0]
    address, faults = f"{site.app.url}/conversations/{conversation}", iter(("status", "network"))
    await tab.goto(address)
    count = await tab.locator("#messages li.message").count()
    link = tab.locator("#messages li.message footer a").first
    await link.focus()
    focused = await link.get_attribute("href")

    async def fail(route: Route) -> None:
        match next(faults, None):
            case "status":
                await route.fulfill(status=503, body="")
            case "network":
                await route.abort()
            case _:
                await route.continue_()

    await tab.route(address, fail)
    await site.write(user_id, "After the faults")
    await wait_for(tab, "#messages", "After the faults")
    assert (next(faults, None), await tab.locator("#messages li.message").count()) == (None, count + 2)
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
    ids = [await site.write(visitor) for visitor in ("waits-1", "waits-2")]

    async def see_waiting(conversation: str) -> tuple[str, int]:
        waits = "UPDATE conversations SET handling = 'waiting', handling_since = :1 WHERE id = :2"
        await execute(site.app, waits, site.clock.now, conversation)
        await wait_for(tab, f"#waiting [data-id='{conversation}']")
        return await tab.title(), await tab.evaluate("window.tones")

    await tab.add_init_script(TONES)
    await tab.goto(f"{site.app.url}/inbox")
    await tab.locator("h1").click()
    title, tones = await see_waiting(ids[0])
    assert (title.startswith("(1) Inbox"), tones) == (True, 1)
    await tab.locator("[data-sound] button").click()
    await tab.goto(f"{site.app.url}/")
    await tab.locator("h1").click()
    await tab.locator("[data-notices] button").click()
    assert await tab.locator("[data-notices]").is_hidden()
    await tab.evaluate("window.isAway = true")
    title, tones = await see_waiting(ids[1])
    assert (title.startswith("(2) Today"), tones) == (True, 0)
    assert await tab.evaluate("window.notices") == ["Visitor waits-2"]


async def test_the_visitor_sees_that_a_reply_is_being_typed(site: Site, tab: Page) -> None:
    await tab.goto(f"{site.app.url}/conversations/{await site.write('watched', channel='web')}")
    async with tab.expect_response("**/typing") as answer:
        await tab.locator("[data-action='conversation.reply'] textarea").press_sequentially("One")
    key = (site.mine.bot, "web", "watched")
    assert ((await answer.value).status, site.app.services.events.typing.has(key, "operator")) == (204, True)


async def test_an_open_page_leads_to_the_sign_in_once_the_session_has_ended(site: Site, tab: Page) -> None:
    sent = []
    tab.on("request", lambda request: sent.append(request.headers.get("chatsvc-refresh")))
    await tab.goto(f"{site.app.url}/inbox")
    sessions = "DELETE FROM operator_sessions WHERE operator_id = (SELECT id FROM operators WHERE email = :1)"
    await execute(site.app, sessions, site.email("editor"))
    await wait_for(tab, "input[name=password]")
    assert (tab.url, site.mine.account in sent) == (f"{site.app.url}/login?next=%2Finbox", True)
