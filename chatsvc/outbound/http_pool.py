"""Pool of keep-alive HTTP connections to one server, for thousands of calls at once; and single requests.

Own code with http_connection.py and dialler.py: with aiohttp's client a message through a model costs 282 instead of 222 us of CPU, and
1,900 instead of 2,370 a second are answered (scripts/bench/gateway.py); 2,000 at once take 171 instead of 142 MB (crowd.py).

The environment has no effect: no proxy, netrc, cookies or certificates from it. Nothing is retried, no redirect is followed and nothing
is decompressed.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import SplitResult, quote, urlsplit

from chatsvc import __version__
from chatsvc.outbound.dialler import Dialler
from chatsvc.outbound.egress import Egress
from chatsvc.outbound.http_connection import ClientConnection, HttpAnswer, request_head
from chatsvc.outbound.tls import client_context

CONNECT_TIMEOUT_S = 10.0
"""Limit for a connection with its TLS handshake, in seconds.

Much longer than a network needs: with thousands of calls at once, the event loop notices an open connection late.
"""

CONNECTIONS = 5000
_IN_PATHS = "/%:@!$&'()*+,;=~"


class NotOpened(Exception):
    """No connection could be opened, so nothing was sent. The text names the fault."""


class HttpPool:
    """Connections to the server of an address. An idle one is closed after `idle_s` seconds, or earlier by its server.

    `purpose` is that of the egress ledger, `most_bytes` the size of the largest answer. Raises OSError where certificates cannot be read.
    """

    def __init__(self, egress: Egress, purpose: str, url: SplitResult, *, idle_s: float, most_bytes: int) -> None:
        secure, host = url.scheme == "https", ascii_host(url)
        tls = client_context() if secure else None
        self._dialler = Dialler(egress, purpose, host, url.port or (443 if secure else 80), tls)
        self._idle_s, self._most_bytes = idle_s, most_bytes
        self._loop = asyncio.get_running_loop()
        self._idle: deque[tuple[float, ClientConnection]] = deque()
        self._busy: set[ClientConnection] = set()
        self._limit = asyncio.Semaphore(CONNECTIONS)
        self._evict_timer: asyncio.TimerHandle | None = None

    async def ask(self, make_request: Callable[[], bytes], timeout_s: float | None = None) -> HttpAnswer:
        """Send a request; return its answer. Raises NotOpened.

        After it was written raises ConnectionLost and AnswerBroken, and TimeoutError after `timeout_s` seconds without the answer.
        The request is made late and not kept: with thousands of calls it would take much memory while they wait.
        """
        async with self._limit:
            connection = self._reuse() or await self._connect()
            self._busy.add(connection)
            try:
                async with asyncio.timeout(timeout_s):
                    answer = await connection.ask(make_request())
            except BaseException:
                connection.abort()
                raise
            finally:
                self._busy.discard(connection)
            if connection.usable:
                self._keep(connection)
            else:
                connection.abort()
        return answer

    async def _connect(self) -> ClientConnection:
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                return await self._dialler.open(partial(ClientConnection, self._loop, self._most_bytes))
        except (OSError, UnicodeError) as error:
            raise NotOpened(type(error).__name__) from None

    def _reuse(self) -> ClientConnection | None:
        """Take the connection that was used last, if it is still open."""
        while self._idle:
            _, connection = self._idle.pop()
            if connection.quiet:
                return connection
            connection.abort()
        return None

    def _keep(self, connection: ClientConnection) -> None:
        self._idle.append((self._loop.time() + self._idle_s, connection))
        if self._evict_timer is None:
            self._evict_timer = self._loop.call_later(self._idle_s, self._evict_idle)

    def _evict_idle(self) -> None:
        """Close connections that have been idle for too long."""
        loop = self._loop
        while self._idle and self._idle[0][0] <= loop.time():
            self._idle.popleft()[1].abort()
        self._evict_timer = loop.call_at(self._idle[0][0], self._evict_idle) if self._idle else None

    async def close(self) -> None:
        """Close every connection; calls in flight fail."""
        if self._evict_timer is not None:
            self._evict_timer.cancel()
        for connection in (*self._busy, *(connection for _, connection in self._idle)):
            connection.abort()
        self._idle.clear()


def ascii_host(url: SplitResult) -> str:
    """Return the host of an address as it is looked up."""
    return (url.hostname or "").encode("idna").decode()


def post_head(url: SplitResult, path: str, headers: Mapping[str, str]) -> bytes:
    """Build the constant part of a POST request with JSON: its head up to the value of Content-Length.

    `path` follows that of the address. Raises ValueError for a header that no request can carry.
    """
    fields = {
        "Host": _host_and_port(url),
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "User-Agent": f"chatsvc/{__version__}",
        **headers,
    }
    return f"{request_head(f'POST {quote(url.path, _IN_PATHS)}{quote(path, _IN_PATHS)} HTTP/1.1', fields)}Content-Length: ".encode()


def _host_and_port(url: SplitResult) -> str:
    host = ascii_host(url)
    host = f"[{host}]" if ":" in host else host
    return host if url.port is None else f"{host}:{url.port}"


class OneRequest(NamedTuple):
    """A request over a connection of its own. `timeout_s` limits it as a whole, `most_bytes` the answer; no redirect is followed."""

    egress: Egress
    purpose: str
    tls: ssl.SSLContext
    timeout_s: float
    most_bytes: int

    async def send(self, method: str, url: str, headers: Mapping[str, str] = MappingProxyType({}), body: bytes | None = None) -> HttpAnswer:
        """Send it; return the answer. Raises one of FAULTS, among them ValueError for an address or header that cannot be used."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("no http or https address")
        secure = parts.scheme == "https"
        dialler = Dialler(self.egress, self.purpose, ascii_host(parts), parts.port or (443 if secure else 80), self.tls if secure else None)
        target = quote(parts.path or "/", _IN_PATHS) + (f"?{quote(parts.query, _IN_PATHS + '?')}" if parts.query else "")
        fields = {"Host": _host_and_port(parts), "Accept": "*/*", "Accept-Encoding": "identity", "Connection": "close", **headers}
        fields |= {} if body is None else {"Content-Length": str(len(body))}
        request = request_head(f"{method} {target} HTTP/1.1", fields).encode("latin-1") + b"\r\n" + (body or b"")
        async with asyncio.timeout(self.timeout_s):
            return await ask_once(dialler, request, self.most_bytes)


async def ask_once(dialler: Dialler, request: bytes, most_bytes: int) -> HttpAnswer:
    """Send a request over a connection of its own; raises one of FAULTS."""
    connection = await dialler.open(partial(ClientConnection, asyncio.get_running_loop(), most_bytes))
    try:
        return await connection.ask(request)
    finally:
        connection.abort()
