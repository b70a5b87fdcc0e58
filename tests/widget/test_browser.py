"""The widget in a real browser: other sites with strict policies, blocked storage, tabs, faults of the network, people."""

import asyncio
import re
from base64 import b64encode
from contextlib import suppress
from typing import Any
from uuid import uuid4

import pytest
from playwright.async_api import Browser, BrowserContext, Error, Page, Route

from chatsvc.domain import times
from chatsvc.domain.models import Entry
from chatsvc.engines import Evidence, Reply
from chatsvc.services.administration import perform
from chatsvc.services.messages import web_visits
from chatsvc.store import knowledge
from tests.conftest import Caller
from tests.fakes import ADMIN, FakeClock, ScriptedEngine, failing
from tests.store import support
from tests.widget.browsing import HostSite, choose, frame_of, log_of, opened, say, sees, until

LISTEN = "window.heard = []; chatsvc.on('message', (message) => { heard.push(message) })"


async def conversation(caller: Caller) -> str:
    (entry,) = (await perform(caller.app.services, ADMIN, "conversation.list", {"bot": caller.bot})).items
    return str(entry.id)


async def test_under_a_strict_policy_nothing_is_violated_asked_for_or_stored_before_the_first_message(
    page: Page, context: BrowserContext, site: HostSite, caller: Caller
) -> None:
    site.head = '<meta name="referrer" content="no-referrer">'
    lines: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: lines.append(message.text))
    page.on("pageerror", lambda fault: lines.append(str(fault)))
    page.on("request", lambda request: asked.append(request.url) if site.service in request.url else None)
    frame = await opened(page, site)
    await page.evaluate(LISTEN)
    assert len(asked) == 4, asked  # the loader and the looks, the frame's page and its script
    assert await context.cookies() == []
    await say(frame, "hello")
    await sees(frame, "echo: hello")
    await until(page, "heard.length > 1")
    heard = await page.evaluate("window.heard")
    assert [(message["role"], message["text"]) for message in heard] == [("user", "hello"), ("assistant", "echo: hello")]
    assert [set(message) for message in heard] == [{"role", "text", "created_at"}] * 2
    assert [text for text in lines if "404" not in text] == []
    assert await context.cookies() == []
    listed = (await perform(caller.app.services, ADMIN, "conversation.list", {"bot": caller.bot})).items
    assert [entry.source_page_host for entry in listed] == ["localhost"]


async def test_after_a_reload_the_page_hears_of_new_messages_alone(page: Page, site: HostSite, caller: Caller) -> None:
    # The browser blocks the storage of frames of other sites: this page is on the service's own host, at another port.
    site.url = site.url.replace("localhost", "127.0.0.1")
    await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "web", "sites": [site.url]})
    frame = await opened(page, site)
    await say(frame, "hello")
    await sees(frame, "echo: hello")
    await page.goto(site.url)
    await until(page, "!!window.chatsvc")
    await page.evaluate(LISTEN)
    await page.evaluate("chatsvc.open()")
    frame = await frame_of(page, site.bot)
    await sees(frame, "echo: hello")
    await say(frame, "again")
    await sees(frame, "echo: again")
    await until(page, "heard.length > 1")
    assert await page.evaluate("window.heard.map((one) => one.text)") == ["again", "echo: again"]


LAUNCHER = "document.documentElement.lastElementChild"


async def test_the_button_stays_where_the_page_changes_its_body_and_is_not_printed(page: Page, site: HostSite) -> None:
    frame = await opened(page, site)
    await say(frame, "hello")
    await sees(frame, "echo: hello")
    # What Turbo and hx-boost do at a link.
    await page.evaluate("document.body.replaceWith(document.createElement('body'))")
    await say(frame, "again")
    await sees(frame, "echo: again")
    shown = f"getComputedStyle({LAUNCHER}).display !== 'none'"
    assert await page.evaluate(shown)
    await page.emulate_media(media="print")
    assert not await page.evaluate(shown)


ISOLATED = {"Cross-Origin-Embedder-Policy": "require-corp", "Cross-Origin-Opener-Policy": "same-origin"}
HIDING = "display: none !important; visibility: hidden !important; opacity: 0 !important; position: static !important"


async def test_in_pages_that_isolate_sandbox_or_hide_what_is_in_them_a_message_is_sent(page: Page, site: HostSite) -> None:
    styled = site.policy.replace("style-src 'self'", "style-src 'unsafe-inline'")
    styles = [f"<style>{style}</style>" for style in ("iframe {display: none !important}", f"div:empty {{{HIDING}}} body * {{{HIDING}}}")]
    pages: list[tuple[str, str, str, dict[str, str]]] = [
        ("/", "", site.policy, ISOLATED),
        ("/sandbox", "", site.policy, {}),
        *[("/", style, styled, {}) for style in styles],
    ]
    for path, site.head, site.policy, site.headers in pages:
        frame = await opened(page, site, path)
        assert await page.evaluate("window.crossOriginIsolated") is bool(site.headers)
        await say(frame, "hello")
        await sees(frame, "echo: hello")
        box = await (await frame.frame_element()).bounding_box()
        assert box is not None
        assert box["width"] > 300


async def test_another_site_shows_nothing(page: Page, site: HostSite, caller: Caller) -> None:
    await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "web", "sites": ["https://other.example"]})
    async with page.expect_response(lambda response: "/look.js" in response.url):
        await page.goto(site.url)
    await page.evaluate("chatsvc.open()")
    await page.wait_for_timeout(300)
    assert len(page.frames) == 1
    assert await page.evaluate(f"{LAUNCHER}.tagName") != "DIV"


async def test_a_browser_without_sheets_that_scripts_make_gets_a_style_element(page: Page, site: HostSite) -> None:
    site.policy = site.policy.replace("style-src 'self'", "style-src 'unsafe-inline'")
    await page.add_init_script("delete window.CSSStyleSheet")
    box = await (await (await opened(page, site)).frame_element()).bounding_box()
    assert box is not None
    assert box["width"] == 392


LIGHT, DARK = "rgb(255, 255, 255)", "rgb(22, 25, 29)"


async def test_it_is_light_or_dark_as_the_owner_or_the_page_says(page: Page, site: HostSite, caller: Caller) -> None:
    site.policy = site.policy.replace("style-src 'self'", "style-src 'unsafe-inline'")
    either = '<meta name="color-scheme" content="light dark">'
    cases: list[tuple[str, str, Any, str]] = [
        ("", "", "dark", LIGHT),
        ("<style>body {background: #111}</style>", "", "light", DARK),
        ("<style>html {background: rgb(20 20 40)}</style>", "", "light", DARK),
        (either, "", "dark", DARK),
        (either, "", "light", LIGHT),
        ("<style>body {background: #111}</style>", "light", "dark", LIGHT),
        ("", "dark", "light", DARK),
    ]
    for site.head, theme, scheme, expected in cases:
        await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "web", "theme": theme})
        await page.emulate_media(color_scheme=scheme)
        frame = await opened(page, site)
        shown = await frame.evaluate("getComputedStyle(document.body).backgroundColor")
        assert shown == expected, (site.head, theme, scheme)


async def test_the_line_in_the_page_chooses_language_side_colour_and_state(page: Page, site: HostSite) -> None:
    site.attributes = 'data-language="tr" data-position="left" data-color="#ffee00" data-open'
    await page.goto(site.url)
    frame = await frame_of(page, site.bot)
    assert await frame.locator("[data-action=send]").inner_text() == "Gönder"
    # Black on yellow.
    assert await frame.evaluate("getComputedStyle(document.querySelector('header')).color") == "rgb(0, 0, 0)"
    box = await (await frame.frame_element()).bounding_box()
    assert box
    assert box["x"] < 100
    # An unknown language falls back to that of the page.
    for attribute, site.language, expected in (("de", "tr", "tr"), ("de", "fr", "en"), ("tr-TR", "en", "tr"), ("en", "tr", "en")):
        site.attributes = f'data-language="{attribute}"'
        assert await (await opened(page, site)).evaluate("document.documentElement.lang") == expected
    # A tag manager that leaves out the attributes names the bot in the address.
    site.script = f"{site.service}/widget.js?bot={site.bot}&language=tr&open"
    await page.goto(site.url)
    assert await (await frame_of(page, site.bot)).evaluate("document.documentElement.lang") == "tr"
    lines: list[str] = []
    page.on("console", lambda message: lines.append(message.text))
    site.script = f"{site.service}/widget.js"
    await page.goto(site.url)
    assert [text for text in lines if text.startswith("chatsvc: no bot is named")] != []
    assert not await page.evaluate("'chatsvc' in window")


async def test_times_are_in_the_visitors_form(browser: Browser, site: HostSite) -> None:
    for locale, expected in (("en-US", r"\d\d?:\d\d\s[AP]M"), ("de-DE", r"\d\d:\d\d")):
        context = await browser.new_context(locale=locale)
        frame = await opened(await context.new_page(), site)
        assert re.fullmatch(expected, await frame.locator(".turn time").first.inner_text())
        await context.close()


async def test_a_button_calls_a_person_or_asks_to_be_called_back(page: Page, site: HostSite, caller: Caller) -> None:
    frame = await opened(page, site)
    wishes = frame.locator("#wishes button")
    assert await wishes.all_inner_texts() == ["Call me back"]
    await perform(caller.app.services, ADMIN, "bot.set", {"bot": caller.bot, "hand_off": True, "model": "offline"})
    frame = await opened(page, site)
    wishes = frame.locator("#wishes button")
    assert await wishes.all_inner_texts() == ["Talk to a person", "Call me back"]
    await wishes.nth(1).click()
    await sees(frame, "your name")
    await wishes.nth(0).click()
    await until(frame, "document.getElementById('state').textContent === 'Somebody from the team will write to you here.'")
    assert not await wishes.first.is_visible()


async def test_a_click_on_the_button_in_the_corner_opens_it(page: Page, site: HostSite) -> None:
    await page.goto(site.url)
    await until(page, f"{LAUNCHER}.shadowRoot === null && {LAUNCHER}.tagName === 'DIV'")
    await page.mouse.click(1000 - 48, 800 - 48)  # no selector leads into a closed shadow root
    await (await (await frame_of(page, site.bot)).frame_element()).wait_for_element_state("visible")


async def test_escape_closes_it_and_gives_the_focus_back(page: Page, site: HostSite) -> None:
    frame = await opened(page, site)
    await until(frame, "document.activeElement.tagName === 'TEXTAREA'")
    await page.keyboard.press("Escape")
    await until(page, "document.activeElement.shadowRoot === null && document.activeElement.tagName === 'DIV'")
    assert not await (await frame.frame_element()).is_visible()
    await page.keyboard.press("Enter")
    await until(frame, "document.activeElement.tagName === 'TEXTAREA'")
    await frame.locator("[data-action=close]").click()
    assert not await (await frame.frame_element()).is_visible()


async def test_on_a_phone_it_fills_the_screen_and_no_input_zooms(browser: Browser, site: HostSite) -> None:
    phone = await browser.new_context(viewport={"width": 390, "height": 700}, has_touch=True, is_mobile=True, color_scheme="dark")
    page = await phone.new_page()
    frame = await opened(page, site)
    assert await (await frame.frame_element()).bounding_box() == {"x": 0, "y": 0, "width": 390, "height": 700}
    assert float((await frame.evaluate("getComputedStyle(document.querySelector('textarea')).fontSize"))[:-2]) >= 16
    await say(frame, "x" * 300 + " 👩‍👩‍👧 تحية")
    await sees(frame, "echo: xxx")
    assert await frame.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await phone.close()


async def test_at_twice_the_size_nothing_is_cut_off_and_nothing_moves_for_those_who_want_it_still(
    browser: Browser, site: HostSite, engine: ScriptedEngine
) -> None:
    # A zoom of 200 % halves the viewport of a small window.
    context = await browser.new_context(viewport={"width": 480, "height": 360}, device_scale_factor=2, reduced_motion="reduce")
    page = await context.new_page()
    await page.goto(f"{site.service}/chat/{site.bot}")
    await page.wait_for_selector("[data-action=send]")
    engine.gate = asyncio.Event()
    await say(page, "Ein sehr langes Wort: " + "Donaudampfschifffahrtsgesellschaft" * 5)
    await page.locator("#state .dots i").first.wait_for()
    assert await page.evaluate("getComputedStyle(document.querySelector('.dots i')).animationName") == "none"
    engine.gate.set()
    await sees(page, "echo: Ein")
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for action in ("send", "anew", "download"):
        box = await page.locator(f"[data-action={action}]").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 480
        assert box["y"] + box["height"] <= 360
    assert await page.evaluate("document.getElementById('log').clientHeight") >= 48
    await context.close()


async def test_where_the_storage_throws_the_conversation_goes_on_in_memory(page: Page, site: HostSite, caller: Caller) -> None:
    await page.add_init_script("Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') }")
    await page.goto(f"{site.service}/chat/{site.bot}")
    for text in ("hello", "again"):
        await say(page, text)
        await sees(page, f"echo: {text}")
    listed = (await perform(caller.app.services, ADMIN, "conversation.list", {"bot": caller.bot})).items
    assert [entry.message_count for entry in listed] == [4]


async def test_the_header_says_when_the_team_is_back_and_each_message_its_time(
    page: Page, site: HostSite, caller: Caller, clock: FakeClock
) -> None:
    assert "Answers right away" in await (await opened(page, site)).locator("header").inner_text()
    today = times.local(clock(), "Europe/Istanbul")
    day = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")[(today.weekday() + 2) % 7]
    await perform(caller.app.services, ADMIN, "bot.set", {"bot": caller.bot, "opening_hours": f"{day} 09:00-10:00"})
    logo = b64encode(b"\x89PNG\r\n\x1a\n").decode()
    await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "web", "logo": logo})
    frame = await opened(page, site)
    assert re.fullmatch(r"We open (?:on )?\w+ at 09:00\.", await frame.locator("header [role=status]").inner_text())
    assert await frame.locator("header img").get_attribute("src") == f"data:image/png;base64,{logo}"
    await say(frame, "hello")
    await sees(frame, "echo: hello")
    assert await frame.locator(".turn").count() == await frame.locator(".turn time[datetime]").count() == 3


async def test_a_reload_and_other_tabs_show_the_same_conversation(
    chat: Page, context: BrowserContext, site: HostSite, caller: Caller
) -> None:
    other = await context.new_page()
    await other.goto(f"{site.service}/chat/{site.bot}")
    await other.wait_for_selector("[data-action=send]")
    assert await chat.evaluate("localStorage.length") == 0
    await say(chat, "from the first tab")
    await sees(chat, "echo: from the first tab")
    await sees(other, "echo: from the first tab")
    await say(other, "from the second tab")
    await sees(chat, "echo: from the second tab")
    stored = await chat.evaluate("JSON.stringify({...localStorage})")
    assert "tab" not in stored
    await chat.reload()
    await sees(chat, "echo: from the second tab")
    expected = ["from the first tab", "echo: from the first tab", "from the second tab", "echo: from the second tab"]
    assert (await log_of(chat))[1:] == expected
    assert (await log_of(other))[1:] == expected
    (listed,) = (await perform(caller.app.services, ADMIN, "conversation.list", {"bot": caller.bot})).items
    assert (listed.message_count, listed.source_page_host) == (4, "")


async def test_a_reload_while_the_first_reply_is_awaited_loses_nothing(chat: Page, engine: ScriptedEngine) -> None:
    engine.gate = asyncio.Event()
    await say(chat, "hello")
    while not engine.turns:  # noqa: ASYNC110  # the engine has no event for it
        await asyncio.sleep(0.01)
    await chat.reload()
    await sees(chat, "hello")
    engine.gate.set()
    await sees(chat, "echo: hello")
    assert (await log_of(chat))[1:] == ["hello", "echo: hello"]


@pytest.mark.parametrize("lost", ["every call", "the answer"])
async def test_an_answer_that_is_lost_on_the_way_is_fetched_and_holds_up_no_later_message(
    chat: Page, engine: ScriptedEngine, lost: str
) -> None:
    async def lose(route: Route) -> None:
        with suppress(Error):  # the last ones end with the rule
            if route.request.method != "POST" and lost == "the answer":
                await route.continue_()
                return
            if route.request.method == "POST":
                await route.fetch()
            await route.abort()

    before = ["before", "echo: before"] if lost == "the answer" else []
    if before:
        await say(chat, "before")
        await sees(chat, "echo: before")
    await chat.route("**/messages*", lose)
    await say(chat, "hello")
    await (chat.locator("[data-action=retry]").wait_for() if lost == "every call" else sees(chat, "echo: hello"))
    await chat.unroute("**/messages*")
    await sees(chat, "echo: hello", 30)
    await say(chat, "later")
    await sees(chat, "echo: later")
    assert (await log_of(chat))[1:] == [*before, "hello", "echo: hello", "later", "echo: later"]
    await until(chat, "document.getElementById('fault').textContent === ''")
    assert await chat.locator("[data-action=retry]").count() == 0
    assert len(engine.turns) == 2 + len(before) // 2


async def test_without_a_network_messages_wait_in_sight_and_go_in_their_order_when_it_is_back(
    chat: Page, context: BrowserContext, engine: ScriptedEngine
) -> None:
    engine.script = lambda turn: Reply(f"heard: {turn.message[:6]}")
    await say(chat, "line\n" * 60)
    await sees(chat, "heard: line")
    await context.set_offline(True)
    for number in range(3):
        await say(chat, f"{number} meanwhile")
    await chat.locator("[data-action=retry]").first.wait_for()
    assert await chat.locator("#state").inner_text() == "No connection. Trying again …"
    # The line that appears below hides no button.
    below = "document.querySelector('[data-action=retry]').getBoundingClientRect().bottom"
    await until(chat, f"{below} <= document.getElementById('log').getBoundingClientRect().bottom")
    await context.set_offline(False)
    await sees(chat, "heard: 2 mean")
    await chat.wait_for_timeout(300)
    assert [turn.message for turn in engine.turns[1:]] == ["0 meanwhile", "1 meanwhile", "2 meanwhile"]
    texts = (await log_of(chat))[1:]
    assert ([text for text in texts if "meanwhile" in text], len(texts)) == (["0 meanwhile", "1 meanwhile", "2 meanwhile"], 8)
    assert await chat.locator("[data-action=retry]").count() == 0


async def test_faults_and_limits_are_told_in_words(chat: Page, caller: Caller, engine: ScriptedEngine) -> None:
    engine.script = failing("timeout")
    await say(chat, "Hello, is anybody there?")
    await sees(chat, "I can't answer just now")
    await say(chat, "x" * 4001)
    assert "at most 4000 characters" in await chat.locator("[role=alert]").inner_text()
    assert await chat.get_by_role("textbox").input_value() == "x" * 4001
    await perform(caller.app.services, ADMIN, "channel.pause", {"bot": caller.bot, "channel": "web"})
    await say(chat, "Hello, are you there now?")
    await sees(chat, "not available here")
    await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "web", "sites": [""]})
    await say(chat, "and now?")
    await until(chat, "document.getElementById('fault').textContent.includes('cannot be used')")


async def test_words_from_right_to_left_are_set_so_and_a_list_in_a_reply_makes_no_buttons(chat: Page, engine: ScriptedEngine) -> None:
    engine.script = lambda _: Reply("تحية طيبة\n\n- Tours\n- Rooms (yes / no)")
    await say(chat, "أين موقف السيارات؟")
    await sees(chat, "تحية طيبة")
    script = "[...document.querySelectorAll('[role=log] .said')].slice(1).map((one) => getComputedStyle(one).direction)"
    assert await chat.evaluate(script) == ["rtl", "rtl"]
    await chat.get_by_role("textbox").fill("أين")
    assert await chat.evaluate("getComputedStyle(document.querySelector('textarea')).direction") == "rtl"
    assert await chat.locator("[data-action=choose]").count() == 0


async def test_replies_are_rated_a_choice_is_a_button_and_links_are_links(chat: Page, caller: Caller, engine: ScriptedEngine) -> None:
    asked = "Did you mean one of these?\n\n- Prices of tours\n- Prices of rooms"
    offered = ("Prices of tours", "Prices of rooms")
    entry = Entry(str(uuid4()), "Rooms?", (), "80 euros.", "en", "https://a.example/rooms")
    await knowledge.create(caller.app.services.db, caller.bot, entry, support.origin())
    evidence = Evidence(((entry.id, 0.9),), "answer", 0.9)
    template = "<i>{}</i> **Only** [`5`](https://b.example) https://example.com/a?b=1."
    engine.script = lambda turn: (
        Reply(asked, choices=offered) if turn.message == "prices" else Reply(template.format(turn.message), evidence=evidence)
    )
    await say(chat, "prices")
    await chat.get_by_role("group", name="Choices").wait_for()
    await chat.reload()
    await chat.get_by_role("group", name="Choices").wait_for()
    # The choices are buttons, and are not said in words too.
    assert (await log_of(chat))[-1] == "Did you mean one of these?"
    await chat.get_by_role("button", name="Prices of rooms").click()
    await sees(chat, "<i>Prices of rooms</i>")
    assert await chat.get_by_role("group", name="Choices").count() == 0
    assert await chat.get_by_role("link", name="Source").get_attribute("href") == entry.source
    html = await chat.locator(".said").last.inner_html()
    link = '<a href="{}" target="_blank" rel="noopener noreferrer nofollow">{}</a>'
    assert html == "&lt;i&gt;Prices of rooms&lt;/i&gt; <b>Only</b> {} {}.".format(
        link.format("https://b.example", "<code>5</code>"), link.format("https://example.com/a?b=1", "https://example.com/a?b=1")
    )
    await chat.locator("[data-action=up]").last.click()
    await chat.locator("[data-action=up][aria-pressed=true]").wait_for()
    shown = await perform(caller.app.services, ADMIN, "conversation.show", {"conversation": await conversation(caller)})
    assert [message.feedback for message in shown.messages] == [None, None, None, "up"]
    await chat.locator("[data-action=down]").last.click()
    await chat.locator("[data-action=down][aria-pressed=true]").wait_for()
    ((missed, _),) = await perform(caller.app.services, ADMIN, "knowledge.unanswered", {"bot": caller.bot})
    assert missed.question == "Prices of rooms"


async def test_a_conversation_is_downloaded_and_begun_anew(chat: Page, caller: Caller) -> None:
    await say(chat, "hello")
    await sees(chat, "echo: hello")
    async with chat.expect_download() as download:
        await choose(chat, "download")
    text = (await (await download.value).path()).read_text("utf-8")
    assert re.search(r"You:\nhello\n\n\S+ Assistant:\necho: hello", text)
    await choose(chat, "anew")
    assert len(await log_of(chat)) == 1
    assert await chat.evaluate("localStorage.length") == 0
    await say(chat, "anew")
    await sees(chat, "echo: anew")
    listed = (await perform(caller.app.services, ADMIN, "conversation.list", {"bot": caller.bot})).items
    assert [entry.message_count for entry in listed] == [2, 2]


async def test_a_download_has_the_whole_of_a_long_conversation(chat: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_visits, "MOST_MESSAGES", 2)
    for number in range(3):
        await say(chat, f"message {number}")
        await sees(chat, f"echo: message {number}")
    await chat.reload()
    await sees(chat, "echo: message 2")
    assert len(await log_of(chat)) == 3
    async with chat.expect_download() as download:
        await choose(chat, "download")
    text = (await (await download.value).path()).read_text("utf-8")
    assert re.findall("message [0-9]", text) == [f"message {number}" for number in (0, 0, 1, 1, 2, 2)]


async def test_an_operator_and_the_visitor_see_each_other_write(page: Page, site: HostSite, caller: Caller) -> None:
    frame = await opened(page, site)
    await say(frame, "hello")
    await sees(frame, "echo: hello")
    named = {"conversation": await conversation(caller)}
    services = caller.app.services
    await perform(services, ADMIN, "conversation.reply", {**named, "text": "Ada here"})
    await sees(frame, "Ada here")
    await until(frame, "document.getElementById('state').textContent === 'You are talking to root.'")
    await perform(services, ADMIN, "conversation.type", named)
    await until(frame, "document.getElementById('state').textContent === 'root is writing …'")
    await frame.get_by_role("textbox").press_sequentially("to Ada")
    (entry,) = (await perform(services, ADMIN, "conversation.list", {"bot": caller.bot})).items
    async with asyncio.timeout(20):
        while not services.events.typing.has((caller.bot, "web", entry.user_id), "visitor"):  # noqa: ASYNC110  # no event for it
            await asyncio.sleep(0.05)
    await frame.get_by_role("textbox").press("Enter")
    async with asyncio.timeout(20):
        while (await perform(services, ADMIN, "conversation.show", named)).messages[-1].content != "to Ada":  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    # The message has come: the visitor is not typing any more.
    await asyncio.sleep(1)
    assert not services.events.typing.has((caller.bot, "web", entry.user_id), "visitor")
    await perform(services, ADMIN, "conversation.release", named)
    await sees(frame, "automated assistant")
    await until(frame, "document.getElementById('state').textContent === 'Answers right away'")


async def violations(page: Any, axe: str) -> list[tuple[str, list[str]]]:
    """The rules of axe that a frame breaks, with the elements."""
    await page.evaluate(f"{axe};0")
    report = await page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})")
    return [(violation["id"], [node["html"] for node in violation["nodes"]]) for violation in report["violations"]]


@pytest.mark.parametrize(("scheme", "color"), [("light", "#777777"), ("dark", "#ffee00")])
async def test_axe_finds_nothing_in_any_state(
    browser: Browser, site: HostSite, caller: Caller, engine: ScriptedEngine, axe: str, scheme: Any, color: str
) -> None:
    looks = {"color": color, "theme": scheme, "launcher": "Questions?"}
    await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "web", **looks})
    context = await browser.new_context(color_scheme=scheme, locale="en-GB", viewport={"width": 1000, "height": 800})
    page = await context.new_page()
    frame = await opened(page, site)
    assert await violations(frame, axe) == []
    evidence = Evidence((("an entry", 0.9),), "answer", 0.9)
    engine.script = lambda _: Reply("Did you mean **one** of these?\n\n- Prices of tours\n- `Rooms`", evidence=evidence)
    await say(frame, "prices")
    await sees(frame, "Did you mean")
    await frame.locator("[data-action=down]").click()
    await context.set_offline(True)
    await say(frame, "lost")
    await frame.locator("[data-action=retry]").wait_for()
    assert await violations(frame, axe) == []
    assert await violations(page, axe) == []
    await context.close()
