"""Client that fetches pages of websites. Like webhooks, it checks every address at each connection and redirect."""

import asyncio
import ssl
import zlib
from typing import NamedTuple
from urllib.parse import urljoin

from aiohttp import ClientResponse, ClientSession

from chatsvc.domain import websites
from chatsvc.outbound.client import FAULTS, USER_AGENT, Guard, open_session, read, reason_of, request
from chatsvc.outbound.egress import Egress

MOST_BYTES = 2 * 1024 * 1024  # of a page, unpacked
TIMEOUT_S = 10.0  # of a page with its redirects
MOST_REDIRECTS = 5
_PURPOSE = "website"
_HEADERS = {"User-Agent": f"{USER_AGENT} (website knowledge)", "Accept": "text/html, */*;q=0.5"}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PACKED = frozenset({"gzip", "x-gzip", "deflate"})


class FetchedPage(NamedTuple):
    """Response of a website. `url` is the address after redirects. `kind` is the media type, `charset` the character set in the header."""

    url: str
    status: int
    body: bytes
    kind: str
    charset: str
    etag: str | None
    modified: str | None


class FetchFailed(Exception):
    """Raised when a page could not be fetched. `code` gives the reason."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class WebsiteClient:
    """Client that fetches pages. There is one for each process. `guard` has the rules for addresses."""

    def __init__(self, guard: Guard, egress: Egress, tls: ssl.SSLContext) -> None:
        self._guard, self._egress, self._tls = guard, egress, tls

    async def check(self, url: str) -> str:
        """Check the URL of a website and return it in its normalized form. Raise TargetRefused if it is forbidden."""
        return (await self._guard.check(url, self._egress)).url

    async def fetch(self, url: str, etag: str | None = None, modified: str | None = None, *, may_move: bool = False) -> FetchedPage:
        """Fetch a page. If the page has not changed, the status is 304. Raise FetchFailed on failure.

        Redirects are followed on the same host. If `may_move` is true, redirects between a domain and its `www` host are followed, too.
        """
        headers = {name: value for name, value in (("If-None-Match", etag), ("If-Modified-Since", modified)) if value}
        try:
            self._egress.check(_PURPOSE)
            async with asyncio.timeout(TIMEOUT_S), open_session(self._egress, _PURPOSE, self._tls, guard=self._guard) as session:
                return await self._follow(session, url, {**_HEADERS, **headers}, may_move=may_move)
        except FAULTS as fault:
            raise FetchFailed(reason_of(fault)) from None

    async def _follow(self, session: ClientSession, url: str, headers: dict[str, str], *, may_move: bool) -> FetchedPage:
        first = self._guard.target(url)
        for _ in range(MOST_REDIRECTS + 1):
            target = self._guard.target(url)
            if target.host != first.host and not (may_move and target.host == websites.www_twin(first.host)):
                raise FetchFailed("other_host")
            async with request(session, "GET", target, headers) as response:
                fields = response.headers
                if response.status in _REDIRECTS:
                    url = urljoin(target.url, fields.get("Location", "")).partition("#")[0]
                    continue
                body = await _body(response) if response.status == 200 else b""
            kind, charset = response.content_type if "Content-Type" in fields else "", (response.charset or "")[:40]
            return FetchedPage(target.url, response.status, body, kind, charset, fields.get("ETag"), fields.get("Last-Modified"))
        raise FetchFailed("too_many_redirects")


async def _body(response: ClientResponse) -> bytes:
    """Read a body of at most MOST_BYTES, and decompress it. The request asks for no compression, but some servers compress anyway."""
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in {"", "identity", *_PACKED}:
        raise FetchFailed("unknown_encoding")
    body = bytearray()
    if not await read(response, body, MOST_BYTES):
        raise FetchFailed("too_large")
    return unpacked(bytes(body)) if encoding in _PACKED else bytes(body)


def unpacked(packed: bytes) -> bytes:
    """Decompress gzip or deflate to at most MOST_BYTES. Raise FetchFailed, also for incomplete data, which aiohttp would accept."""
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
