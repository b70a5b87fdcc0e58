"""Live search and preview of the editor in Chromium, with and without script."""

import pytest
from playwright.async_api import expect

from chatsvc.domain.models import SendMessage
from chatsvc.services.knowledge import previews, unanswered
from tests.dashboard.client import Client
from tests.dashboard.conftest import Tabs, wait_for
from tests.dashboard.site import Site

FOUND = "#found li >> nth=0"


async def test_the_search_beside_the_editor_follows_what_is_typed(site: Site, tabs: Tabs) -> None:
    page = await tabs("editor")
    await page.goto(f"{site.app.url}/bots/{site.mine.bot}/knowledge/new")
    await page.fill("textarea[name=answer]", "Half written")
    await page.fill("input[name=q]", "rent a bicycle")
    await expect(page.locator(FOUND)).to_contain_text("Do you rent bicycles?")
    await page.fill("input[name=question]", "Are you open on Saturday?")
    await page.locator("input[name=question]").blur()
    await expect(page.locator(FOUND)).to_contain_text("Are you open on Saturday?")
    assert await page.input_value("textarea[name=answer]") == "Half written"


@pytest.mark.parametrize(("scripts", "asked"), [(True, "can parrots ride along"), (False, "what if the helmet falls off")])
async def test_a_question_is_added_to_any_entry_and_another_deleted(site: Site, tabs: Tabs, axe: str, scripts: bool, asked: str) -> None:
    bot = await site.do("bot.show", bot=site.mine.bot)
    for text in (asked, "is the moon made of cheese"):
        await unanswered.note(site.app.services, bot, SendMessage(bot.id, text, "v"), "web")
    page = await tabs("editor", 390, java_script_enabled=scripts)
    address = f"{site.app.url}/bots/{site.mine.bot}/unanswered"
    await page.goto(address)
    await page.locator("article", has_text=asked).get_by_role("link", name="entry").click()
    if scripts:
        await page.evaluate(axe)
        assert await page.evaluate("async () => (await axe.run(document)).violations.map(one => one.id)") == []
    assert await page.locator("main li[data-id]").count() >= 2
    await page.get_by_role("searchbox").fill("bicycles")
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Add to this entry: Do you rent bicycles?").click()
    await expect(page.get_by_role("status")).to_contain_text("phrasings of the entry")
    (entry,) = [entry for entry in await site.do("knowledge.list", bot=bot.id) if entry.question == "Do you rent bicycles?"]
    assert asked in entry.alt
    # What cannot be undone is folded, and the browser asks for the confirmation.
    cheese = page.locator("article", has_text="cheese")
    button = cheese.get_by_role("button", name="Not needed")
    await expect(button).to_be_hidden()
    await cheese.locator("summary", has_text="Not needed").click()
    await button.click()
    assert page.url == f"{address}?done=phrasings_added"
    await cheese.get_by_role("checkbox").check()
    await button.click()
    await expect(page.get_by_role("status")).to_contain_text("Removed.")
    await expect(cheese).to_have_count(0)


async def test_a_trial_goes_on_without_a_new_page_and_leads_to_the_editor(site: Site, tabs: Tabs) -> None:
    await site.do("bot.set", bot=site.mine.bot, model="offline", language="en", suggestions=["Do you rent bicycles?"])
    page = await tabs("editor")
    await page.goto(f"{site.app.url}/bots/{site.mine.bot}/try")
    await page.evaluate("window.isSame = true")
    await page.click("button.chip")
    await expect(page.locator("#last")).to_contain_text("15 euros a day")
    await page.fill("input[name=text]", "how far is the moon")
    await page.keyboard.press("Enter")
    await expect(page.locator(".turn")).to_have_count(2)
    assert await page.evaluate("window.isSame && document.activeElement.name") == "text"
    await page.fill("input[name=text]", " ")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("please fill in this field")
    await page.get_by_role("link", name="Teach the answer").click()
    assert await page.input_value("input[name=question]") == "how far is the moon"


async def test_a_preview_shows_its_result_by_itself(site: Site, tabs: Tabs, editor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(previews, "_PATIENCE_S", 0.0)
    fields = {"bot": site.mine.bot, "question": "Do you deliver?", "answer": "Yes."}
    shown = await editor.post(f"/bots/{site.mine.bot}/knowledge/new/preview", fields)
    assert "data-refresh" in shown.body
    page = await tabs("editor")
    await page.clock.install()
    await page.goto(site.app.url + shown.path)
    await wait_for(page, "#preview form[data-action='knowledge.set']")
    await expect(page.locator("#preview")).to_contain_text("gain an answer: 1.")
