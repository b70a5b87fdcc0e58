"""Reading of a website's files in the child process. The files are robots.txt, sitemaps and pages; each request has a limit of links.

A page is converted to headings, lines, links and structured data.
"""

import base64
import codecs
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser

from chatsvc.domain import websites
from chatsvc.domain.knowledge_files.parsed import NO_TEXT, one_line
from chatsvc.domain.websites import Robots, Site
from chatsvc.file_reader import page_tree
from chatsvc.file_reader.html import page_lines

MOST_UNPACKED = 2 * 1024 * 1024  # bytes of a sitemap
MOST_PAGE_LINES = 20_000
_MOST_PAGE = 4 * 1024 * 1024  # bytes of a page's content
_GZIP = b"\x1f\x8b"

CODECS = ("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1256", "iso8859-2", "iso8859-5", "iso8859-7", "iso8859-15", "koi8-r")
_ALIASES = {"iso8859-9": "cp1254", "iso8859-1": "cp1252", "ascii": "cp1252"}  # as browsers read them
_CHARSET = re.compile(rb"""<meta[^>]{1,200}charset\s*=\s*["']?([A-Za-z0-9_:.-]{2,40})""", re.IGNORECASE)
_UNSEEN = re.compile("[\u200b\ufeff\u00ad]")
_TURKISH = frozenset(b"\xd0\xdd\xde\xf0\xfd\xfe")
_ROOTS = "#root, #app, #__next, #__nuxt, app-root"
_FEW = 200  # characters of a page that a script fills in
_MOST_LINKS, _MOST_NODES, _MOST_QUESTIONS = 5_000, 5_000, 1_000
_FOOTERS, _MOST_FOOTERS = "footer, address, [role=contentinfo], [class*=footer i], [id*=footer i]", 20
# What a footer says of how to reach a business. An address has a number, and a word such as street.
_STREETS = (
    r"street|st\.|road|rd\.|lane|avenue|ave\.|square|quay"
    r"|cadde\w*|cad\.|sokak|sokağı|sok\.|sk\.|bulvarı?|mahallesi|mah\.|sitesi|köyü|meydanı"
)
_CONTACTS = {
    "email": re.compile(r"(?!webmaster@)[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,63}){1,4}", re.IGNORECASE),
    "telephone": re.compile(r"(?:\+|\(?0|\(\d)[\d ()/-]{8,20}\d"),
    "address": re.compile(rf"^(?=.*\b(?:{_STREETS})(?!\w))(?=.*\d)[^@]{{8,120}}$", re.IGNORECASE),
}
_QUESTIONS = frozenset({"FAQPage", "QAPage"})
_LISTS = ("openingHours", "openingHoursSpecification")


class SiteFiles:
    """Reader of one website's files. `request` has `url`, `include`, `exclude`, the `rules` of robots.txt and the limit of `links`."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._site = Site("", "", request["url"], request["include"], request["exclude"], 0, 0, review=False)
        self._robots = Robots(request["rules"])
        self._most_links = request["links"]
        self._seen: set[str] = set()

    def read(self, kind: str, data: bytes, name: str, charset: str) -> dict[str, Any]:
        """Read one file of the site. For a page, return its packed content, its number of lines, and its links as pairs (see `_wanted`)."""
        if kind == "robots":
            return websites.parse_robots(data.decode("utf-8", "replace"))._asdict()
        if kind == "sitemap":
            if data.startswith(_GZIP):
                data = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(data, MOST_UNPACKED)
            is_index, addresses = websites.parse_sitemap(data.decode("utf-8", "replace"))
            if not is_index:
                return {"maps": [], "links": self._wanted(addresses)}
            # Only sitemaps of the same host are read: an index may name thousands of others.
            own = (address for address in addresses if address.startswith(urljoin(self._site.url, "/")))
            return {"maps": [*islice(own, websites.MOST_SITEMAPS)], "links": []}
        if kind == "stored":
            return {"links": self._page_links(name, websites.unpack(data))}
        content = read(data, charset)
        lines, packed = len(content["lines"]), websites.pack(content)
        if lines > MOST_PAGE_LINES or len(packed) > _MOST_PAGE:
            return {"reason": "too_large", "links": [], "lines": 0, "content": None}
        text, encoded = sum(len(value) for _, value in content["lines"] if isinstance(value, str)), base64.b64encode(packed).decode()
        return {"reason": content["reason"], "links": self._page_links(name, content), "lines": lines, "text": text, "content": encoded}

    def _page_links(self, name: str, content: dict[str, Any]) -> list[tuple[str, bool]]:
        base = websites.joined(name, content.get("base") or "")
        return self._wanted(websites.joined(base, link) for link in content["links"])

    def _wanted(self, links: Iterable[str]) -> list[tuple[str, bool]]:
        """Return pairs of a new link to a page of the site, and whether robots.txt allows it. Links returned earlier are left out."""
        wanted: list[tuple[str, bool]] = []
        for link in links:
            if len(self._seen) >= self._most_links:
                break
            url = websites.page_address(self._site.url, link)
            if url and url not in self._seen and websites.is_wanted(self._site, url):
                self._seen.add(url)
                wanted.append((url, self._robots.allows(url)))
        return wanted


def read(data: bytes, charset: str) -> dict[str, Any]:
    """Convert a page to content, from which `domain.websites` makes entries. If the page cannot be read, `reason` in it says why."""
    tree = LexborHTMLParser(_UNSEEN.sub("", NO_TEXT.sub("\ufffd", _decoded(data, charset))))
    root, body = tree.root, tree.body
    content: dict[str, Any] = {"title": "", "language": None, "links": [], "lines": [], "questions": [], "facts": [], "reason": None}
    if root is None or body is None:
        return {**content, "reason": "no_text"}
    title = tree.css_first("head > title")
    content["title"], content["language"] = one_line(title.text() if title else ""), (root.attributes.get("lang") or "").strip() or None
    robots = " ".join((node.attributes.get("content") or "").lower() for node in tree.css("meta[name=robots i]"))
    base = tree.css_first("base[href]")
    content["base"] = base.attributes.get("href") if base else None
    if "nofollow" not in robots and "none" not in robots:
        links = (node.attributes["href"] for node in tree.css("a[href]") if "nofollow" not in (node.attributes.get("rel") or ""))
        content["links"] = [link for link in links if link][:_MOST_LINKS]
    if "noindex" in robots or "none" in robots:
        return {**content, "reason": "noindex"}
    _read_data(tree, content)
    for_browsers_without = " ".join(node.text() for node in tree.css("noscript")).lower()
    is_filled_by_script = bool(tree.css("script")) and bool(tree.css(_ROOTS) or "javascript" in for_browsers_without)
    page_tree.rewrite(tree, is_site=True)
    content["lines"] = [(kind, value) for kind, value, _ in page_lines(body)]
    written = sum(len(value) for kind, value in content["lines"] if kind == "line")
    if written < _FEW and is_filled_by_script:
        content["reason"] = "needs_javascript"
    elif not written and not content["questions"] and not content["facts"]:
        content["reason"] = "no_text"
    return content


def _decoded(data: bytes, charset: str) -> str:
    """Decode a page's bytes. Try the byte order mark, the charsets of HTTP header and page, UTF-8, then a Windows charset."""
    declared = _CHARSET.search(data, 0, 4096)
    marked = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else ""
    old = "cp1254" if any(byte in _TURKISH for byte in data[:100_000]) else "cp1252"
    for name in (marked, charset, declared[1].decode() if declared else "", "utf-8-sig"):
        try:
            known = codecs.lookup(name).name if name else ""
            if known and (marked or not known.startswith("utf-16")):
                known = "utf-8-sig" if known == "utf-8" else _ALIASES.get(known, known)
                return data.decode(known, "strict" if known == "utf-8-sig" else "replace")
        except (LookupError, UnicodeDecodeError, ValueError):
            continue
    return data.decode(old, "replace")


def _read_data(tree: LexborHTMLParser, content: dict[str, Any]) -> None:
    """Add a page's questions and business data (schema.org's JSON-LD) to `content`. Without contact data, read links and footers."""
    for script in tree.css("script[type='application/ld+json' i]"):
        try:
            value = json.loads(script.text(), strict=False)
        except (ValueError, RecursionError):
            continue
        for node in _nodes(value):
            if _QUESTIONS.intersection(kind for kind in _list(node.get("@type")) if isinstance(kind, str)):
                content["questions"] += [pair for pair in map(_question, _list(node.get("mainEntity"))) if pair][:_MOST_QUESTIONS]
            elif fact := _business(node):
                content["facts"].append(fact)
    if not any(fact.get("telephone") or fact.get("email") for fact in content["facts"]):
        linked = {"telephone": _linked(tree, "tel:"), "email": _linked(tree, "mailto:")}
        footer = [line.value for node in tree.css(_FOOTERS)[-_MOST_FOOTERS:] for line in page_lines(node) if line.kind == "line"]
        fact = {
            name: linked.get(name) or ", ".join(dict.fromkeys(match[0] for match in map(form.search, footer) if match))
            for name, form in _CONTACTS.items()
        }
        if any(fact.values()):
            content["facts"].append(fact)


def _linked(tree: LexborHTMLParser, scheme: str) -> str:
    links = [(node.attributes.get("href") or "")[len(scheme) :].partition("?")[0] for node in tree.css(f"a[href^='{scheme}' i]")]
    shown = (one_line(link.replace("%20", " ")) for link in links[:3] if link and not link.lower().startswith("webmaster@"))
    return ", ".join(dict.fromkeys(shown))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    waiting, seen = [value], 0
    while waiting and seen < _MOST_NODES:
        node = waiting.pop(0)
        seen += 1
        if isinstance(node, dict):
            yield node
            waiting += [inner for inner in node.values() if isinstance(inner, dict | list)]
        elif isinstance(node, list):
            waiting += node[:_MOST_NODES]


def _plain(value: Any) -> str:
    """Return the text of an HTML value without its tags, with each paragraph on a line."""
    if not isinstance(value, str | int | float):
        return ""
    return "\n".join(line.value for line in page_lines(LexborHTMLParser(str(value)).body) if line.kind == "line" and line.value)


def _question(value: Any) -> tuple[str, str] | None:
    if not isinstance(value, dict):
        return None
    given = (*_list(value.get("acceptedAnswer")), *_list(value.get("suggestedAnswer")))
    answers = [answer for answer in given if isinstance(answer, dict)]
    pair = one_line(_plain(value.get("name") or value.get("text"))), _plain(answers[0].get("text")) if answers else ""
    return pair if all(pair) else None


def _business(node: dict[str, Any]) -> dict[str, Any] | None:
    if not any(node.get(name) for name in ("telephone", "email", "address", *_LISTS)):
        return None
    address = node.get("address")
    if isinstance(address, dict):
        parts = ("streetAddress", "postalCode", "addressLocality", "addressRegion", "addressCountry")
        address = ", ".join(filter(None, (one_line(_plain(address.get(part))) for part in parts)))
    hours: list[Any] = [text for text in _list(node.get("openingHours")) if isinstance(text, str)]
    for span in _list(node.get("openingHoursSpecification")):
        if isinstance(span, dict) and not span.get("validFrom"):
            days = [day.rsplit("/", 1)[-1] for day in _list(span.get("dayOfWeek")) if isinstance(day, str)]
            hours.append([days, _plain(span.get("opens")), _plain(span.get("closes"))])
    texts = {name: one_line(_plain(node.get(name))) for name in ("name", "telephone", "email")}
    return {**texts, "address": one_line(_plain(address)), "hours": hours[:50]}
