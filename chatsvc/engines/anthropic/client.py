"""HTTP client for POST /v1/messages, with a pool of keep-alive connections.

Own code, since the provider's library takes six times the processor time for a call. A test compares the requests with those of
the library, which adds only data about this machine. The environment has no effect: no proxy, netrc, cookies or certificates from it.
Nothing is retried, no redirect is followed and nothing is decompressed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from urllib.parse import quote, urlsplit

import orjson

from chatsvc import __version__
from chatsvc.deadlines import Deadlines
from chatsvc.engines.anthropic import faults
from chatsvc.engines.anthropic.connection import MAX_ANSWER_BYTES, ModelConnection
from chatsvc.engines.anthropic.faults import ModelFault
from chatsvc.outbound.dialler import Dialler
from chatsvc.outbound.egress import Egress
from chatsvc.outbound.tls import client_context

API_VERSION = "2026-10-21"
"""Version of the Messages API, as the library sends it."""

CONNECT_TIMEOUT_S = 10.0
"""Limit for a connection with its TLS handshake, in seconds; the deadline of the turn limits everything else.

Much longer than a network needs: with thousands of calls at once, the event loop notices an open connection late.
"""

CONNECTIONS = 5000

# uvicorn (vLLM) and Node (LM Studio) close an idle connection after 5 s. A POST sent at that moment is lost, as it is not idempotent:
# close first. Anthropic's edge keeps connections for minutes.
_IDLE_S_ON_PREM = 3.0
_IDLE_S_HOSTED = 60.0

_IN_PATHS = "/%:@!$&'()*+,;=~"


class Client:
    """Client of one server; 2,000 concurrent calls are fine."""

    def __init__(self, base_url: str, api_key: str, *, hosted: bool, egress: Egress) -> None:
        """`base_url` without `/v1`; an empty `api_key` sends no credential. Raises OSError where the certificates cannot be read."""
        url = urlsplit(base_url)
        secure = url.scheme == "https"
        host = (url.hostname or "").encode("idna").decode()
        self._head = _head(f"[{host}]" if ":" in host else host, url.port, url.path, api_key)
        self._dialler = Dialler(egress, "model", host, url.port or (443 if secure else 80), client_context() if secure else None)
        self._loop = asyncio.get_running_loop()
        self._idle_s = _IDLE_S_HOSTED if hosted else _IDLE_S_ON_PREM
        self._idle: deque[tuple[float, ModelConnection]] = deque()
        self._busy: set[ModelConnection] = set()
        self._limit = asyncio.Semaphore(CONNECTIONS)
        self._connecting = Deadlines()
        self._evict_timer: asyncio.TimerHandle | None = None

    async def send(self, body: dict[str, object]) -> bytes:
        """Post a body that orjson can encode; return the body of a 2xx answer. Raises ModelFault."""
        async with self._limit:
            connection = self._reuse() or await self._connect()
            self._busy.add(connection)
            try:
                answer = await connection.ask(self._request(body))
            except BaseException:
                connection.abort()
                raise
            finally:
                self._busy.discard(connection)
            if connection.usable:
                self._keep(connection)
            else:
                connection.abort()
        if not 200 <= answer.status < 300:
            raise faults.of_status(answer.status, answer.headers, answer.body.decode("utf-8", "replace"))
        if not answer.whole:
            raise ModelFault("bad_response", f"an answer of more than {MAX_ANSWER_BYTES} bytes")
        return answer.body

    def _request(self, body: dict[str, object]) -> bytes:
        content = orjson.dumps(body)
        return b"%b%d\r\n\r\n%b" % (self._head, len(content), content)

    async def _connect(self) -> ModelConnection:
        try:
            with self._connecting.until(self._loop.time() + CONNECT_TIMEOUT_S):
                return await self._dialler.open(partial(ModelConnection, self._loop))
        except (OSError, UnicodeError) as error:
            raise ModelFault("unreachable", type(error).__name__, retryable=True) from None

    def _reuse(self) -> ModelConnection | None:
        """Take the connection that was used last, if it is still open."""
        while self._idle:
            _, connection = self._idle.pop()
            if connection.quiet:
                return connection
            connection.abort()
        return None

    def _keep(self, connection: ModelConnection) -> None:
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
        """Close every connection; calls in flight fail as unreachable."""
        if self._evict_timer is not None:
            self._evict_timer.cancel()
        for connection in (*self._busy, *(connection for _, connection in self._idle)):
            connection.abort()
        self._idle.clear()


def _head(host: str, port: int | None, path: str, api_key: str) -> bytes:
    """Build the constant part of a request: its head up to the value of Content-Length."""
    lines = [
        f"POST {quote(path, _IN_PATHS)}/v1/messages HTTP/1.1",
        f"Host: {host if port is None else f'{host}:{port}'}",
        "Accept: application/json",
        "Accept-Encoding: identity",
        "Content-Type: application/json",
        f"User-Agent: chatsvc/{__version__}",
        f"anthropic-version: {API_VERSION}",
        *([f"Authorization: Bearer {api_key}"] if api_key else []),
        "Content-Length: ",
    ]
    return "\r\n".join(lines).encode()
