"""Readings of websites: what becomes knowledge, what changes, and what never does."""

import asyncio
import gzip
from collections.abc import Callable
from ipaddress import ip_network

import pytest
from aiohttp.web import Request, Response

from chatsvc.domain import websites
from chatsvc.domain.addresses import Own
from chatsvc.outbound.client import Guard
from chatsvc.outbound.egress import client_context
from chatsvc.outbound.website import WebsiteClient
from chatsvc.services.knowledge import site_reading
from chatsvc.services.knowledge.site_reading import SiteReadings
from chatsvc.store import sites as stored
from tests.websites.conftest import Reader
from tests.websites.server import WebsiteServer

pytestmark = pytest.mark.postgres


def sitemap(server: WebsiteServer, paths: list[str]) -> str:
    urls = "".join(f"<url><loc>{server.url}{path.lstrip('/')}</loc></url>" for path in paths)
    return f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'


def redirect(address: str) -> Callable[[Request], Response]:
    return lambda _: Response(status=302, headers={"Location": address})


def page(*sections: tuple[str, str], head: str = "") -> str:
    """A page with a text under each heading."""
    return f"<html lang=en><head>{head}</head><body>{''.join(f'<h2>{name}</h2><p>{text}</p>' for name, text in sections)}</body></html>"


async def test_an_entry_that_a_person_has_edited_or_removed_stays_so(reader: Reader, server: WebsiteServer) -> None:
    server.pages = {"/": page(("Open?", "From 9."), ("Parking?", "Behind."), ("Dogs?", "No."), ("Pay?", "Cash."))}
    site = await reader.add(server.url, review=False)
    assert (site.state, site.changes["added"]) == ("idle", 4)
    bot, first = reader.caller.bot, await reader.entries()
    await reader.do("knowledge.set", bot=bot, entry=first["Open?"].id, question="Open?", answer="From 10.", alt=["hours?"])
    await reader.do("knowledge.set", bot=bot, entry=first["Dogs?"].id, question="Dogs?", answer="No.", alt=["my dog?"])
    await reader.do("knowledge.remove", bot=bot, entry=first["Parking?"].id)
    server.pages["/"] = page(("Open?", "From 8."), ("Parking?", "In front."), ("Dogs?", "Small ones."))
    site = await reader.sync(site.id)
    assert site.changes == {"added": 0, "changed": 1, "removed": 1, "kept": 1}
    after = await reader.entries()
    assert {name: item.answer for name, item in after.items()} == {"Open?": "From 10.", "Dogs?": "Small ones."}
    assert (after["Dogs?"].id, after["Dogs?"].alt) == (first["Dogs?"].id, ("my dog?",))
    ((entry, own),) = (await reader.do("site.show", site=site.id)).edited
    assert (entry.answer, own.answer) == ("From 10.", "From 8.")
    (change, *_) = (await reader.do("knowledge.history", bot=bot)).items
    assert (change.title, change.origin.actor.name) == (server.url, "website")
    await reader.do("knowledge.undo", bot=bot, change=change.origin.id)
    assert {name: item.answer for name, item in (await reader.entries()).items()} == {
        "Open?": "From 10.",
        "Dogs?": "No.",
        "Pay?": "Cash.",
    }
    await reader.do("site.remove", site=site.id)
    assert (await reader.do("site.list", bot=bot), list(await reader.entries())) == ([], ["Pay?"])  # it was not the site's any more


async def test_a_site_that_is_down_or_half_empty_changes_nothing(reader: Reader, server: WebsiteServer) -> None:
    paths = ["/", *(f"/{number}" for number in range(8))]
    server.pages = {path: page((f"Question {path}", f"Answer of {path}.")) for path in paths}
    server.pages["/sitemap.xml"] = sitemap(server, paths)
    site = await reader.add(server.url, review=False)
    before = await reader.entries()
    assert len(before) == 9
    server.down = True
    site = await reader.sync(site.id)
    assert (site.state, site.reason) == ("failed", "robots_unavailable")
    server.down = False
    whole = dict(server.pages)
    for path in ("/1", "/2", "/3", "/4"):
        del server.pages[path]
    site = await reader.sync(site.id)
    assert (site.state, site.reason) == ("failed", "half_empty")
    del server.pages["/"]
    assert (await reader.sync(site.id)).reason == "not_found"
    assert await reader.entries() == before
    server.pages = whole
    del server.pages["/1"]
    site = await reader.sync(site.id)
    assert (site.state, site.reason, site.changes["removed"]) == ("idle", None, 1)
    server.pages["/2"] = lambda _: Response(status=500)
    assert (await reader.sync(site.id)).state == "idle"
    assert len(await reader.entries()) == 8  # a page that fails once keeps its entries


async def test_robots_links_and_odd_pages_are_named(reader: Reader, server: WebsiteServer) -> None:
    links = "".join(
        f'<a href="{link}">x</a>' for link in ("private/a", "/js", "/old", "/deep/1", "/far", "/file", "/quiet", "/photo.jpg", "//x")
    )
    server.pages = {
        "/robots.txt": "User-agent: *\nDisallow: /private\nDisallow: /*.php$\nAllow: /private/open\nSitemap: /map-index.xml\nSitemap: http://[\n"
        "Sitemap: http://127.0.0.9/map.xml\n",
        "/": page(("Welcome", "Hello there."), head=f"<base href='/'>{links}"),
        "/js": '<html><body><div id="root"></div><script src="app.js"></script></body></html>',
        "/old": redirect("/new"),
        "/new": page(("Moved", "Here.")).encode(),
        "/deep/1": lambda _: Response(text=page(("Trap", "x")) + '<a href="/deep/1?n=1">on</a>', content_type="text/html"),
        "/far": redirect("http://127.0.0.9/"),
        "/file": lambda _: Response(body=b"%PDF-1.4", content_type="application/pdf"),
        "/quiet": page(("Quiet", "Text."), head='<meta name="robots" content="noindex">'),
        "/private/a": page(("Secret", "Text.")),
    }
    site = await reader.add(server.url, include=["/*"], exclude=["/excluded/*"], max_pages=50)
    assert await reader.pages(site.id) == {
        "/": ("read", None),
        "/js": ("skipped", "needs_javascript"),
        "/new": ("read", None),
        "/deep/1": ("read", None),
        "/deep/1?n=1": ("read", None),
        "/far": ("failed", "other_host"),
        "/file": ("skipped", "no_page"),
        "/quiet": ("skipped", "noindex"),
        "/private/a": ("skipped", "robots"),
    }
    assert "/private/a" not in server.asked


async def test_an_index_of_packed_sitemaps_is_read(reader: Reader, server: WebsiteServer) -> None:
    server.pages = {
        "/robots.txt": f"Sitemap: {server.url}sitemap-index.xml",
        "/sitemap-index.xml": f"<sitemapindex><sitemap><loc>{server.url}sitemap.gz</loc></sitemap></sitemapindex>",
        "/sitemap.gz": gzip.compress(sitemap(server, ["/a", "/b?x=1&amp;y=2"]).encode()),
        "/": page(("Home", "Text.")) + '<a href="/not-in-the-map">x</a>',
        "/a": page(("Şube saatleri", "09:00 ile 18:00 arası açığız, ğüşiöç."))
        .replace("<head>", "<head><meta charset=iso-8859-9>")
        .encode("cp1254"),
        "/b": page(("B", "Text of b.")),
    }
    site = await reader.add(server.url, review=False, max_pages=2)
    assert await reader.pages(site.id) == {"/": ("read", None), "/a": ("read", None), "/b?x=1&y=2": ("skipped", "too_many_pages")}
    assert (await reader.entries())["Şube saatleri"].answer == "09:00 ile 18:00 arası açığız, ğüşiöç."


async def test_a_reading_that_was_interrupted_goes_on_where_it_was(
    reader: Reader, server: WebsiteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.pages = {f"/{number}": page((f"Question {number}", f"Answer {number}.")) for number in range(6)}
    server.pages |= {"/": page(("Home", "Text.")), "/sitemap.xml": sitemap(server, ["/", *(f"/{number}" for number in range(6))])}
    monkeypatch.setattr(site_reading, "BATCH", 2)
    reached = asyncio.Event()

    def stop(_: Request) -> Response:
        reached.set()
        return Response(status=200, text="late")

    server.pages["/4"] = stop
    site_id = (await reader.do("site.add", bot=reader.caller.bot, url=server.url)).id
    await reached.wait()
    await reader.caller.app.services.part(SiteReadings).close()
    assert (await reader.do("site.state", site=site_id)).state == "reading"
    server.pages["/4"] = page(("Question 4", "Answer 4."))
    server.asked.clear()
    await reader.caller.app.services.part(SiteReadings).look()
    site = await reader.read(site_id)
    assert (site.state, site.changes["added"]) == ("review", 7)
    assert [path for path in server.asked if path[1:].isdigit()] == ["/3", "/4", "/5"]


HUGE = {
    "a sitemap of blanks": {"/sitemap.xml": "<urlset>" + "<loc>" + " " * 200_000},
    "a sitemap of tags": {"/sitemap.xml": "<urlset>" + ("<loc>" + " " * 50) * 30_000},
    "a sitemap of one address": {"/sitemap.xml": "<urlset><loc>http://[" + "a" * 1_900_000 + "</loc>"},
    "robots.txt of agents and rules": {"/robots.txt": "User-agent: a\n" * 8_000 + "Disallow: /x\n" * 8_000},
    "a page of many links": {"/": page(("Open?", "From 9.")) + "".join(f"<a href='/{number}'></a>" for number in range(50_000))},
}


@pytest.mark.parametrize("pages", HUGE.values(), ids=HUGE)
async def test_a_site_of_any_size_is_read_outside_of_the_service(reader: Reader, server: WebsiteServer, pages: dict[str, str]) -> None:
    server.pages = {"/": page(("Open?", "From 9.")), **pages}
    site = await reader.add(server.url, max_pages=1)
    assert (site.state, site.reason, site.changes.get("added")) == ("review", None, 1)


async def test_pages_that_unpack_to_more_than_the_budget_are_not_kept(
    reader: Reader, server: WebsiteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatsvc.domain.websites.MOST_LINES", 16_000)
    packed = gzip.compress(b"<h2>Open?</h2><p>From 9.</p>" + b"<p>a" * 5_000)
    paths = [f"/{number}" for number in range(5)]
    server.pages = {
        path: lambda _: Response(body=packed, content_type="text/html", headers={"Content-Encoding": "gzip"}) for path in ["/", *paths]
    }
    server.pages["/huge"] = page(("Huge", "a")) + "<p>a" * 30_000
    server.pages["/sitemap.xml"] = sitemap(server, ["/huge", *paths])
    monkeypatch.setattr(site_reading, "BATCH", 1)
    site = await reader.add(server.url)
    states = await reader.pages(site.id)
    assert states["/huge"] == ("failed", "too_large")
    assert sorted(states.values()) == [("failed", "too_large"), *[("read", None)] * 2, *[("skipped", "too_many_pages")] * 4]


async def test_a_reading_that_did_not_come_back_twice_is_not_begun_again(reader: Reader, server: WebsiteServer) -> None:
    server.pages = {"/": page(("Open?", "From 9."))}
    site_id = (await reader.add(server.url)).id
    services = reader.caller.app.services
    await stored.begin(services.db, site_id, services.clock())
    for attempt in (1, 2):
        assert await stored.attempt(services.db, site_id) == attempt  # a process that was killed in the middle
    server.asked.clear()
    await services.part(SiteReadings).look()
    site = await reader.read(site_id)
    assert (site.state, site.reason, server.asked) == ("failed", "interrupted", [])
    assert (await reader.sync(site_id)).state == "review"  # a person may begin it


async def test_a_reading_that_cannot_go_on_ends_with_its_reason(
    reader: Reader, server: WebsiteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = {"/": page(("Open?", "From 9."))}
    rules = "".join(f"Disallow: /{number}*x$\n" for number in range(45_000))  # too many: they forbid all
    server.pages = {**home, "/robots.txt": f"User-agent: *\n{rules}"}
    site = await reader.add(server.url)
    assert (site.state, site.reason, server.asked) == ("failed", "robots", ["/robots.txt", "/sitemap.xml"])
    server.asked.clear()
    paths = [f"/{number}" for number in range(30)]
    server.pages = {**home, "/sitemap.xml": sitemap(server, paths), **dict.fromkeys(paths, redirect("http://127.0.0.9/"))}
    site = await reader.sync(site.id)
    assert (site.state, site.reason, len(server.asked)) == ("failed", "other_host", 13)
    monkeypatch.setattr(websites, "page_address", lambda *_: 1 / 0)
    site = await reader.sync(site.id)
    assert (site.state, site.reason) == ("failed", "unreadable")


@pytest.mark.parametrize(
    ("typed", "host", "robots_move"),
    [("shop.example.net", "www.shop.example.net", True), ("www.shop.example.net", "shop.example.net", False)],
)
async def test_a_site_is_what_a_bare_domain_or_its_www_leads_to(
    reader: Reader, server: WebsiteServer, typed: str, host: str, *, robots_move: bool
) -> None:
    async def loopback(_: str) -> list[str]:
        return ["127.0.0.1"]

    def moved(body: str) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            if request.host.startswith(f"{host}:"):
                return Response(text=body, content_type="text/html")
            return Response(status=301, headers={"Location": f"http://{host}:{server.port}{request.path}"})

        return answer

    services = reader.caller.app.services
    guard = Guard(Own(), (ip_network("127.0.0.0/8"),), loopback, plain=True)
    vars(services)["website"] = WebsiteClient(guard, services.egress, client_context())
    server.pages = {"/": moved(page(("Open?", "From 9."))), "/on": moved(page(("Pay?", "Cash.")))}
    server.pages |= {"/robots.txt": moved("")} if robots_move else {}
    site = await reader.add(f"http://{typed}:{server.port}", review=False)
    assert (site.state, site.url) == ("idle", f"http://{host}:{server.port}/")
    assert [entry.source for entry in (await reader.entries()).values()] == [site.url]
    # Only the address that was typed, and only to its own other name.
    server.pages["/"] = redirect(f"http://{typed}:{server.port}/")
    assert (await reader.sync(site.id)).reason == "other_host"
    server.pages["/"] = redirect(f"http://else.example.net:{server.port}/")
    other = await reader.add(f"http://{typed}:{server.port}")
    assert other.reason == "other_host"
    assert await stored.move(services.db, other, site.url) is False  # the bot has it already
