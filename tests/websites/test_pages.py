"""Entries of the pages of websites: 100 pages in seven shapes, and pages with data, odd bytes and traps."""

import re

from chatsvc.domain import websites
from chatsvc.domain.websites import Site
from chatsvc.file_reader import website
from tests.websites.conftest import Reader
from tests.websites.server import WebsiteServer
from tests.websites.shapes import CHROME, SHAPES, facts, page_of
from tests.websites.test_reading import sitemap


def fill(server: WebsiteServer, count: int, version: int = 0) -> None:
    for number in range(count):
        server.pages[f"/workshop/{number}"] = page_of(number, version)
    server.pages["/"] = page_of(7, 0, ["/", "/workshop/0"])
    server.pages["/sitemap.xml"] = sitemap(server, ["/", *(f"/workshop/{number}" for number in range(count))])


async def test_a_site_of_100_pages_changes_between_two_readings(reader: Reader, server: WebsiteServer) -> None:
    fill(server, 99)
    site = await reader.add(server.url, max_pages=100)
    assert (site.state, site.done, site.of) == ("review", 100, 100)
    assert await reader.entries() == {}
    await reader.do("site.apply", site=site.id)
    entries = await reader.entries()
    texts = " ".join(f"{entry.question} {entry.answer}" for entry in entries.values())
    pages = [facts(number) for number in range(99)]
    expected = [text for page in pages for pair in (*page.sections, *page.questions) for text in pair]
    expected += [name for page in pages for name, _ in page.rows]
    assert [text for text in expected if text not in texts] == []
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
    before = {entry.id: entry.answer for entry in entries.values() if "Adult ticket 14" in entry.answer}
    changed = {entry.id: entry.answer for entry in after.values() if "Adult ticket 14" in entry.answer}
    assert changed == {number: answer.replace("54 EUR", "55 EUR") for number, answer in before.items()}
    assert before != changed
    assert "How long does workshop 20 take?" not in after


def entries(*pages: bytes | str, charset: str = "", language: str = "en") -> list[tuple[str, str]]:
    """Questions and answers of a site with these pages."""
    read = [website.read(page.encode() if isinstance(page, str) else page, charset) for page in pages]
    listed = websites.entries_of([(f"https://a.example/{nth}", page) for nth, page in enumerate(read)], language)
    return [(entry.question, entry.answer) for entry in listed]


def test_a_site_in_each_shape_makes_no_entry_of_navigation_and_banners() -> None:
    for shape in SHAPES:
        links = ["/"] * 5
        listed = entries(*(shape(facts(number), links) for number in range(6)))
        texts = " ".join(f"{question} {answer}" for question, answer in listed)
        assert len(listed) >= 6 * 3, shape.__name__
        assert [label for label in (*CHROME, "Basket (0)") if label in texts] == [], shape.__name__
        pairs = [pair for number in range(6) for part in facts(number)[1:] for pair in part]
        assert [text for pair in pairs for text in pair if text not in texts] == [], shape.__name__


def test_data_of_schema_org_become_questions_and_facts() -> None:
    hours = """{"@graph": [{"@type": "Restaurant", "name": "Kaya", "telephone": "0212 555 01 02", "address": "Kaya Sok. 5",
        "openingHours": ["Mo-Fr 09:00-18:00", "Sa,Su 10:00-14:00"]}]}"""
    specified = """[{"@type": "Store", "openingHoursSpecification": [
        {"dayOfWeek": ["https://schema.org/Monday"], "opens": "09:00:00", "closes": "12:00"},
        {"dayOfWeek": "Monday", "opens": "13:00", "closes": "17:00"}, {"dayOfWeek": "Sunday", "opens": "00:00", "closes": "00:00"}]}]"""
    asked = """{"@type": "QAPage", "mainEntity": {"@type": "Question", "name": "Dogs &amp; cats?",
        "acceptedAnswer": {"text": "<p>Yes.</p><ul><li>small</li></ul>"}}}"""
    page = "<html lang={}><script type='application/ld+json'>{}</script><p>.".format
    days = ("Pazartesi", "Salı", "Çarşamba", "Perşembe", "Cuma")
    assert entries(page("tr", hours))[:2] == [
        ("Kaya: Çalışma saatleri", "\n".join([*(f"{day}: 09:00-18:00" for day in days), "Cumartesi: 10:00-14:00", "Pazar: 10:00-14:00"])),
        ("Kaya: İletişim", "Telefon: 0212 555 01 02\nAdres: Kaya Sok. 5"),
    ]
    assert entries(page("en", specified))[0] == ("Opening hours", "Monday: 09:00-12:00, 13:00-17:00\nSunday: closed")
    assert entries(page("en", asked))[0] == ("Dogs & cats?", "Yes.\n- small")
    for broken in ("{", "[" * 100_000, '{"@type": "FAQPage", "mainEntity": 7}', '{"@type": ["Store"], "openingHours": 5, "address": {}}'):
        assert entries(page("en", broken)) == []
    linked = "<html lang=en><p><a href='tel:+90%20212'>Call</a> <a href='mailto:a@b.example?subject=x'>Write</a></p>"
    assert entries(linked)[0] == ("Contact", "Telephone: +90 212\nE-mail: a@b.example")


def test_old_encodings_are_read() -> None:
    text = "<h2>Şube</h2><p>ğüşiöçİ ĞÜŞÖÇ ı, açığız</p>"
    expected = [("Şube", "ğüşiöçİ ĞÜŞÖÇ ı, açığız")]
    for page, charset in (
        (text.encode("cp1254"), "windows-1254"),
        (text.encode("iso8859-9"), "ISO-8859-9"),
        (b"<meta charset=windows-1254>" + text.encode("cp1254"), ""),
        (b'<meta http-equiv=content-type content="text/html; charset=iso-8859-9">' + text.encode("cp1254"), ""),
        (text.encode("cp1254"), "utf-8"),
        (text.encode("cp1254"), "no-such-charset"),
        (text.encode(), "utf-8"),
        (text.encode("utf-8-sig"), ""),
        (text.encode("utf-16"), "iso-8859-9"),
    ):
        assert entries(page, charset=charset) == expected, (charset, page[:40])


def test_a_table_gives_each_row_all_that_spanning_cells_say_of_it() -> None:
    seasons = """<table><tr><td></td><td colspan=2>Summer</td><td colspan=2>Winter</td></tr><tr><td><b>Room</b></td><td><b>Week</b></td>
        <td><b>Weekend</b></td><td><b>Week</b></td><td><b>Weekend</b></td></tr><tr><td>Single</td><td>£68</td><td>£75</td><td>£52</td>
        <td>£60</td></tr><tr><td>Double</td><td>£98</td><td>£105</td><td colspan=2>closed</td></tr></table>"""
    answers = dict(entries(seasons))
    (table,) = answers.values()
    assert table.startswith("Room | Summer Week | Summer Weekend | Winter Week | Winter Weekend\nSingle | £68 | £75 | £52 | £60\nDouble")
    fees = """<table><tr><th>Treatment<th>Animal<th>Fee<tr><th rowspan=2>Neutering<td>Cat<td>£72<tr><td>Dog<td>£245
        <tr><th>Microchip<td colspan=2>£24 each</table>"""
    answers = dict(entries(fees))
    (table,) = answers.values()
    assert "Neutering, Cat | £72\nNeutering, Dog | £245\nMicrochip | £24 each" in table
    numbered = """<table><tr><td colspan=3><b>WATER</b></td></tr><tr><th>No<th>What<th>Price<tr><td>1<td>Homes<td>28 TL<tr><td>2<td>Shops
        <td>47 TL<tr><td colspan=3>GRAVES<tr><td>1<td>Plot<td>6.750 TL</table>"""
    answers = dict(entries(numbered))
    assert "Shops | 47 TL" in " ".join(answers.values())
    assert answers["GRAVES"] == "What | Price\nPlot | 6.750 TL"
    many = "<table>" + "<tr>" + "<td colspan=9999 rowspan=9999>a" * 99
    assert len(website.read(many.encode(), "")["lines"]) < 10


def test_prices_stand_beside_what_they_are_for() -> None:
    for page in (
        "<ul><li><span>Soup</span><span class=dots></span><span>£4</span><p>With bread.</p><li><span>Fish</span><span>£9</span></ul>",
        "<dl><dt>Soup <span>£4</span><dd>With bread<dt>Fish <span>£9</span></dl>",
        "<p>Soup<p>£4<p>With bread<p>Fish<p>£9",
    ):
        ((_, section),) = entries(page)  # a section stays one entry
        assert re.fullmatch(r"(- )?Soup: £4\s+With bread\.?\s+(- )?Fish: £9", section), page
    headed = entries("<h3>Soup</h3><div>£4</div><p>With bread</p><h3>Fish</h3><div>£9</div>")
    assert headed == [
        ("Soup", "£4\n\nWith bread"),
        ("Fish", "£9"),
    ]


def test_lines_that_ask_or_stand_in_bold_are_headings() -> None:
    asked = [("May I cancel?", "Yes."), ("Are dogs allowed?", "No.")]
    for page in (
        "<div>May I cancel? <i>&#9662;</i></div><div style='display:none'>Yes.</div><div>Are dogs allowed?</div><div>No.</div>",
        "<dl><dt><button aria-controls=a>May I cancel?<span>+</span></button><dd id=a hidden>Yes.<dt>Are dogs allowed?<dd>No.</dl>",
    ):
        assert entries(page) == asked, page
    assert entries("<h1>Info</h1><p>Prices?</p><p>Which?</p>") == [("Info", "Prices?\n\nWhich?")]
    bold = "<FONT SIZE=5><B>Rooms</B></FONT><P><FONT><B><U>Single</U></B></FONT><BR>One bed.<P><B>Double</B><BR>Two beds."
    assert entries(bold) == [("Rooms: Single", "One bed."), ("Rooms: Double", "Two beds.")]
    leads = "<p><b>Dinner:</b> at six.<p><b>Fishing</b> costs nothing.<p><b>Smoking:</b> in the garden."
    assert [question for question, _ in entries(leads)] == ["Dinner", "Fishing", "Smoking"]
    assert entries("<title>Acme - Weddings</title><div>Home &gt; Weddings</div><div>Weddings</div><p>Ten days ahead.") == [
        ("Weddings", "Ten days ahead.")
    ]


def test_what_holds_the_page_is_content_whatever_its_name() -> None:
    page = "<body><form id=aspnetForm><div class=share>Share</div><p>{}</p><label>Name</label><input></form><footer>{}</footer>"
    pairs = entries(page.format("We open at nine. " * 9, "5 Mill Lane, Ashford<br>Tel: 0312 441 20 90<br>info@a.example<br>© Acme"))
    assert pairs[0] == ("Contact", "Telephone: 0312 441 20 90\nE-mail: info@a.example\nAddress: 5 Mill Lane, Ashford")
    assert [answer for _, answer in pairs[1:]] == [("We open at nine. " * 9).strip()]
    tabs = "<nav><a href=#b>x</a></nav><h2>English</h2><p>Ten weeks.</p><div id=b hidden><h2>German</h2><p>Twelve weeks.</div>"
    assert entries(tabs) == [("English", "Ten weeks."), ("German", "Twelve weeks.")]


def test_traps_end_and_say_so() -> None:
    assert entries("<div>" * 5_000 + "<p>text") == [("text", "text")]
    ((question, answer),) = entries(f"<h2>{'x' * 10_000_000}</h2><p>a")
    assert (len(question), answer) == (500, "a")
    assert website.read(b"", "")["reason"] == "no_text"
    assert website.read(b"<p>\0\x01<script>", "")["reason"] in {None, "no_text"}
    assert website.read(b"<body><noscript>Please enable JavaScript</noscript><script></script>", "")["reason"] == "needs_javascript"
    assert len(website.read(b"<a href=/a>x</a>" * 20_000, "")["links"]) == 5_000


def test_robots_rules_of_this_program_go_before_those_for_all() -> None:
    robots = websites.parse_robots(
        "User-agent: other\nDisallow: /\n\nUser-agent: chatsvc # us\nUser-agent: more\nDisallow: /a\nAllow: /a/b\nDisallow: /*.php$\n"
        "Disallow: /ş\nCrawl-delay: 99\nUser-agent: *\nDisallow: /\nSitemap: https://a.example/map.xml"
    )
    allowed = {path: robots.allows(f"https://a.example{path}") for path in ("/", "/a", "/a/b/c", "/x.php", "/x.php?1", "/%C5%9F1", "/a?b")}
    assert allowed == {"/": True, "/a": False, "/a/b/c": True, "/x.php": False, "/x.php?1": True, "/%C5%9F1": False, "/a?b": False}
    assert (robots.delay_s, robots.sitemaps) == (10.0, ["https://a.example/map.xml"])
    assert not websites.parse_robots("User-agent: *\nDisallow: /").allows("https://a.example/x")
    assert websites.parse_robots("<html>").allows("https://a.example/x")
    stars = websites.parse_robots("User-agent: *\nDisallow: /" + "*a" * 2_000 + "$")
    assert stars.allows("https://a.example/" + "a" * 1_000)


def test_addresses_have_one_spelling_and_one_host() -> None:
    base = "https://a.example/shop/"
    for link, expected in {
        "x": "https://a.example/shop/x",
        "/y?utm_source=z&b=1#top": "https://a.example/y?b=1",
        "HTTP://A.example/z": "https://a.example/z",
        "https://b.example/": None,
        "mailto:a@a.example": None,
        "/photo.JPG": None,
        "//[": None,
        "/" + "x" * 600: None,
    }.items():
        assert websites.page_address(base, link) == expected
    site = Site("", "", base, ["/shop/*"], ["*/old/*"], 1, 0, review=True)
    assert [websites.is_wanted(site, base + path) for path in ("x", "old/y")] == [True, False]
    assert not websites.is_wanted(site, "https://a.example/y")
