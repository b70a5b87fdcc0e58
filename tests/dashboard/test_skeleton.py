"""Rules for all pages: languages, headers, errors, forgery, static files, accounts, navigation."""

from __future__ import annotations

import json

import pytest
from playwright.async_api import Browser

from chatsvc.dashboard import browsers
from chatsvc.dashboard.browsers import accepted
from chatsvc.dashboard.responses import HEADERS, local, with_query
from tests.dashboard.client import Client
from tests.dashboard.site import PASSWORD, Site

UNKNOWN = "00000000-0000-4000-8000-000000000000"


async def test_a_stranger_is_led_to_the_login_and_back(site: Site, anyone: Client) -> None:
    led = await anyone.get("/", follow=False)
    assert (led.status, led.headers["Location"]) == (303, "/login")
    led = await anyone.get("/shown?x=1", follow=False)
    assert led.headers["Location"] == "/login?next=%2Fshown%3Fx%3D1"
    page = await anyone.submit(led.headers["Location"], "session.create", email=site.email("owner"), password=PASSWORD, follow=False)
    assert (page.status, page.headers["Location"]) == (303, "/shown?x=1")
    assert "Harbour Cycles" in (await anyone.get("/")).text
    out = await anyone.submit("/", "session.remove", follow=False)
    assert (out.status, out.headers["Location"]) == (303, "/login")
    assert (await anyone.get("/", follow=False)).status == 303


async def test_a_failed_sign_in_keeps_the_address_and_not_the_password(anyone: Client) -> None:
    page = await anyone.submit("/login", "session.create", email="nobody@example.com", password="a wrong password")
    assert (page.status, page.alert) == (422, "The e-mail address or the password is not right.")
    assert "nobody@example.com" in page.body
    assert "a wrong password" not in page.body


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("en", "en"),
        ("tr-TR,tr;q=0.9,en;q=0.8", "tr"),
        ("de,en-GB;q=0.5,tr;q=0.4", "en"),
        ("de", "en"),
        ("", "tr"),
        ("*", "tr"),
        ("en;q=0", "tr"),
        ("en;q=x,tr;q=0.1", "tr"),
        ("en;level=1", "en"),
    ],
)
def test_the_browser_chooses_between_two_languages(header: str, language: str) -> None:
    assert accepted(header) == language


async def test_an_operators_language_wins_over_the_browsers(site: Site, anyone: Client) -> None:
    assert (await anyone.get("/login")).language == "en"
    turkish = await site.client(language="tr")
    page = await turkish.get("/login")
    assert (page.language, "E-posta adresi" in page.text) == ("tr", True)
    await site.do("operator.set", email=site.email("editor"), language="tr")
    editor = await site.client("editor", language="en")
    assert (await editor.get("/")).language == "tr"


async def test_every_page_has_the_headers_and_static_files_are_kept(anyone: Client, owner: Client) -> None:
    for page in (await anyone.get("/login"), await owner.get("/"), await owner.get("/nowhere"), await anyone.get("/", follow=False)):
        assert {name: page.headers.get(name) for name, _ in HEADERS} == dict(HEADERS)
    page = await owner.get("/")
    style = next(one.get("href", "") for one in page.tree.iter("link") if one.get("rel") == "stylesheet")
    kept = await owner.get(style)
    assert (kept.status, kept.headers["Cache-Control"]) == (200, "public, max-age=31536000, immutable")
    assert kept.headers["Content-Type"].startswith("text/css")
    address = next(one.get("href", "") for one in page.tree.iter("link") if one.get("rel") == "manifest")
    manifest = json.loads((await anyone.get(address)).body)
    assert (manifest["start_url"], [one["sizes"] for one in manifest["icons"]]) == ("/", ["any", "192x192", "512x512"])


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 422),
        ({"Sec-Fetch-Site": "none"}, 422),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "SELF"}, 403),
        ({"Sec-Fetch-Site": "", "Origin": "SELF"}, 422),
        ({"Sec-Fetch-Site": "", "Origin": "http://127.0.0.1:8080"}, 422),
        ({"Sec-Fetch-Site": "", "Origin": "http://evil.example"}, 403),
        ({"Sec-Fetch-Site": "", "Origin": "null"}, 403),
        ({"Sec-Fetch-Site": ""}, 403),
    ],
)
async def test_a_form_of_another_site_is_refused(site: Site, anyone: Client, headers: dict[str, str], status: int) -> None:
    sent = {name: site.app.url if value == "SELF" else value for name, value in headers.items()}
    answer = await anyone.post("/login", {"email": "x@example.com", "password": "x"}, headers=sent)
    assert answer.status == status


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("/inbox?status=new#x", "/inbox?status=new#x"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/a\\b", "/"),
        ("https://evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/\t/evil.example", "/"),
        ("/a\r\nSet-Cookie: x", "/"),
        ("/ü", "/"),
        ("", "/"),
        (None, "/"),
        ("/" + "x" * 3000, "/"),
    ],
)
def test_redirects_stay_on_this_service(path: str | None, there: str) -> None:
    assert local(path) == there


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36", "Chrome 142, Linux"),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0",
            "Edge 142, Windows",
        ),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0", "Firefox 145, Windows"),
        (
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Mobile/15E148"
                " Safari/604.1"
            ),
            "Safari 26, iPhone",
        ),
        (
            (
                "Mozilla/5.0 (Linux; Android 14; SM-S911B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0"
                " Mobile Safari/537.36"
            ),
            "Samsung Internet 28, Android",
        ),
        ("curl/8.5.0", "curl 8"),
        ("Somebody's own program", "Somebody's own program"),
    ],
)
def test_browsers_are_named(header: str, name: str) -> None:
    assert browsers.name(header) == name


def test_parameters_are_added_before_the_fragment() -> None:
    assert with_query("/a?b=1#c", {"d": "é", "e": None, "f": ""}) == "/a?b=1&d=%C3%A9#c"
    assert with_query("/a#c", {}) == "/a#c"


async def test_faults_are_pages(site: Site, anyone: Client, owner: Client) -> None:
    missing = await owner.get("/nowhere")
    assert (missing.status, "This page does not exist" in missing.text) == (404, True)
    assert "Inbox" in missing.text or "Today" in missing.text
    wrong = await owner.post("/")
    assert (wrong.status, wrong.headers["Allow"]) == (405, "GET, HEAD")
    # An account that the person has no role in changes nothing about a page that is not there.
    assert (await owner.get("/nowhere?account=not-mine")).status == 404
    assert (await owner.post("/usage?account=not-mine")).status == 405
    large = await anyone.post("/login", {"email": "x" * 33_000})
    assert large.status == 413
    odd = await anyone.request("POST", "/login", data=b"{}", headers={"Content-Type": "application/json"})
    assert (odd.status, odd.headers["Content-Type"]) == (422, "text/html; charset=utf-8")
    turkish = await site.client(language="tr")
    assert "Böyle bir sayfa yok" in (await turkish.get("/nowhere")).text


async def test_an_unexpected_fault_and_a_store_that_is_away_are_pages_too(
    site: Site, owner: Client, anyone: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from chatsvc.services.team import operators
    from chatsvc.store.database import StoreUnavailable

    async def away(_: object) -> bool:
        raise StoreUnavailable("gone")

    async def broken(_: object) -> bool:
        raise ValueError("unexpected")

    monkeypatch.setattr(operators, "any_exists", away)
    answer = await anyone.get("/login")
    assert (answer.status, "Not available" in answer.text) == (503, True)
    monkeypatch.setattr(operators, "any_exists", broken)
    answer = await anyone.get("/login")
    assert (answer.status, "Something went wrong" in answer.text, "unexpected" in answer.text) == (500, True, False)


async def test_an_account_is_chosen_and_kept_in_the_session(site: Site, administrator: Client) -> None:
    assert (await administrator.get("/")).status == 200
    page = await administrator.get(f"/?account={site.other.account}")
    for shown in (page, await administrator.get("/")):
        (chosen,) = [one for one in shown.tree.iter("option") if one.get("selected") is not None]
        assert chosen.text == "Strangers Ltd"
    await administrator.get(f"/?account={site.mine.account}")


@pytest.mark.parametrize("account", ["other", UNKNOWN, "x'"])
async def test_a_strangers_account_is_a_missing_one(site: Site, owner: Client, account: str) -> None:
    answer = await owner.get("/", params={"account": site.other.account if account == "other" else account})
    assert (answer.status, "Strangers" in answer.text) == (404, False)


async def test_nothing_is_shown_once_without_a_form_before(owner: Client) -> None:
    assert (await owner.get("/shown")).status == 410


async def test_a_browser_signs_in_with_the_keyboard_alone(site: Site, browser: Browser) -> None:
    context = await browser.new_context(locale="en-GB")
    page = await context.new_page()
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text))
    page.on("request", lambda request: None if request.url.startswith(site.app.url) else faults.append(request.url))
    await page.goto(f"{site.app.url}/login")
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.className") == "skip"
    await page.keyboard.press("Tab")
    await page.keyboard.type(site.email("reader"))
    await page.keyboard.press("Tab")
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"{site.app.url}/")
    assert await page.locator("h1").inner_text() == "Today"
    (cookie,) = await context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["secure"]) == (True, "Lax", False)
    assert faults == []
    await context.close()


async def test_pages_of_an_account_lead_an_administrator_without_one_to_the_first_page(site: Site) -> None:
    for one in (await site.do("account.list")).items:
        await site.do("account.delete", account=one.account.id)
    client = await site.client()
    fields = {"email": site.email("administrator"), "password": PASSWORD, "next": "/"}
    assert "There is no account yet" in (await client.post("/login", fields)).text
    for path in ("/inbox", "/usage.csv", "/conversations", "/bots", "/usage", "/keys", "/webhooks", "/operators", "/account", "/audit"):
        assert (await client.get(path)).status == 200, path
