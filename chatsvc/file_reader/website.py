"""Pages of websites as headings, lines, links and data."""

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from chatsvc.domain.knowledge_files.parsed import NO_TEXT, one_line
from chatsvc.file_reader import page_tree
from chatsvc.file_reader.html import page_lines

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


def read(data: bytes, charset: str) -> dict[str, Any]:
    """Return what `domain.websites` makes entries of, with `links` and, where nothing can be read, `reason`."""
    tree = LexborHTMLParser(_UNSEEN.sub("", NO_TEXT.sub("\ufffd", _decoded(data, charset))))
    root, body = tree.root, tree.body
    found: dict[str, Any] = {"title": "", "language": None, "links": [], "lines": [], "questions": [], "facts": [], "reason": None}
    if root is None or body is None:
        return {**found, "reason": "no_text"}
    title = tree.css_first("head > title")
    found["title"], found["language"] = one_line(title.text() if title else ""), (root.attributes.get("lang") or "").strip() or None
    robots = " ".join((one.attributes.get("content") or "").lower() for one in tree.css("meta[name=robots i]"))
    base = tree.css_first("base[href]")
    found["base"] = base.attributes.get("href") if base else None
    if "nofollow" not in robots and "none" not in robots:
        found["links"] = list(_links(tree))[:_MOST_LINKS]
    if "noindex" in robots or "none" in robots:
        return {**found, "reason": "noindex"}
    _read_data(tree, found)
    filled_by_script = _is_filled_by_script(tree)
    page_tree.leave_out_chrome(tree)
    page_tree.rewrite(tree)
    found["lines"] = [(kind, value) for kind, value, _ in page_lines(body)]
    written = sum(len(value) for kind, value in found["lines"] if kind == "line")
    if written < _FEW and filled_by_script:
        found["reason"] = "needs_javascript"
    elif not written and not found["questions"] and not found["facts"]:
        found["reason"] = "no_text"
    return found


def _decoded(data: bytes, charset: str) -> str:
    """Decode a page: byte order mark, the header's charset, the page's own, UTF-8, then what old pages are written in."""
    said = _CHARSET.search(data, 0, 4096)
    marked = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else ""
    old = "cp1254" if any(byte in _TURKISH for byte in data[:100_000]) else "cp1252"
    for name in (marked, charset, said[1].decode() if said else "", "utf-8-sig"):
        try:
            known = codecs.lookup(name).name if name else ""
            if known and (marked or not known.startswith("utf-16")):
                known = "utf-8-sig" if known == "utf-8" else _ALIASES.get(known, known)
                return data.decode(known, "strict" if known == "utf-8-sig" else "replace")
        except (LookupError, UnicodeDecodeError, ValueError):
            continue
    return data.decode(old, "replace")


def _links(tree: LexborHTMLParser) -> Iterator[str]:
    for one in tree.css("a[href]"):
        link = one.attributes["href"]
        if link and "nofollow" not in (one.attributes.get("rel") or ""):
            yield link


def _is_filled_by_script(tree: LexborHTMLParser) -> bool:
    told = " ".join(one.text() for one in tree.css("noscript")).lower()
    return bool(tree.css("script")) and bool(tree.css(_ROOTS) or "javascript" in told)


def _read_data(tree: LexborHTMLParser, found: dict[str, Any]) -> None:
    """Read questions and the data of businesses from schema.org's JSON-LD, and contact data from links."""
    for script in tree.css("script[type='application/ld+json' i]"):
        try:
            value = json.loads(script.text(), strict=False)
        except (ValueError, RecursionError):
            continue
        for node in _nodes(value):
            kinds = _list(node.get("@type"))
            if _QUESTIONS.intersection(kind for kind in kinds if isinstance(kind, str)):
                found["questions"] += [pair for pair in map(_question, _list(node.get("mainEntity"))) if pair][:_MOST_QUESTIONS]
            elif fact := _business(node):
                found["facts"].append(fact)
    if not any(fact.get("telephone") or fact.get("email") for fact in found["facts"]):
        told = {kind: _linked(tree, scheme) for kind, scheme in (("telephone", "tel:"), ("email", "mailto:"))}
        footer = [line.value for one in tree.css(_FOOTERS)[-_MOST_FOOTERS:] for line in page_lines(one) if line.kind == "line"]
        for name, form in _CONTACTS.items():
            told[name] = told.get(name) or ", ".join(dict.fromkeys(match[0] for match in map(form.search, footer) if match))
        if any(told.values()):
            found["facts"].append(told)


def _linked(tree: LexborHTMLParser, scheme: str) -> str:
    links = [(one.attributes.get("href") or "")[len(scheme) :].partition("?")[0] for one in tree.css(f"a[href^='{scheme}' i]")]
    return ", ".join(
        dict.fromkeys(one_line(link.replace("%20", " ")) for link in links[:3] if link and not link.lower().startswith("webmaster@"))
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    waiting, seen = [value], 0
    while waiting and seen < _MOST_NODES:
        one = waiting.pop(0)
        seen += 1
        if isinstance(one, dict):
            yield one
            waiting += [inner for inner in one.values() if isinstance(inner, dict | list)]
        elif isinstance(one, list):
            waiting += one[:_MOST_NODES]


def _plain(value: Any) -> str:
    """Return a text without its tags, one paragraph a line."""
    if not isinstance(value, str | int | float):
        return ""
    return "\n".join(line.value for line in page_lines(LexborHTMLParser(str(value)).body) if line.kind == "line" and line.value)


def _question(value: Any) -> tuple[str, str] | None:
    if not isinstance(value, dict):
        return None
    answers = [one for one in (*_list(value.get("acceptedAnswer")), *_list(value.get("suggestedAnswer"))) if isinstance(one, dict)]
    pair = one_line(_plain(value.get("name") or value.get("text"))), _plain(answers[0].get("text")) if answers else ""
    return pair if all(pair) else None


def _business(node: dict[str, Any]) -> dict[str, Any] | None:
    if not any(node.get(name) for name in ("telephone", "email", "address", *_LISTS)):
        return None
    address = node.get("address")
    if isinstance(address, dict):
        parts = ("streetAddress", "postalCode", "addressLocality", "addressRegion", "addressCountry")
        address = ", ".join(filter(None, (one_line(_plain(address.get(part))) for part in parts)))
    hours: list[Any] = [one for one in _list(node.get("openingHours")) if isinstance(one, str)]
    for one in _list(node.get("openingHoursSpecification")):
        if isinstance(one, dict) and not one.get("validFrom"):
            days = [day.rsplit("/", 1)[-1] for day in _list(one.get("dayOfWeek")) if isinstance(day, str)]
            hours.append([days, _plain(one.get("opens")), _plain(one.get("closes"))])
    texts = {name: one_line(_plain(node.get(name))) for name in ("name", "telephone", "email")}
    return {**texts, "address": one_line(_plain(address)), "hours": hours[:50]}
