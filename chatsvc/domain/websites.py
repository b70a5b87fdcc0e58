"""Websites that are read as knowledge: their records, robots.txt, sitemaps, links, and entries made from pages. No I/O."""

import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from html import unescape
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

from chatsvc import translations
from chatsvc.domain import times
from chatsvc.domain.folding import primary
from chatsvc.domain.knowledge_files import documents, page_lines
from chatsvc.domain.knowledge_files.parsed import MAX_ANSWER, MAX_PHRASING, Gathering, KnowledgeFileError, is_language
from chatsvc.domain.models import Entry

STATES = ("idle", "reading", "review", "failed")
MOST_PAGES = 200  # of a site, unless its owner says otherwise
EVERY_DAYS = 7
MAX_PAGES, MAX_DAYS = 2_000, 365  # that an owner may say
AGENT = "chatsvc"
# Budget of one reading: what a site may cost, whatever it sends.
MOST_LINKS = 10_000  # addresses that are kept
MOST_LINES = 500_000  # of text
MOST_CONTENT = 64 * 1024 * 1024  # bytes of all pages, as they are kept
MOST_RULES = 1_000  # of a robots.txt, for this program
MOST_SITEMAPS = 20
MOST_ATTEMPTS = 2  # readings that may end with the process
_LONGEST_LINK = 2_000
_LONGEST_URL = 500  # as that of an entry's source
_MOST_DELAY_S = 10.0

_OTHER_KIND = re.compile(
    r"\.(?:jpe?g|png|gif|webp|svg|ico|css|js|mjs|json|xml|rss|atom|pdf|docx?|xlsx?|pptx?|zip|gz|rar|mp[34]|avi|mov|webm|woff2?|ttf|exe|ics)$",
    re.IGNORECASE,
)
_LOCATION = re.compile(r"<(?:\w{1,20}:)?loc>([^<]*)(?:<!\[CDATA\[([^\]<]*))?", re.IGNORECASE)
_DAYS = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su", "Pu")  # of schema.org; "Pu" is PublicHolidays
_SHORT_HOURS = re.compile(r"((?:Mo|Tu|We|Th|Fr|Sa|Su)(?:[-,](?:Mo|Tu|We|Th|Fr|Sa|Su))*)\s+(\d\d?:\d\d)(?::\d\d)?\s*-\s*(\d\d?:\d\d)")


class Site(NamedTuple):
    """A website of a bot. `read_at` is the end of the last reading. `changes` has the counts in its draft or last applied draft."""

    id: str
    bot_id: str
    url: str
    include: Sequence[str]
    exclude: Sequence[str]
    max_pages: int
    every_days: int
    review: bool
    state: str = "reading"
    reason: str | None = None
    started_at: int = 0
    read_at: int | None = None
    done: int = 0
    of: int = 0
    changes: Mapping[str, int] = {}


class SitePage(NamedTuple):
    """A page of a site. `content` is its packed content; if it is None and `has_content` is true, the stored content is kept."""

    url: str
    state: str
    reason: str | None = None
    entries: int = 0
    read_at: int = 0
    etag: str | None = None
    modified: str | None = None
    digest: bytes = b""
    has_content: bool = False
    content: bytes | None = None


class SiteEntry(NamedTuple):
    """An entry made from a site, identified by page and key. `entry_id` is the id of the stored entry, or "" for a new one."""

    page: str
    key: str
    question: str
    answer: str
    language: str
    alt: Sequence[str] = ()
    entry_id: str = ""


class SiteDifference(NamedTuple):
    """Difference between a bot's knowledge and a new reading of its site. `kept` are entries that a person edited, with the site's text."""

    added: list[SiteEntry]
    changed: list[tuple[Entry, SiteEntry]]
    removed: list[Entry]
    kept: list[tuple[Entry, SiteEntry | None]]

    @property
    def counts(self) -> dict[str, int]:
        return {name: len(getattr(self, name)) for name in self._fields}


class Robots(NamedTuple):
    """Rules of a robots.txt for this program (RFC 9309). Each rule is a flag, which is true if paths are allowed, and a pattern."""

    rules: Sequence[tuple[bool, str]] = ()
    sitemaps: Sequence[str] = ()
    delay_s: float = 0.0

    def allows(self, url: str) -> bool:
        """Return whether a page may be read. The longest matching pattern decides. If two are equally long, allowing wins."""
        parts = urlsplit(url)
        path = unquote(parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return max(((len(pattern), allowed) for allowed, pattern in self.rules if _fits(path, pattern)), default=(0, True))[1]


def _fits(path: str, pattern: str) -> bool:
    """Return whether a path matches a pattern of robots.txt with `*` and a final `$`. There is no backtracking."""
    first, *others = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    position = len(first)
    for index, part in enumerate(others):
        if pattern.endswith("$") and index == len(others) - 1:
            return len(path) - position >= len(part) and path.endswith(part)
        position = path.find(part, position)
        if position < 0:
            return False
        position += len(part)
    return not pattern.endswith("$") or position == len(path)


def parse_robots(text: str) -> Robots:
    """Parse a robots.txt. The groups for all programs apply if this program has none. With more than MOST_RULES rules, all is forbidden."""
    rules: dict[str, list[tuple[bool, str]]] = {"*": []}
    delays: dict[str, float] = {}
    sitemaps: list[str] = []
    agents: set[str] = set()
    in_rules = False
    for line in text.splitlines():
        name, _, value = (part.strip() for part in line.partition("#")[0].partition(":"))
        name = name.lower()
        if name == "user-agent":
            agents = set() if in_rules else agents
            in_rules = False
            if value.lower() in {"*", AGENT}:
                agents.add(value.lower())
                rules.setdefault(value.lower(), [])
        elif name in {"allow", "disallow", "crawl-delay"}:
            in_rules = True
            for agent in agents:
                if name == "crawl-delay":
                    delays[agent] = min(float(value), _MOST_DELAY_S) if re.fullmatch(r"\d{1,4}(\.\d+)?", value) else 0.0
                # With more text than an address can have, a pattern fits none.
                elif 0 < len(pattern := re.sub(r"\*+", "*", unquote(value))) <= 2 * _LONGEST_URL + 2:
                    rules[agent].append((name == "allow", pattern))
        elif name == "sitemap" and len(sitemaps) < MOST_SITEMAPS and len(value) <= _LONGEST_LINK:
            sitemaps.append(value)
    own = AGENT if AGENT in rules else "*"
    if len(rules[own]) > MOST_RULES:
        return Robots([(False, "/")], (), 0.0)
    return Robots(rules[own], sitemaps, delays.get(own, 0.0))


def parse_sitemap(text: str) -> tuple[bool, Iterable[str]]:
    """Return a flag and the addresses in a sitemap. The flag is true if these are other sitemaps. Plain lists of addresses are accepted."""
    if "<" not in text[:1000]:
        return False, filter(None, map(str.strip, text.splitlines()))
    addresses = (match[1].strip() or (match[2] or "").strip() for match in _LOCATION.finditer(text))
    return "<sitemapindex" in text[:5000].lower(), (unescape(address) for address in addresses if 0 < len(address) <= _LONGEST_LINK)


def joined(base: str, link: str) -> str:
    """Return the absolute address of a link on the page `base`, or "" if it is invalid."""
    try:
        return urljoin(base, link)
    except ValueError:
        return ""


def page_address(base: str, link: str) -> str | None:
    """Return the normalised address of a linked page of the same host. Return None for other hosts, and for links to other files."""
    if len(link) > _LONGEST_LINK:
        return None
    try:
        parts, own = urlsplit(urljoin(base, link.strip())), urlsplit(base)
        if parts.scheme not in {"http", "https"} or parts.netloc.lower() != own.netloc.lower() or _OTHER_KIND.search(parts.path):
            return None
    except ValueError:
        return None
    query = "&".join(pair for pair in parts.query.split("&") if pair and not pair.startswith(("utm_", "fbclid=", "gclid=")))
    # A sitemap that still has http addresses means the pages of the site's own scheme.
    address = urlunsplit((own.scheme, own.netloc.lower(), parts.path or "/", query, ""))
    return address if len(address) <= _LONGEST_URL and address.isprintable() and " " not in address else None


def www_twin(host: str) -> str | None:
    """Return a host name with "www." added, or removed if it is there. Return None for an IP address."""
    if host.rpartition(".")[2].isdigit() or ":" in host:
        return None
    return host.removeprefix("www.") if host.startswith("www.") else f"www.{host}"


def page_of(entry: Entry) -> str | None:
    """Return the web page from which an entry comes, or None if it comes from a file or a person."""
    return entry.source if entry.source and entry.source.startswith(("https://", "http://")) else None


def is_wanted(site: Site, url: str) -> bool:
    """Return whether a page's path matches the site's patterns."""
    path = unquote(urlsplit(url).path)
    included = not site.include or any(fnmatchcase(path, pattern) for pattern in site.include)
    return included and not any(fnmatchcase(path, pattern) for pattern in site.exclude)


def entries_of(pages: Sequence[tuple[str, Mapping[str, Any]]], language: str) -> list[SiteEntry]:
    """Make entries from all pages, without lines that most of them have. Each page is its address and its content."""
    counts = Counter(line for _, content in pages for line in {text for kind, text in content["lines"] if kind == "line"})
    repeated = {line for line, count in counts.items() if line and len(pages) > 3 and count * 2 > len(pages)}
    entries: list[SiteEntry] = []
    texts: set[tuple[str, str]] = set()  # a text that two pages have is one entry
    for url, content in pages:
        keys: Counter[str] = Counter()
        for entry in _entries_of_page(url, content, repeated, language):
            if (entry.question, entry.answer) not in texts:
                texts.add((entry.question, entry.answer))
                keys[entry.key] += 1
                entries.append(entry if keys[entry.key] == 1 else entry._replace(key=f"{entry.key}#{keys[entry.key]}"))
    return entries


def _entries_of_page(url: str, content: Mapping[str, Any], repeated: set[str], default: str) -> Iterable[SiteEntry]:
    declared = content["language"] or ""
    language = primary(declared) if is_language(declared) else default
    gathering, sections = Gathering("", default_language=language), documents.Sections()
    page_lines.replay(content["lines"], sections, repeated, content["title"])
    for question, answer in (*content["questions"], *_facts(content["facts"], language)):
        gathering.entry(1, question, (), answer, language, once=False)
    keys: list[str] = []
    with suppress(KnowledgeFileError):  # too many faults or entries: the rest of the page is left out
        documents.take_labelled(gathering, sections, language)
        keys = [entry.question for entry in gathering.entries]
        for passage in sections.passages():
            keys.append(passage.key)
            gathering.entry(1, passage.question or content["title"], (), passage.text, language, once=False)
    for key, entry in zip(keys, gathering.entries, strict=False):
        is_text = any(map(str.isalnum, entry.answer)) and any(map(str.isalpha, entry.question))
        if is_text and len(entry.question) <= MAX_PHRASING and len(entry.answer) <= MAX_ANSWER:
            yield SiteEntry(url, key, entry.question, entry.answer, language, entry.alt)


def _facts(businesses: Sequence[Mapping[str, Any]], language: str) -> Iterable[tuple[str, str]]:
    """Yield questions and answers on the opening hours and contact data in a page's structured data."""
    language = language if language in times.DAYS else "en"
    words = {name: str(texts[language]) for name, texts in translations.section("site_facts").items()}
    days = (*times.DAYS[language], words["holidays"])
    for business in businesses:
        name = f"{business['name']}: " if business.get("name") else ""
        if lines := [f"{days[day]}: {hours or words['closed']}" for day, hours in _hours(business.get("hours", ()))]:
            yield f"{name}{words['hours']}", "\n".join(lines)
        if lines := [f"{words[kind]}: {business[kind]}" for kind in ("telephone", "email", "address") if business.get(kind)]:
            yield f"{name}{words['contact']}", "\n".join(lines)


def _hours(given: Sequence[Any]) -> list[tuple[int, str]]:
    """Return days (Monday is 0) with their hours. An entry of `given` is a text ("Mo-Fr 09:00-18:00"), or days with both times."""
    spans: list[tuple[Sequence[str], str, str]] = []
    for entry in given:
        spans += [(days.split(","), *times) for days, *times in _SHORT_HOURS.findall(entry)] if isinstance(entry, str) else [entry]
    hours: dict[int, list[str]] = {}
    for days, opens, closes in spans:
        # Each is a day ("Monday", "Mo"), or the first and the last of some ("Mo-Fr").
        edges = [(day[:2], day.rpartition("-")[2][:2]) for day in days]
        for start, end in [(_DAYS.index(first), _DAYS.index(last)) for first, last in edges if {first, last} <= {*_DAYS}]:
            for day in range(start, end + 1) if end >= start else (*range(start, 7), *range(end + 1)):
                hours.setdefault(day, []).extend([f"{opens[:5]}-{closes[:5]}"] if opens and opens[:5] != closes[:5] else [])
    return [(day, ", ".join(times)) for day, times in sorted(hours.items())]


def adopted(new: Sequence[SiteEntry], applied: Sequence[SiteEntry], current: Mapping[str, Entry]) -> list[SiteEntry]:
    """Return the applied entries, and stored entries with the page and question of a new entry. Such entries may come from an import."""
    known, taken = {(entry.page, entry.key) for entry in applied}, {entry.entry_id for entry in applied}
    there = {(entry.source, entry.question): entry for entry in current.values() if entry.source and entry.id not in taken}
    twins = [(row, there.pop((row.page, row.question), None)) for row in new if (row.page, row.key) not in known] if there else []
    return [*applied, *(row._replace(entry_id=twin.id, answer=twin.answer) for row, twin in twins if twin)]


def difference(new: Sequence[SiteEntry], applied: Sequence[SiteEntry], current: Mapping[str, Entry]) -> SiteDifference:
    """Compare a new reading of a site with the applied and the stored entries. Entries that a person removed are not added again."""
    result = SiteDifference([], [], [], [])
    before = {(row.page, row.key): row for row in adopted(new, applied, current)}
    for site_entry in new:
        row = before.pop((site_entry.page, site_entry.key), None)
        if row is None:
            result.added.append(site_entry)
        elif (entry := current.get(row.entry_id)) and (row.question, row.answer) != (site_entry.question, site_entry.answer):
            (result.kept if _is_edited(entry, row) else result.changed).append((entry, site_entry))
    left = [(entry, row) for row in before.values() if (entry := current.get(row.entry_id))]
    result.kept.extend((entry, None) for entry, row in left if _is_edited(entry, row))
    result.removed.extend(entry for entry, row in left if not _is_edited(entry, row))
    return result


def changed_entries(entries: Sequence[Entry], new: Sequence[SiteEntry], applied: Sequence[SiteEntry]) -> list[Entry]:
    """Return a bot's entries as they would be after a new reading of a site is applied."""
    changes = difference(new, applied, {entry.id: entry for entry in entries})
    changed = {entry.id: entry._replace(question=row.question, answer=row.answer) for entry, row in changes.changed}
    removed = {entry.id for entry in changes.removed}
    left = [changed.get(entry.id, entry) for entry in entries if entry.id not in removed]
    return [*left, *(Entry(f"new {nth}", row.question, tuple(row.alt), row.answer, row.language) for nth, row in enumerate(changes.added))]


def edited(applied: Sequence[SiteEntry], current: Mapping[str, Entry]) -> list[tuple[Entry, SiteEntry]]:
    """Return each stored entry that a person has edited, with the applied entry, which has the site's text."""
    return [(entry, row) for row in applied if (entry := current.get(row.entry_id)) and _is_edited(entry, row)]


def _is_edited(entry: Entry, row: SiteEntry) -> bool:
    return (entry.question, entry.answer) != (row.question, row.answer)


def pack(value: Any) -> bytes:
    """Serialise and compress the content of a page or a draft."""
    return zlib.compress(json.dumps(value, ensure_ascii=False).encode(), 1)


def unpack(packed: bytes) -> Any:
    """Return the value that `pack` has serialised; raises ValueError if it is larger than MOST_CONTENT."""
    stream = zlib.decompressobj()
    text = stream.decompress(packed, MOST_CONTENT)
    if not stream.eof:
        raise ValueError("the packed text is too long")
    return json.loads(text)
