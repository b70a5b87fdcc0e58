"""Readings of websites: what becomes knowledge, what changes, and what never does."""

from __future__ import annotations

import pytest

from tests.websites.conftest import Reader
from tests.websites.server import WebsiteServer
from tests.websites.shapes import SHAPES, facts, page_of

pytestmark = pytest.mark.postgres


def sitemap(server: WebsiteServer, paths: list[str]) -> str:
    places = "".join(f"<url><loc>{server.url}{path.lstrip('/')}</loc></url>" for path in paths)
    return f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{places}</urlset>'


def fill(server: WebsiteServer, count: int, version: int = 0) -> None:
    for number in range(count):
        server.pages[f"/workshop/{number}"] = page_of(number, version)
    server.pages["/"] = page_of(7, 0, ["/", "/workshop/0"])
    server.pages["/sitemap.xml"] = sitemap(server, ["/", *(f"/workshop/{number}" for number in range(count))])


async def test_a_site_of_300_pages_changes_between_two_readings(reader: Reader, server: WebsiteServer) -> None:
    fill(server, 299)
    site = await reader.add(server.url, max_pages=300)
    assert (site.state, site.done, site.of) == ("review", 300, 300)
    assert await reader.entries() == {}
    await reader.do("site.apply", site=site.id)
    entries = await reader.entries()
    texts = " ".join(f"{one.question} {one.answer}" for one in entries.values())
    for number in range(299):
        page = facts(number)
        for text in [text for pair in (*page.sections, *page.questions) for text in pair] + [row[0] for row in page.rows]:
            assert text in texts, (SHAPES[number % 10].__name__, text)
    assert entries["How long does workshop 10 take?"].source == f"{server.url}workshop/10"
    server.sent = 0
    site = await reader.sync(site.id)
    assert (site.state, server.sent, sum(site.changes.values())) == ("idle", 1, 0)  # the sitemap alone

    for number in (3, 14):
        server.pages[f"/workshop/{number}"] = page_of(number, 1)
    del server.pages["/workshop/20"]
    site = await reader.sync(site.id)
    assert site.state == "review"
    assert (site.changes["added"], site.changes["kept"]) == (0, 0)
    assert site.changes["changed"] > 1
    assert site.changes["removed"] > 2
    assert await reader.entries() == entries
    await reader.do("site.apply", site=site.id)
    after = await reader.entries()
    price = "How much is Adult ticket 14?"
    assert after[price].id == entries[price].id
    assert after[price].alt == entries[price].alt
    assert (entries[price].answer, after[price].answer) == ("Adult ticket 14: 54 EUR", "Adult ticket 14: 55 EUR")
    assert "How long does workshop 20 take?" not in after
