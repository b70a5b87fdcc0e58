"""Reading of websites in the background: fetch pages, parse them in a child process, compare, store or apply the draft.

Fetched pages are saved in batches, so that an interrupted reading continues where it stopped. The knowledge only changes in the
transaction that applies a draft.
"""

import asyncio
import base64
import hashlib
import json
import logging
import uuid
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any
from urllib.parse import urljoin, urlsplit, urlunsplit

from chatsvc import background
from chatsvc.domain import times, websites
from chatsvc.domain.actors import EVERYTHING, Actor, Caller
from chatsvc.domain.models import ChangeOrigin
from chatsvc.domain.websites import Robots, Site, SitePage
from chatsvc.outbound.website import FetchedPage, FetchFailed
from chatsvc.services.accounts import bots
from chatsvc.services.knowledge import file_reading, knowledge_work
from chatsvc.services.knowledge.file_reading import GivenFile
from chatsvc.services.services import Services
from chatsvc.store import knowledge, owners
from chatsvc.store import sites as stored
from chatsvc.store.database import StoreUnavailable

log = logging.getLogger(__name__)

PAUSE_S = 1.0  # between two requests to a site
AT_A_TIME, SHARE = 4, 2  # sites, and those of one account among them
BATCH, BATCH_BYTES = 50, 8 * 1024 * 1024  # pages that are parsed and saved together, each time in a process of their own
_TOLD = 10  # pages between two reports of progress
_MOST_FAILURES = 10  # pages in a row that cannot be fetched: the site is down
_MOST_FORBIDDEN = 200  # pages that are shown as forbidden by robots.txt
_LONGEST_COMPARISON_S = 900.0
_STREAMED = 20  # pages that are read from the store together
_PAGES = frozenset({"text/html", "application/xhtml+xml", ""})
_ACTOR = Actor("user", "", "website")


class _ReadingFailed(Exception):
    """A reading has failed and makes no draft. The argument is the code of the reason."""


class SiteReadings:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._slots = background.WorkPool(AT_A_TIME, SHARE)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._begun: set[str] = set()  # ids of sites whose present reading this process has counted as an attempt

    def start(self, site_id: str) -> asyncio.Task[None]:
        """Start the reading of a site in state "reading" unless this process runs it already. Return its task."""
        task = self._tasks.get(site_id)
        if task is None or task.done():
            task = self._tasks[site_id] = background.start("reading of a website", self._run(site_id))
        return task

    async def look(self) -> None:
        """Start to read the websites whose reading is due or was interrupted. Raises StoreUnavailable."""
        for site_id, state in await stored.wanted(self._services.db, self._services.clock()):
            if state != "reading":
                await stored.begin(self._services.db, site_id, self._services.clock())
            self.start(site_id)
        self._tasks = {site_id: task for site_id, task in self._tasks.items() if not task.done()}

    async def _run(self, site_id: str) -> None:
        site = await stored.find(self._services.db, site_id)
        if site is None:
            return
        account_id = await owners.account_of(self._services.db, "bot", site.bot_id, None) or ""
        async with self._slots.slot(account_id):
            if not await self._services.leases.hold(f"website {site_id}"):
                return  # another process reads it
            try:
                site = await stored.find(self._services.db, site_id)
                if site is None or site.state != "reading":
                    return
                reading = _Reading(self._services, site, account_id)
                if site_id not in self._begun and await stored.attempt(self._services.db, site_id) > websites.MOST_ATTEMPTS:
                    await reading.finish(stored.SiteOutcome("failed", "interrupted", site.changes))
                    return
                self._begun.add(site_id)
                await reading.run()
                self._begun.discard(site_id)
            except StoreUnavailable as fault:
                log.error("the reading of a website is interrupted: %s", fault)

    async def close(self) -> None:
        """Interrupt the readings. They continue when the service starts again."""
        await background.cancel(*self._tasks.values())
        with suppress(StoreUnavailable):
            await stored.forget_attempts(self._services.db, list(self._begun))
        self._begun.clear()


class _Reading:
    def __init__(self, services: Services, site: Site, account_id: str) -> None:
        self._services, self._site, self._account_id = services, site, account_id
        self._known: dict[str, SitePage] = {}  # pages of earlier readings, and those that this one has read; without contents
        self._waiting: deque[str] = deque()
        self._seen: dict[str, bool] = {}  # addresses that wait or were looked at, and whether robots.txt allows them
        self._lines, self._text = websites.MOST_LINES, websites.MOST_CONTENT  # what is left of the budget
        self._done = self._failures = self._fetched = 0
        self._pause_s, self._next_at = PAUSE_S, 0.0
        self._robots = Robots()
        self._follows_links = True

    async def run(self) -> None:
        """Read the site and store the outcome. Apply the draft unless the site is reviewed by a person."""
        services, site = self._services, self._site
        counts: dict[str, int] | None = None
        try:
            self._known = {page.url: page for page in await stored.pages(services.db, site.id)}
            await self._look_for_pages()
            await self._read_pages()
            async with asyncio.timeout(_LONGEST_COMPARISON_S):
                outcome, counts = await self._compared()
        except _ReadingFailed as failure:
            outcome = stored.SiteOutcome("failed", str(failure), site.changes)
        except StoreUnavailable:
            raise
        except Exception:
            # Without an outcome the site would be read again and again.
            log.exception("the website %s could not be read", site.url)
            outcome = stored.SiteOutcome("failed", "unreadable", site.changes)
        await self.finish(outcome, counts)
        if outcome.draft is not None and not site.review and (draft := await stored.draft(services.db, site.id)) is not None:
            origin = ChangeOrigin(str(uuid.uuid4()), services.clock(), _ACTOR, "web")
            await stored.apply(services.db, site, draft, origin)
            services.knowledge.invalidate(site.bot_id)

    async def finish(self, outcome: stored.SiteOutcome, counts: dict[str, int] | None = None) -> None:
        now, days = self._services.clock(), self._site.every_days
        due_at = now + times.DAY_MS * (1 if outcome.reason else days) if days and outcome.reason != "interrupted" else None
        await stored.finish(self._services.db, self._site, outcome, now, due_at, counts)

    async def _look_for_pages(self) -> None:
        """Read robots.txt and the sitemaps. Pages of a site without a sitemap are discovered by their links."""
        may_move = self._site.read_at is None and not self._known and websites.www_twin(urlsplit(self._site.url).hostname or "") is not None
        await self._read_robots(may_move=may_move)
        if may_move and self._robots.allows(self._site.url):
            with suppress(FetchFailed):  # what fails here fails again below, with its reason
                if await self._move_to((await self._fetch(self._site.url, may_move=True)).url):
                    await self._read_robots()
        origin = urljoin(self._site.url, "/")
        first = websites.page_address(self._site.url, self._site.url)
        if first and websites.is_wanted(self._site, first):
            self._add([(first, self._robots.allows(first))])
        maps, seen = deque([*self._robots.sitemaps, "/sitemap.xml"]), set[str]()
        while maps and len(seen) < websites.MOST_SITEMAPS:
            address = websites.joined(origin, maps.popleft())
            if address in seen or not address.startswith(origin) or (seen and not maps and len(self._waiting) > 1):
                continue
            seen.add(address)
            with suppress(FetchFailed):
                answer = await self._fetch(address)
                if answer.status == 200 and answer.kind not in _PAGES - {""}:
                    (sitemap,) = await self._parse([GivenFile(address, answer.body, "sitemap")])
                    maps.extendleft(sitemap["maps"] if sitemap else ())
                    self._add(sitemap["links"] if sitemap else ())
        self._follows_links = len(self._waiting) <= 1

    async def _move_to(self, url: str) -> bool:
        """Change the site's address to the host of `url`, which differs only by "www.". Return whether the address changed."""
        site, host = self._site, urlsplit(url)
        url = urlunsplit(urlsplit(site.url)._replace(scheme=host.scheme, netloc=host.netloc))
        if host.netloc == urlsplit(site.url).netloc or not await stored.move(self._services.db, site, url):
            return False
        self._site = site._replace(url=url)
        return True

    async def _read_robots(self, *, may_move: bool = False) -> None:
        try:
            robots = await self._fetch(urljoin(self._site.url, "/robots.txt"), may_move=may_move)
        except FetchFailed as failure:
            raise _ReadingFailed(failure.code) from None
        if robots.status >= 500:
            raise _ReadingFailed("robots_unavailable")  # all is forbidden then (RFC 9309)
        await self._move_to(robots.url)
        if robots.status == 200:
            (rules,) = await self._parse([GivenFile(robots.url, robots.body, "robots")])
            if rules is None:
                raise _ReadingFailed("robots_unavailable")
            self._robots = Robots(**rules)
            self._pause_s = max(PAUSE_S, self._robots.delay_s if PAUSE_S else 0.0)

    def _add(self, links: Iterable[Sequence[Any]]) -> None:
        """Queue the links that are new. A link is a page's address, and whether robots.txt allows to read the page."""
        for url, allowed in links:
            if url not in self._seen and len(self._seen) < websites.MOST_LINKS:
                self._seen[url] = allowed
                self._waiting.append(url)

    async def _parse(self, files: Sequence[GivenFile]) -> list[dict[str, Any] | None]:
        """Parse files in a child process. The result of a file with faults is None. Links beyond the reading's limit are left out."""
        site, links = self._site, websites.MOST_LINKS - len(self._seen)
        request = {"url": site.url, "include": site.include, "exclude": site.exclude, "rules": self._robots.rules, "links": links}

        def parse() -> list[dict[str, Any] | None]:
            with file_reading.FileReader() as reader:
                background.on_abandonment(reader.close)
                return [None if "faults" in result else result for result in reader.results(files, request)]

        return await self._services.site_readers.run(parse, self._account_id)

    async def _read_pages(self) -> None:
        batch, files, forbidden = list[SitePage](), list[GivenFile](), 0
        most = self._site.max_pages
        while self._waiting and self._done < most and self._fetched < 2 * most and self._lines > 0 and self._text > 0:
            url = self._waiting.popleft()
            known = self._known.get(url)
            if not self._seen[url]:
                forbidden += 1
                if forbidden <= _MOST_FORBIDDEN:
                    batch.append(SitePage(url, "skipped", "robots", read_at=self._site.started_at))
            elif known and known.read_at >= self._site.started_at:
                self._done += 1  # before this reading was interrupted
                files += await self._stored(known)
            else:
                page, body = await self._read_page(url, known)
                batch.append(page)
                if body:
                    files.append(GivenFile(page.url, body[0], "page", body[1]))
                elif page.has_content:
                    files += await self._stored(page)
                self._done += page.state != "skipped" or page.reason != "redirect"
            if len(batch) >= BATCH or not self._waiting or sum(len(file.data) for file in files) > BATCH_BYTES:
                await self._save(batch, files)
                batch, files = [], []
            elif self._done % _TOLD == 0:
                await self._save([], [])
        left = islice(self._waiting, websites.MOST_PAGES)
        batch += [SitePage(url, "skipped", "too_many_pages", read_at=self._site.started_at) for url in left]
        await self._save(batch, files)

    async def _stored(self, page: SitePage) -> list[GivenFile]:
        """Return the stored content of a page as a file, so that its links can be followed. Return [] if links are not needed."""
        if not self._follows_links or not page.has_content:
            return []
        return [GivenFile(url, packed, "stored") for url, packed in await stored.contents(self._services.db, self._site.id, [page.url])]

    async def _read_page(self, url: str, known: SitePage | None) -> tuple[SitePage, tuple[bytes, str] | None]:
        """Fetch one page. Return the page, and its bytes and charset if it has to be parsed."""
        read_at = self._site.started_at
        self._fetched += 1
        # A page that failed the last time is fetched without validators: its stored reason does not describe its content.
        validators = (known.etag, known.modified) if known and known.has_content and known.state != "failed" else ()
        try:
            answer = await self._fetch(url, *validators)
        except FetchFailed as failure:
            self._failures += 1
            if self._failures >= _MOST_FAILURES:
                raise _ReadingFailed(failure.code) from None
            return self._failed(url, known, failure.code), None
        self._failures = 0
        if (address := websites.page_address(self._site.url, answer.url)) != url:
            if not address or address in self._seen or not websites.is_wanted(self._site, address) or not self._robots.allows(address):
                return SitePage(url, "skipped", "redirect", read_at=read_at), None
            self._seen[address] = True
            url, known = address, self._known.get(address)
        if answer.status == 304 and known and validators:
            return _unchanged(known, read_at), None
        if answer.status != 200:
            is_gone = answer.status in {404, 410}
            return self._failed(url, None if is_gone else known, "not_found" if is_gone else "http_status"), None
        if answer.kind not in _PAGES:
            return SitePage(url, "skipped", "no_page", read_at=read_at), None
        digest = hashlib.sha256(answer.body).digest()
        if known and known.has_content and known.state != "failed" and known.digest == digest:
            return _unchanged(known, read_at), None
        page = SitePage(url, "read", None, 0, read_at, answer.etag, answer.modified, digest, has_content=True)
        return page, (answer.body, answer.charset)

    def _failed(self, url: str, known: SitePage | None, code: str) -> SitePage:
        """Return a page marked as failed, with its earlier content. Raise _ReadingFailed for the first page of the site."""
        if url == self._site.url:
            raise _ReadingFailed(code)
        return (known or SitePage(url, "failed"))._replace(state="failed", reason=code, read_at=self._site.started_at)

    async def _save(self, batch: list[SitePage], files: list[GivenFile]) -> None:
        """Parse the files of a batch, save its pages, and queue their links."""
        results = dict(zip([file.name for file in files], await self._parse(files), strict=True)) if files else {}
        read = {file.name for file in files if file.kind == "page"}
        for index, page in enumerate(batch):
            result = results[page.url] if page.url in read else None
            if result and result["content"] is not None:
                self._lines, self._text = self._lines - result["lines"], self._text - result["text"]
                state, content = "skipped" if result["reason"] else "read", base64.b64decode(result["content"])
                batch[index] = page._replace(content=content, reason=result["reason"], state=state)
            elif page.url in read:
                batch[index] = self._failed(page.url, self._known.get(page.url), "too_large" if result else "unreadable")
            self._known[page.url] = batch[index]._replace(content=None)
        if self._follows_links:
            for result in results.values():
                self._add(result["links"] if result else ())
        of = min(self._done + len(self._waiting), self._site.max_pages)
        await stored.save_pages(self._services.db, self._site, batch, self._done, of)

    async def _fetch(self, url: str, *validators: str | None, may_move: bool = False) -> FetchedPage:
        """Fetch a page, after a pause since the last request to the site."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self._next_at - loop.time())
        self._next_at = loop.time() + self._pause_s
        return await self._services.website.fetch(url, *validators, may_move=may_move)

    async def _compared(self) -> tuple[stored.SiteOutcome, dict[str, int]]:
        """Compare the site with the knowledge. Return the outcome, and the number of entries of each page. Raises _ReadingFailed."""
        services, site = self._services, self._site
        bot = await bots.resolve(services, Caller(_ACTOR, EVERYTHING, "web"), site.bot_id)
        applied = await stored.applied(services.db, site.id)
        pages = {url: page for url, page in self._known.items() if page.read_at >= site.started_at}
        current = await knowledge.whole(services.db, site.bot_id)
        failed = [url for url, page in pages.items() if page.state == "failed"]
        work = {"kind": "site", "language": bot.language, "applied": applied, "current": current, "failed": failed}
        outcome, *items = await knowledge_work.run(work, lambda *_: None, self._packed_pages(pages))
        if not outcome["entries"] and not applied:
            raise _ReadingFailed(next((page.reason for page in pages.values() if page.reason), "nothing"))
        if outcome["lost"]:
            raise _ReadingFailed("half_empty")
        counts = dict.fromkeys(pages, 0) | {item["page"]: item["count"] for item in items if "page" in item}
        changes = outcome["changes"]
        if not any(changes.values()):
            return stored.SiteOutcome("idle", None, changes), counts
        draft = base64.b64decode("".join(item["draft"] for item in items if "draft" in item))
        return stored.SiteOutcome("review" if site.review else "idle", None, changes, draft), counts

    async def _packed_pages(self, pages: dict[str, SitePage]) -> AsyncIterator[bytes]:
        """Yield the stored, compressed contents of pages as lines of JSON, reading a few pages at a time.

        Pages are sorted by URL: if two contain the same text, the first becomes the source of the entry, each time the same one.
        """
        urls = sorted(url for url, page in pages.items() if page.has_content)
        left = websites.MOST_CONTENT
        for start in range(0, len(urls), _STREAMED):
            for url, packed in await stored.contents(self._services.db, self._site.id, urls[start : start + _STREAMED]):
                left -= len(packed)
                if left > 0:
                    yield json.dumps([url, base64.b64encode(packed).decode()]).encode() + b"\n"


def _unchanged(page: SitePage, read_at: int) -> SitePage:
    return page._replace(read_at=read_at) if page.state == "skipped" else page._replace(state="unchanged", reason=None, read_at=read_at)
