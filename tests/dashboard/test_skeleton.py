"""Rules for all pages: languages, headers, errors, forgery, static files, accounts, navigation."""

import json
from pathlib import Path

import pytest

from chatsvc.dashboard import localization
from chatsvc.dashboard.responses import HEADERS, local, with_query
from chatsvc.services.team import operators
from chatsvc.store.database import StoreUnavailable
from tests.dashboard.client import Client
from tests.dashboard.conftest import Tabs
from tests.dashboard.site import PASSWORD, Site

UNKNOWN = "00000000-0000-4000-8000-000000000000"
BROWSERS = [line.split("\t") for line in Path(__file__).with_name("browsers.tsv").read_text("utf-8").splitlines()]


async def test_a_stranger_is_led_to_the_login_and_back(site: Site, anyone: Client) -> None:
    for path, login in (("/", "/login"), ("/shown?x=1", "/login?next=%2Fshown%3Fx%3D1")):
        led = await anyone.get(path, follow=False)
        assert (led.status, led.headers["Location"]) == (303, login)
    page = await anyone.submit(login, "session.create", email=site.email("owner"), password=PASSWORD, follow=False)
    assert (page.status, page.headers["Location"]) == (303, "/shown?x=1")
    assert (await anyone.get("/")).has("Harbour Cycles")
    out = await anyone.submit("/", "session.remove", follow=False)
    assert (out.status, out.headers["Location"]) == (303, "/login")
    assert (await anyone.get("/", follow=False)).status == 303


async def test_a_failed_sign_in_keeps_the_address_and_not_the_password(anyone: Client) -> None:
    page = await anyone.submit("/login", "session.create", email="nobody@example.com", password="a wrong password")
    assert page.refuses("The e-mail address or the password is not right.", kept="nobody@example.com")
    assert "a wrong password" not in page.body


@pytest.mark.parametrize(
    ("header", "language"),
    [
        *(("en", "en"), ("tr-TR,tr;q=0.9,en;q=0.8", "tr"), ("de,en-GB;q=0.5,tr;q=0.4", "en"), ("de", "en"), ("", "tr")),
        *(("*", "tr"), ("en;q=0", "tr"), ("en;q=x,tr;q=0.1", "tr"), ("en;level=1", "en")),
    ],
)
def test_the_browser_chooses_between_two_languages(header: str, language: str) -> None:
    assert localization.preferred_language(header) == language


@pytest.mark.parametrize(("header", "name"), BROWSERS)
def test_browsers_are_named(header: str, name: str) -> None:
    assert localization.browser_name(header) == name


async def test_an_operators_language_wins_over_the_browsers(site: Site, anyone: Client) -> None:
    assert (await anyone.get("/login")).language == "en"
    page = await (await site.client(language="tr")).get("/login")
    assert (page.language, page.has("E-posta adresi")) == ("tr", True)
    await site.do("operator.set", email=site.email("editor"), language="tr")
    assert (await (await site.client("editor", language="en")).get("/")).language == "tr"


async def test_every_page_has_the_headers_and_static_files_are_kept(anyone: Client, owner: Client) -> None:
    page = await owner.get("/")
    for answer in (page, await anyone.get("/login"), await owner.get("/nowhere"), await anyone.get("/", follow=False)):
        assert {name: answer.headers.get(name) for name, _ in HEADERS} == dict(HEADERS)
    links = {link.get("rel"): link.get("href", "") for link in page.tree.iter("link")}
    style = await owner.get(links["stylesheet"])
    assert (style.status, style.headers["Cache-Control"]) == (200, "public, max-age=31536000, immutable")
    assert style.headers["Content-Type"].startswith("text/css")
    manifest = json.loads((await anyone.get(links["manifest"])).body)
    assert (manifest["start_url"], [icon["sizes"] for icon in manifest["icons"]]) == ("/", ["any", "192x192", "512x512"])


@pytest.mark.parametrize(
    ("site_header", "origin", "status"),
    [
        *(("same-origin", "", 422), ("none", "", 422), ("cross-site", "", 403), ("same-site", "", 403), ("cross-site", "SELF", 403)),
        *(("", "SELF", 422), ("", "http://127.0.0.1:8080", 422), ("", "http://evil.example", 403), ("", "null", 403), ("", "", 403)),
    ],
)
async def test_a_form_of_another_site_is_refused(site: Site, anyone: Client, site_header: str, origin: str, status: int) -> None:
    headers = {"Sec-Fetch-Site": site_header, "Origin": site.app.url if origin == "SELF" else origin}
    assert (await anyone.post("/login", {"email": "x@example.com", "password": "x"}, headers=headers)).status == status


def test_redirects_stay_on_this_service() -> None:
    elsewhere = ("//evil.example", "/\\evil.example", "/a\\b", "https://evil.example", "javascript:alert(1)", "/\t/evil.example")
    for path in (*elsewhere, "/a\r\nSet-Cookie: x", "/ü", "", None, "/" + "x" * 3000):
        assert local(path) == "/", path
    assert local("/inbox?status=new#x") == "/inbox?status=new#x"


def test_parameters_are_added_before_the_fragment() -> None:
    assert with_query("/a?b=1#c", {"d": "é", "e": None, "f": ""}) == "/a?b=1&d=%C3%A9#c"
    assert with_query("/a#c", {}) == "/a#c"


async def test_faults_are_pages(site: Site, anyone: Client, owner: Client) -> None:
    missing = await owner.get("/nowhere")
    assert (missing.status, "This page does not exist" in missing.text, "Inbox" in missing.text) == (404, True, True)
    wrong = await owner.post("/")
    assert (wrong.status, wrong.headers["Allow"]) == (405, "GET, HEAD")
    # An account that the person has no role in changes nothing about a page that is not there.
    assert (await owner.get("/nowhere?account=not-mine")).status == 404
    assert (await owner.post("/usage?account=not-mine")).status == 405
    assert (await anyone.post("/login", {"email": "x" * 33_000})).status == 413
    odd = await anyone.request("POST", "/login", data=b"{}", headers={"Content-Type": "application/json"})
    assert (odd.status, odd.headers["Content-Type"]) == (422, "text/html; charset=utf-8")
    assert "Böyle bir sayfa yok" in (await (await site.client(language="tr")).get("/nowhere")).text


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [(StoreUnavailable("gone"), 503, "Not available"), (ValueError("unexpected"), 500, "Something went wrong")],
)
async def test_an_unexpected_fault_and_a_store_that_is_away_are_pages_too(
    anyone: Client, monkeypatch: pytest.MonkeyPatch, fault: Exception, status: int, words: str
) -> None:
    async def fail(_: object) -> bool:
        raise fault

    monkeypatch.setattr(operators, "any_exists", fail)
    answer = await anyone.get("/login")
    assert (answer.status, words in answer.text, str(fault) in answer.text) == (status, True, False)


async def test_an_account_is_chosen_and_kept_in_the_session(site: Site, administrator: Client) -> None:
    for path in (f"/?account={site.other.account}", "/"):
        page = await administrator.get(path)
        (chosen,) = [option for option in page.tree.iter("option") if option.get("selected") is not None]
        assert chosen.text == "Strangers Ltd"
    await administrator.get(f"/?account={site.mine.account}")


@pytest.mark.parametrize("account", ["other", UNKNOWN, "x'"])
async def test_a_strangers_account_is_a_missing_one(site: Site, owner: Client, account: str) -> None:
    answer = await owner.get("/", params={"account": site.other.account if account == "other" else account})
    assert (answer.status, "Strangers" in answer.text) == (404, False)


async def test_a_browser_signs_in_with_the_keyboard_alone(site: Site, tabs: Tabs) -> None:
    page, faults = await tabs(), list[str]()
    page.on("console", lambda message: faults.append(message.text))
    page.on("request", lambda request: None if request.url.startswith(site.app.url) else faults.append(request.url))
    await page.goto(f"{site.app.url}/login")
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.className") == "skip"
    for text in (site.email("reader"), PASSWORD):
        await page.keyboard.press("Tab")
        await page.keyboard.type(text)
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"{site.app.url}/")
    assert await page.locator("h1").inner_text() == "Today"
    (cookie,) = await page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["secure"], faults) == (True, "Lax", False, [])


async def test_pages_of_an_account_lead_an_administrator_without_one_to_the_first_page(site: Site) -> None:
    for usage in (await site.do("account.list")).items:
        await site.do("account.delete", account=usage.account.id)
    client = await site.client()
    fields = {"email": site.email("administrator"), "password": PASSWORD, "next": "/"}
    assert (await client.post("/login", fields)).has("There is no account yet")
    for path in ["/inbox", "/usage.csv", "/conversations", "/bots", "/usage", "/keys", "/webhooks", "/operators", "/account", "/audit"]:
        assert (await client.get(path)).status == 200, path
