"""The pages of a bot's websites."""

from collections.abc import AsyncIterator
from dataclasses import replace
from ipaddress import ip_network

import pytest
import pytest_asyncio

from chatsvc.services.knowledge import site_reading
from tests.dashboard.client import Client
from tests.dashboard.site import Site
from tests.websites.server import WebsiteServer
from tests.websites.shapes import page_of

OPEN = "<html lang=en><body><h1>Atelier</h1><h2>Do you mend a broken chain?</h2><p>No, never.</p></body></html>"


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def website(site: Site) -> AsyncIterator[WebsiteServer]:
    """A website of three pages."""
    services = site.app.services
    services.config = replace(services.config, website=replace(services.config.website, allowed_networks=(ip_network("127.0.0.0/8"),)))
    async with WebsiteServer({"/": page_of(2, 0, ["/a", "/b", "/gone"]), "/a": page_of(10), "/b": OPEN}) as running:
        yield running


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read without the pause between two pages."""
    monkeypatch.setattr(site_reading, "PAUSE_S", 0.0)


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def path(site: Site, website: WebsiteServer) -> str:
    """The page of the websites of the bot of `site.mine`, which speaks English."""
    await site.do("bot.set", bot=site.mine.bot, language="en")
    return f"/bots/{site.mine.bot}/knowledge/sites"


async def test_a_website_is_added_read_applied_and_removed(
    site: Site, website: WebsiteServer, path: str, editor: Client, reader: Client
) -> None:
    assert "The bot reads no website yet." in (await reader.get(path)).text
    assert (await reader.get(path)).forms("site.add") == []
    page = await editor.settled(await editor.submit(path, "site.add", url=website.url))
    address = page.path
    assert page.has("waiting for you", "What this reading changes", "How long does workshop 2 take?", "The page is not there.")
    assert 'data-state="failed"' in page.body
    assert (await reader.get(address)).forms("site.apply") == []
    assert (await (await site.client("editor", "tr")).get(address)).has("onayınızı bekliyor")

    site.clock.advance(1)
    preview = await editor.settled(await editor.submit(address, "site.preview"))
    assert preview.has(f"If you apply the draft of {website.url}:")
    page = await editor.submit(preview.path, "site.apply")
    assert page.path == f"{address}?done=saved"
    assert "up to date" in page.text
    assert f'href="{website.url}a"' in (await reader.get(path.removesuffix("/sites"))).body

    (entry,) = [item for item in await site.do("knowledge.list", bot=site.mine.bot) if item.answer == "No, never."]
    await site.do("knowledge.set", bot=site.mine.bot, entry=entry.id, question=entry.question, answer="No, <b>closed</b>.")
    page = await reader.get(address)
    assert "1 edited entry" in page.text
    assert ("No, &lt;b&gt;closed&lt;/b&gt;." in page.body, "No, never." in page.body) == (True, True)
    website.pages["/b"] = OPEN.replace("never", "not yet")
    site.clock.advance(1)
    assert (await editor.settled(await editor.submit(address, "site.sync"))).has("1 entry that you have edited stays", "No, not yet.")
    assert (await editor.submit(address, "site.discard")).has("up to date")
    page = await editor.submit(address, "site.remove", yes="1")
    assert page.path == f"{path}?done=removed"
    assert "No, <b>closed</b>." not in [item.answer for item in await site.do("knowledge.list", bot=site.mine.bot)]


async def test_what_is_typed_is_kept_and_faults_are_named(site: Site, path: str, editor: Client) -> None:
    assert (await editor.submit(path, "site.add", url="https://127.0.0.1:99/", include="/a/*")).refuses(kept='value="/a/*"')
    assert (await editor.submit(path, "site.add", url="https://example.com", every_days="9999")).refuses("Read again every")


async def test_a_website_of_another_bot_is_not_there(site: Site, website: WebsiteServer, path: str, editor: Client) -> None:
    theirs = await site.do("site.add", bot=site.other.bot, url=website.url)
    assert (await editor.get(f"{path}/{theirs.id}")).status == 404
    administrator = await site.client("administrator")
    assert (await administrator.get(f"{path}/{theirs.id}")).status == 404
    assert (await administrator.get(f"/bots/{site.other.bot}/knowledge/sites/{theirs.id}")).status == 200


async def test_a_website_that_is_down_says_so(site: Site, website: WebsiteServer, path: str, editor: Client) -> None:
    website.down = True
    page = await editor.settled(await editor.submit(path, "site.add", url=website.url + "a"))
    website.down = False
    assert "The website could not be read; the knowledge is unchanged." in page.alert
    assert "robots.txt cannot be read" in page.alert
