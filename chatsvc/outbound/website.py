"""Client that fetches pages of websites, guarded as webhooks are: every address is checked at each connection and redirect."""

import asyncio
import ssl
import zlib
from typing import NamedTuple
from urllib.parse import urljoin

from chatsvc import __version__
from chatsvc.domain.targets import Target
from chatsvc.outbound.client import Guard
from chatsvc.outbound.egress import Egress, EgressRefused
from chatsvc.outbound.guarded import FAULTS, GuardedDialler, reason_of
from chatsvc.outbound.http_connection import HttpAnswer, request_head
from chatsvc.outbound.http_pool import ask_once
from chatsvc.outbound.resolver import check_target

MOST_BYTES = 2 * 1024 * 1024  # of a page, unpacked
TIMEOUT_S = 10.0  # of a page with its redirects
MOST_REDIRECTS = 5
_PURPOSE = "website"
_HEADERS = {
    "User-Agent": f"chatsvc/{__version__} (website knowledge)",
    "Accept": "text/html, */*;q=0.5",
    "Accept-Encoding": "identity",
    "Connection": "close",
}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PACKED = frozenset({"gzip", "x-gzip", "deflate"})


class FetchedPage(NamedTuple):
    """Answer of a website. `url` is the address after redirects, `kind` the media type, `charset` that of the header."""

    url: str
    status: int
    body: bytes
    kind: str
    charset: str
    etag: str | None
    modified: str | None


class FetchFailed(Exception):
    """A page could not be fetched; `code` says why."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class WebsiteClient:
    """Fetches pages; one for each process. `guard` has the rules for addresses."""

    def __init__(self, guard: Guard, egress: Egress, tls: ssl.SSLContext) -> None:
        self._guard, self._egress, self._tls = guard, egress, tls

    async def check(self, url: str) -> str:
        """Check the address of a site and return it in one spelling; raises TargetRefused. With `egress: none` no name is looked up."""
        guard = self._guard
        if self._egress.allowed:
            await check_target(url, guard.own, guard.allowed, guard.resolve, plain=guard.plain)
        return guard.target(url).url

    async def fetch(self, url: str, etag: str | None = None, modified: str | None = None) -> FetchedPage:
        """Fetch a page, or learn by its status (304) that it has not changed. Raises FetchFailed."""
        headers = {name: value for name, value in (("If-None-Match", etag), ("If-Modified-Since", modified)) if value}
        try:
            self._egress.check(_PURPOSE)
            async with asyncio.timeout(TIMEOUT_S):
                return await self._follow(url, headers)
        except EgressRefused:
            raise FetchFailed("egress_refused") from None
        except FAULTS as fault:
            raise FetchFailed(reason_of(fault)) from None

    async def _follow(self, url: str, headers: dict[str, str]) -> FetchedPage:
        host = self._guard.target(url).host
        for _ in range(MOST_REDIRECTS + 1):
            target = self._guard.target(url)
            if target.host != host:
                raise FetchFailed("other_host")
            answer = await self._get(target, headers)
            told = answer.headers
            if answer.status in _REDIRECTS:
                url = urljoin(target.url, told.get("Location", "")).partition("#")[0]
                continue
            body = _body(answer) if answer.status == 200 else b""
            kind, charset = _kind(told.get("Content-Type", ""))
            return FetchedPage(target.url, answer.status, body, kind, charset, told.get("ETag"), told.get("Last-Modified"))
        raise FetchFailed("too_many_redirects")

    async def _get(self, target: Target, headers: dict[str, str]) -> HttpAnswer:
        dialler = GuardedDialler(self._egress, _PURPOSE, target, self._tls, self._guard)
        head = request_head(f"GET {target.path} HTTP/1.1", {"Host": target.host_and_port, **_HEADERS, **headers})
        return await ask_once(dialler, f"{head}\r\n".encode("latin-1"), MOST_BYTES)


def _body(answer: HttpAnswer) -> bytes:
    """Return the body of at most MOST_BYTES. It was asked for as it is; some servers compress all the same."""
    packing = answer.headers.get("Content-Encoding", "").strip().lower()
    if packing not in {"", "identity", *_PACKED}:
        raise FetchFailed("unknown_encoding")
    if not answer.whole:
        raise FetchFailed("too_large")
    return unpacked(answer.body) if packing else answer.body


def unpacked(packed: bytes) -> bytes:
    """Unpack gzip or deflate to at most MOST_BYTES; raises FetchFailed."""
    for window in (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):  # gzip or zlib; deflate without a header
        stream = zlib.decompressobj(window)
        try:
            body = stream.decompress(packed, MOST_BYTES + 1)
        except zlib.error:
            continue
        if len(body) > MOST_BYTES:
            raise FetchFailed("too_large")
        if stream.eof:
            return body
    raise FetchFailed("unknown_encoding")


def _kind(value: str) -> tuple[str, str]:
    kind, _, rest = value.partition(";")
    charset = next((part.partition("=")[2].strip(" \"'") for part in rest.split(";") if part.strip().lower().startswith("charset")), "")
    return kind.strip().lower(), charset[:40]
