"""All pages in a real browser: policy, accessibility, layout, HTML, keyboard, back button, with and without scripts."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page

from chatsvc.domain import profiles
from tests.dashboard.conftest import Tabs
from tests.dashboard.filled import fill
from tests.dashboard.site import Site
from tests.dashboard.walk import crawl, ids_of

# What a page must not have; contrast is measured in both colour schemes, the rest once.
AXE_RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"], "resultTypes": ["violations"]}
CONTRAST = {"runOnly": {"type": "rule", "values": ["color-contrast", "html-lang-valid", "valid-lang"]}, "resultTypes": ["violations"]}


def watched(page: Page, url: str) -> list[str]:
    """Note whatever must not happen in a tab: messages in the console, errors, requests to others."""
    faults: list[str] = []
    page.on("console", lambda message: faults.append(f"{page.url}: {message.text}"))
    page.on("pageerror", lambda error: faults.append(f"{page.url}: {error}"))
    page.on("request", lambda request: None if request.url.startswith((url, "data:")) else faults.append(request.url))
    return faults


@pytest.mark.parametrize(
    ("language", "scheme", "width", "rules"),
    [("en-GB", "light", 1280, AXE_RULES), ("tr-TR", "dark", 390, CONTRAST)],
)
async def test_every_page_is_accessible_fits_and_keeps_to_the_policy(
    site: Site, tabs: Tabs, axe: str, language: str, scheme: str, width: int, rules: dict[str, Any]
) -> None:
    await fill(site)
    client = await site.client("administrator")
    paths = [page.path for page in await crawl(client, await ids_of(site, site.mine)) if page.path != "/logout"]
    options = {"width": width, "locale": language, "color_scheme": scheme}
    stranger, page, problems = await tabs(**options), await tabs("administrator", **options), []
    await page.context.add_init_script(axe)
    faults = watched(page, site.app.url)
    for path in ["/login", *paths, "/inbox?view=week&day=2026-11-27", "/inbox?view=day&day=2026-11-27&time=10:00"]:
        tab = stranger if path == "/login" else page
        answer = await tab.goto(site.app.url + path)
        assert answer is not None
        assert answer.status == 200, path
        if not await tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth"):
            problems.append(f"{path} is wider than the window")
        await tab.evaluate("document.querySelectorAll('.record details, .situation').forEach((one) => { one.open = true; })")
        if tab is stranger:
            await tab.evaluate(axe)
        report = await tab.evaluate("rules => axe.run(document, rules)", rules)
        problems += [f"{path}: {fault['id']}: {[node['html'][:120] for node in fault['nodes'][:3]]}" for fault in report["violations"]]
    assert problems + faults == []


async def test_all_html_is_valid(site: Site, html_validate: Path, tmp_path: Path) -> None:
    await fill(site)
    written: list[Path] = []
    for role, language in (("administrator", "en"), ("owner", "tr")):
        client = await site.client(role, language)
        for page in [
            *await crawl(client, await ids_of(site, site.mine)),
            await client.get("/nowhere"),
            await (await site.client()).get("/login"),
        ]:
            if page.headers["Content-Type"].startswith("text/html"):
                written.append(tmp_path / f"{len(written)}{page.path.partition('?')[0].replace('/', '_')}.html")
                written[-1].write_text(page.body)
    shown = "".join(path.read_text() for path in written)
    assert all(text in shown for text in ("to0@example.com", "Another program asks", "gone@example.com", "has not verified"))
    config = tmp_path / "rules.json"
    # Attributes may be written without a value or with an empty one; inputs inside of their label need no id.
    config.write_text(
        json.dumps({"root": True, "extends": ["html-validate:standard"], "rules": {"attribute-boolean-style": "off", "void-style": "off"}})
    )
    process = await asyncio.create_subprocess_exec(
        html_validate, "--config", config, "--formatter", "text", *written, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode().replace(str(tmp_path), "")


async def test_a_secret_is_gone_after_reload_and_back(site: Site, tabs: Tabs) -> None:
    page = await tabs("owner")
    shown, address = page.locator("[data-secret]"), f"{site.app.url}/operators"
    await page.goto(address)
    await page.fill("main input[name=email]", "shown@example.com")
    await page.click("form[data-action='operator.add'] button")
    secret = await shown.inner_text()
    assert "/setup/" in secret
    await page.reload()
    assert (await shown.count(), secret in await page.content()) == (0, False)
    await page.goto(f"{address}/shown@example.com")
    await page.click("form[data-action='operator.link'] button")
    secret = await shown.inner_text()
    await page.click("main a.button")
    await page.wait_for_url("**/operators/shown@example.com")
    await page.go_back()
    await page.wait_for_load_state()
    assert (await page.locator("[data-secret]", has_text="/setup/").count(), secret in await page.content()) == (0, False)
    await page.go_back()
    assert [operator.email for operator in (await site.do("operator.list", account=site.mine.account)).items].count(
        "shown@example.com"
    ) == 1


async def test_everything_works_without_scripts(site: Site, tabs: Tabs) -> None:
    page = await tabs("owner", 390, java_script_enabled=False)
    faults = watched(page, site.app.url)
    await page.goto(f"{site.app.url}/")
    assert await page.locator("nav#menu").is_hidden()
    await page.click("a.menu-open")
    assert await page.locator("nav#menu").is_visible()
    await page.click("nav#menu a[href='/operators']")
    assert await page.locator("h1").inner_text() == "Team"
    await page.goto(f"{site.app.url}/me")
    await page.select_option("select[name=language]", "tr")
    await page.click("form[data-action='operator.language'] button")
    assert await page.locator("html").get_attribute("lang") == "tr"
    await page.click("header form[data-action='session.remove'] button")
    await page.wait_for_url("**/login")
    await site.do("operator.set", email=site.email("owner"), language="en")
    assert faults == []


async def test_an_account_is_chosen_with_one_key_or_with_the_button(site: Site, tabs: Tabs) -> None:
    page = await tabs("administrator")
    await page.goto(f"{site.app.url}/")
    assert await page.locator("header form.chooser button").is_hidden()
    await page.select_option("header select[name=account]", site.other.account)
    await page.wait_for_url(f"**/?account={site.other.account}")
    plain = await tabs("administrator", java_script_enabled=False)
    await plain.goto(f"{site.app.url}/")
    await plain.select_option("header select[name=account]", site.mine.account)
    await plain.click("header form.chooser button")
    assert plain.url.endswith(f"account={site.mine.account}")


async def test_a_form_is_built_row_by_row_without_a_script_and_by_keys(site: Site, tabs: Tabs) -> None:
    page = await tabs("editor", java_script_enabled=False)
    await page.goto(f"{site.app.url}/bots/{site.mine.bot}/forms/quote")
    await page.fill("[name=name_0]", "Room")
    await page.press("[name=name_0]", "Enter")
    await page.wait_for_url("**/forms/quote?done=saved")
    await page.focus("button[value=add]")
    await page.keyboard.press("Enter")
    await page.fill("[name=name_1]", "Guests")
    assert await page.locator("[name=choices_1]").is_hidden()
    await page.select_option("[name=kind_1]", "choice")
    await page.fill("[name=choices_1]", "two, four")
    await page.focus("button[value=up-1]")
    async with page.expect_navigation():
        await page.keyboard.press("Enter")
    assert [await page.input_value(f"[name=name_{number}]") for number in (0, 1)] == ["Guests", "Room"]
    assert await page.locator(".sample .chip").all_inner_texts() == ["two", "four"]
    await page.click("form[data-action='bot.set'] button >> nth=0")
    await page.wait_for_url("**/forms/quote?done=saved")
    form = profiles.load((await site.do("bot.show", bot=site.mine.bot)).profile).form("quote")
    assert [(field.name, field.choices) for field in form.fields] == [("Guests", ("two", "four")), ("Room", ())]
    await site.do("bot.set", bot=site.mine.bot, forms={"quote": {}})


async def test_a_text_is_copied(site: Site, tabs: Tabs) -> None:
    page = await tabs("owner", permissions=["clipboard-read", "clipboard-write"])
    faults = watched(page, site.app.url)
    await page.goto(f"{site.app.url}/account")
    await page.click("main .copy-button")
    assert await page.evaluate("navigator.clipboard.readText()") == site.mine.account
    assert (await page.locator("main .copy-button").inner_text(), faults) == ("Copied", [])


async def test_another_site_cannot_frame_a_page(site: Site, tabs: Tabs) -> None:
    page = await tabs()
    async with page.expect_console_message(lambda message: "frame-ancestors" in message.text):
        await page.set_content(f"<iframe src='{site.app.url}/login'></iframe>")
