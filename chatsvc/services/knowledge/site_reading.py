"""Reading of websites in the background: fetch page by page, parse in a child process, compare, and keep the draft or apply it.

The pages that were fetched are saved as they come, so that a reading that was interrupted goes on where it was. The knowledge changes
only in the one transaction that applies a draft.
"""

import asyncio
import hashlib
import logging
import uuid
from collections import deque
from typing import Any
from urllib.parse import urljoin

from chatsvc import background
from chatsvc.domain import websites
from chatsvc.domain.actors import EVERYTHING, Actor, Caller
from chatsvc.domain.knowledge_changes import ChangeOrigin
from chatsvc.domain.models import Bot
from chatsvc.domain.websites import Robots, Site, SiteEntry, SitePage
from chatsvc.outbound.website import FetchedPage, FetchFailed, unpacked
from chatsvc.services.knowledge import file_reading, knowledge_work
from chatsvc.services.services import Services
from chatsvc.store import knowledge
from chatsvc.store import sites as stored
from chatsvc.store.database import StoreUnavailable
from chatsvc.store.sites import SiteOutcome

log = logging.getLogger(__name__)

PAUSE_S = 1.0  # between two requests to a site
AT_A_TIME = 4  # sites
BATCH, BATCH_BYTES = 50, 8 * 1024 * 1024  # pages that are parsed and saved together, each time in a process of their own
_TOLD = 10  # pages between two reports of progress
_MOST_SITEMAPS = 20
_DAY_MS = 86_400_000
_PAGES = frozenset({"text/html", "application/xhtml+xml", ""})
_ACTOR = Actor("user", "", "website")


class _ReadingFailed(Exception):
    """A reading ends without a draft; `code` says why."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class SiteReadings:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._slots = asyncio.Semaphore(AT_A_TIME)
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, site_id: str) -> asyncio.Task[None]:
        """Start a reading whose site says that it is being read, unless it runs."""
        task = self._tasks.get(site_id)
        if task is None or task.done():
            task = self._tasks[site_id] = background.start("reading of a website", self._run(site_id))
        return task

    async def look(self) -> None:
        """Start the readings that are due or were interrupted; raises StoreUnavailable."""
        for site_id, state in await stored.wanted(self._services.db, self._services.clock()):
            if state != "reading":
                await stored.begin(self._services.db, site_id, self._services.clock())
            self.start(site_id)
        self._tasks = {site_id: task for site_id, task in self._tasks.items() if not task.done()}

    async def _run(self, site_id: str) -> None:
        async with self._slots:
            if not await self._services.leases.hold(f"website {site_id}"):
                return  # another process reads it
            try:
                site = await stored.find(self._services.db, site_id)
                if site and site.state == "reading":
                    await _Reading(self._services, site).run()
            except StoreUnavailable as fault:
                log.error("the reading of a website is interrupted: %s", fault)

    async def close(self) -> None:
        """Interrupt the readings; the next start continues them."""
        await background.cancel(*self._tasks.values())


class _Reading:
    def __init__(self, services: Services, site: Site) -> None:
        self._services, self._site = services, site
        self._known: dict[str, SitePage] = {}  # pages of earlier readings, and those that this one has read
        self._waiting: deque[str] = deque()
        self._found: set[str] = set()  # addresses that wait or were looked at
        self._done = 0
        self._pause_s, self._next_at = PAUSE_S, 0.0
        self._robots = Robots()
        self._follows_links = True

    async def run(self) -> None:
        """Read the site and write the outcome."""
        services, site = self._services, self._site
        counts: dict[str, int] | None = None
        try:
            self._known = {page.url: page for page in await stored.pages(services.db, site.id, contents=True)}
            await self._look_for_pages()
            await self._read_pages()
            outcome, counts = await self._compared()
        except _ReadingFailed as failure:
            outcome = SiteOutcome("failed", failure.code, site.changes)
        except knowledge_work.WorkFailed as fault:
            log.error("the website %s could not be compared: %s", site.url, fault)
            outcome = SiteOutcome("failed", "unreadable", site.changes)
        except (StoreUnavailable, asyncio.CancelledError):
            raise
        except Exception:
            # Else the site would be read again and again.
            log.exception("unexpected fault while the website %s was read", site.url)
            outcome = SiteOutcome("failed", "unreadable", site.changes)
        now = services.clock()
        wait_ms = _DAY_MS * (1 if outcome.reason else site.every_days)
        await stored.finish(services.db, site, outcome, now, now + wait_ms if site.every_days else None, counts)
        if outcome.draft is not None and not site.review:
            origin = ChangeOrigin(str(uuid.uuid4()), now, _ACTOR, "web")
            await stored.apply(services.db, site, outcome.draft, origin)
            services.knowledge.invalidate(site.bot_id)

    async def _look_for_pages(self) -> None:
        """Read robots.txt and the sitemaps. A site without a sitemap is walked along its links."""
        origin = urljoin(self._site.url, "/")
        try:
            robots = await self._fetch(urljoin(origin, "/robots.txt"))
        except FetchFailed as failure:
            raise _ReadingFailed(failure.code) from None
        if robots.status >= 500:
            raise _ReadingFailed("robots_unavailable")  # all is forbidden then (RFC 9309)
        if robots.status == 200:
            self._robots = websites.parse_robots(robots.body.decode("utf-8", "replace"))
            self._pause_s = max(PAUSE_S, self._robots.delay_s if PAUSE_S else 0.0)
        self._add(self._site.url)
        maps, seen = deque([*self._robots.sitemaps, "/sitemap.xml"]), set[str]()
        while maps and len(seen) < _MOST_SITEMAPS:
            address = _joined(origin, maps.popleft())
            if address in seen or not address.startswith(origin) or (seen and not maps and len(self._waiting) > 1):
                continue
            seen.add(address)
            try:
                answer = await self._fetch(address)
                body = unpacked(answer.body) if answer.body.startswith(b"\x1f\x8b") else answer.body
            except FetchFailed:
                continue
            if answer.status == 200 and answer.kind not in _PAGES - {""}:
                is_index, addresses = await asyncio.to_thread(websites.parse_sitemap, body.decode("utf-8", "replace"))
                for one in addresses:
                    if is_index:
                        maps.appendleft(one)
                    else:
                        self._add(one)
        self._follows_links = len(self._waiting) <= 1

    def _add(self, link: str) -> None:
        url = websites.page_address(self._site.url, link)
        if url and url not in self._found and len(self._found) < websites.MOST_LINKS and websites.is_wanted(self._site, url):
            self._found.add(url)
            self._waiting.append(url)

    async def _read_pages(self) -> None:
        """Read all pages that wait, and those that they link to."""
        batch: list[SitePage] = []
        bodies: list[tuple[str, bytes, str]] = []
        while self._waiting and self._done < self._site.max_pages:
            url = self._waiting.popleft()
            known = self._known.get(url)
            if known and known.read_at >= self._site.started_at:
                self._done += 1  # before this reading was interrupted
                self._follow(known)
                continue
            page, body = await self._read_page(url, known)
            batch.append(page)
            if body:
                bodies.append((page.url, *body))
            self._done += page.state != "skipped" or page.reason not in {"robots", "redirect"}
            if len(batch) >= BATCH or not self._waiting or sum(len(one[1]) for one in bodies) > BATCH_BYTES:
                await self._save(batch, bodies)
                batch, bodies = [], []
            elif self._done % _TOLD == 0:
                await self._save([], [])
        left = list(self._waiting)[: websites.MOST_PAGES]
        batch += [SitePage(url, "skipped", "too_many_pages", read_at=self._site.started_at) for url in left]
        await self._save(batch, bodies)

    async def _read_page(self, url: str, known: SitePage | None) -> tuple[SitePage, tuple[bytes, str] | None]:
        """Fetch one page. Return it, with its bytes and charset where they have to be parsed."""
        at, has_content = self._site.started_at, known is not None and known.content is not None
        if not self._robots.allows(url):
            return SitePage(url, "skipped", "robots", read_at=at), None
        try:
            answer = await self._fetch(url, *((known.etag, known.modified) if known and has_content else ()))
        except FetchFailed as failure:
            return self._failed(url, known, failure.code), None
        if (address := websites.page_address(self._site.url, answer.url)) != url:
            if address and websites.is_wanted(self._site, address) and address not in self._found:
                self._found.add(address)
                url, known = address, self._known.get(address)
            else:
                return SitePage(url, "skipped", "redirect", read_at=at), None
        if answer.status == 304 and known and known.content:
            return _unchanged(known, at), None
        if answer.status in {404, 410}:
            return self._failed(url, None, "not_found"), None
        if answer.status != 200:
            return self._failed(url, known, "http_status"), None
        if answer.kind not in _PAGES:
            return SitePage(url, "skipped", "no_page", read_at=at), None
        digest = hashlib.sha256(answer.body).digest()
        if known and known.content and known.digest == digest:
            return _unchanged(known, at), None
        page = SitePage(url, "read", None, 0, at, answer.etag, answer.modified, digest)
        return page, (answer.body, answer.charset)

    def _failed(self, url: str, known: SitePage | None, code: str) -> SitePage:
        """Return a page that failed this time; its earlier content stays. Without its first page a site is down."""
        if url == self._site.url:
            raise _ReadingFailed(code)
        return (known or SitePage(url, "failed"))._replace(state="failed", reason=code, read_at=self._site.started_at)

    async def _save(self, batch: list[SitePage], bodies: list[tuple[str, bytes, str]]) -> None:
        services = self._services
        if bodies:
            async with services.file_readers:
                contents = await services.offload(lambda: _parsed(bodies))
            for nth, page in enumerate(batch):
                if page.url in contents and page.state == "read":
                    content = contents[page.url]
                    if content is None:
                        batch[nth] = self._failed(page.url, self._known.get(page.url), "unreadable")
                    else:
                        state = "skipped" if content["reason"] else "read"
                        batch[nth] = page._replace(content=content, reason=content["reason"], state=state)
        for page in batch:
            self._known[page.url] = page
            self._follow(page)
        await stored.save_pages(services.db, self._site, batch, self._done, min(self._done + len(self._waiting), self._site.max_pages))

    def _follow(self, page: SitePage) -> None:
        if page.content and self._follows_links:
            base = _joined(page.url, page.content.get("base") or "")
            for link in page.content["links"]:
                self._add(_joined(base, link))

    async def _fetch(self, url: str, *validators: str | None) -> FetchedPage:
        """Fetch at most one page in each pause."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self._next_at - loop.time())
        self._next_at = loop.time() + self._pause_s
        return await self._services.website.fetch(url, *validators)

    async def _compared(self) -> tuple[SiteOutcome, dict[str, int]]:
        """Compare the site with the knowledge. Return the outcome, and how many entries each page has. Raises _ReadingFailed."""
        services, site = self._services, self._site
        applied = await stored.applied(services.db, site.id)
        pages = {url: page for url, page in self._known.items() if page.read_at >= site.started_at}
        # In one order each time: of a text that several pages have, the first one is the source.
        contents = [(url, page.content) for url, page in sorted(pages.items()) if page.content and not page.content["reason"]]
        work = {"kind": "site", "language": (await _bot_of(services, site)).language, "pages": contents}
        entries = [SiteEntry(**item) for item in await knowledge_work.run(work, _silent)]
        counts = dict.fromkeys(pages, 0)
        for one in entries:
            if one.page in counts:
                counts[one.page] += 1
        if not entries and not applied:
            raise _ReadingFailed(next((page.reason for page in pages.values() if page.reason), "nothing"))
        if websites.lost_pages(entries, applied, [url for url, page in pages.items() if page.state == "failed"]):
            raise _ReadingFailed("half_empty")
        current = {entry.id: entry for entry in await knowledge.entries(services.db, site.bot_id)}
        difference = websites.difference(entries, applied, current)
        if not any(difference.counts.values()):
            return SiteOutcome("idle", None, difference.counts), counts
        return SiteOutcome("review" if site.review else "idle", None, difference.counts, entries), counts


def _unchanged(page: SitePage, at: int) -> SitePage:
    reason = page.content["reason"] if page.content else None
    return page._replace(state="skipped" if reason else "unchanged", reason=reason, read_at=at)


async def _bot_of(services: Services, site: Site) -> Bot:
    from chatsvc.services.accounts import bots

    return (await bots.resolve(services, Caller(_ACTOR, EVERYTHING, "web"), site.bot_id))[1]


def _parsed(bodies: list[tuple[str, bytes, str]]) -> dict[str, dict[str, Any] | None]:
    with file_reading.FileReader() as reader:
        contents = reader.read_pages(bodies)
    return {url: content for (url, _, _), content in zip(bodies, contents, strict=True)}


def _joined(base: str, link: str) -> str:
    try:
        return urljoin(base, link)
    except ValueError:
        return ""


def _silent(step: str, done: int, of: int) -> None:
    """Report no progress: that of the pages is what takes time."""
    del step, done, of
