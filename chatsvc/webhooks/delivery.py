"""One POST to a customer's server and what became of it (SPEC.md 6.5)."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import NamedTuple

import aiohttp
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from chatsvc import background
from chatsvc.domain.addresses import Networks, Own, TargetRefused
from chatsvc.domain.targets import Target
from chatsvc.webhooks.connector import DIAL, KEEP_S, Dial, GuardedConnector, Habits, MakeSocket, open_socket
from chatsvc.webhooks.resolver import LookupFailed, Resolve, SystemResolver

MAX_ANSWER_BYTES = 64 * 1024
# The outcome is known with the status; the rest of the answer is read only to have the connection free again.
DRAIN_S = 1.0
# Sender has one deadline over all stages.
_NO_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=None)

# Every `error` that an attempt can have from here; the status code stands beside it.
ERRORS = frozenset(
    {
        "timeout",  # no status within the time-out, whatever was waited for
        "refused_address",  # the host leads where no webhook may go
        "dns_failed",  # the host's name does not resolve
        "connect_failed",  # no TCP connection
        "tls_failed",  # no TLS, or a certificate that is not valid for the host
        "connection_lost",  # closed or reset before an answer came
        "bad_response",  # what came was not HTTP
        "redirect",  # 3xx, which is not followed
        "http_status",  # any other status that is not 2xx
    }
)

# What a delivery can fail with; anything else is a fault of our own. uvloop has a RuntimeError for what is done to a lost connection.
FAULTS = (TimeoutError, aiohttp.ClientError, HttpProcessingError, TargetRefused, LookupFailed, OSError, ValueError, RuntimeError)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an attempt. `error`: one of ERRORS, None for a success; `duration_ms`: until the outcome was known."""

    success: bool
    status_code: int | None
    error: str | None
    duration_ms: int


class _Answer(NamedTuple):
    """The head of an answer, and the connection on which the rest comes."""

    status: int
    length: int
    content: aiohttp.StreamReader
    connection: Connection

    async def end(self, timeout_s: float) -> None:
        """Read what is left of a small answer, so that its connection is free; hang up on any other. The outcome stands."""
        try:
            if self.length <= MAX_ANSWER_BYTES:
                async with asyncio.timeout(timeout_s):
                    await self.content.readexactly(MAX_ANSWER_BYTES)
        except (*FAULTS, EOFError):  # the latter where the answer was shorter
            pass
        finally:
            # Closes the connection unless the answer has been read to its end.
            self.connection.release()


class _Line:
    """The connections of one webhook to its target while it has something to send; or, not `kept`, the one of one delivery."""

    def __init__(self, target: Target, connector: GuardedConnector, *, kept: bool) -> None:
        self.target = target
        self.connector = connector
        self.in_flight = 0
        self.idle_since = 0.0
        self.retired = not kept
        # Built from the parts that were checked, and taken over as they are: nothing parses an address a second time.
        url = URL(target.url, encoded=True)
        if (url.scheme, url.raw_host, url.port, url.raw_path_qs) != ("https", target.host, target.port, target.path):
            raise TargetRefused(f"the address at {target.host} could be read in two ways")
        fixed = {"Accept": "*/*", "Accept-Encoding": "identity"} | ({} if kept else {"Connection": "close"})
        self._request = aiohttp.ClientRequest("POST", url, headers=fixed, loop=asyncio.get_running_loop())
        self._head = f"POST {target.path} HTTP/1.1\r\nHost: {self._request.headers['Host']}\r\n" + _lines(fixed)

    async def send(self, body: bytes, headers: Mapping[str, str]) -> _Answer:
        """Post `body` over a connection of its own and wait for the head of the answer; raises one of FAULTS.

        aiohttp's session takes as long to make a request and an answer as all the rest takes together: these bytes are
        written to the connector's connection as they are, and aiohttp's parser reads what comes.
        """
        head = f"{self._head}{_lines(headers)}Content-Length: {len(body)}\r\n\r\n".encode("ascii")
        connection = await self.connector.connect(self._request, [], _NO_TIMEOUT)
        try:
            protocol, transport = connection.protocol, connection.transport
            if protocol is None or transport is None:
                raise aiohttp.ServerDisconnectedError
            protocol.set_response_params(read_until_eof=True, auto_decompress=False)
            transport.write(head + body)
            while True:
                message, content = await protocol.read()
                if message.code >= 200 or message.code == 101:
                    return _Answer(message.code, int(message.headers.get("Content-Length", "0")), content, connection)
        except BaseException:
            connection.close()
            raise

    async def close(self) -> None:
        """Close its connections, also those in use."""
        await self.connector.hang_up()


def _lines(headers: Mapping[str, str]) -> str:
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if lines.count("\n") != len(headers):
        raise ValueError("a header has a line break in it")
    return lines


class Sender:
    """Sends the deliveries of all webhooks; one for the whole process, made and used on one event loop.

    `timeout_s`: for a whole attempt, in seconds. `tls`: see tls_context(). `resolve`, `make_socket`: other names, other sockets (tests).
    """

    def __init__(
        self,
        own: Own,
        allowed: Networks,
        *,
        timeout_s: float,
        tls: ssl.SSLContext,
        resolve: Resolve | None = None,
        make_socket: MakeSocket = open_socket,
    ) -> None:
        self._timeout_s = timeout_s
        resolver = resolve or SystemResolver()
        self._connector = partial(
            GuardedConnector, own=own, allowed=allowed, tls=tls, resolve=resolver, habits=Habits(), make_socket=make_socket
        )
        self._lines: dict[str, _Line] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._sweeper: asyncio.TimerHandle | None = None
        self._closed = False

    async def post(self, target: Target, body: bytes, headers: Mapping[str, str], *, webhook: str | None = None) -> Outcome:
        """Send `body` once, and only once: nothing is repeated, whatever happens.

        `target`: from check_url() with the same `own` and `allowed`; every connection is checked again. `webhook`: whose connection
        may be kept for what it sends next; None: a connection for this delivery alone. Every failure is an outcome; raises nothing
        but CancelledError, after which nobody knows whether the body has arrived.
        """
        started = perf_counter()
        dial = Dial()
        DIAL.set(dial)
        line: _Line | None = None
        answer: _Answer | None = None
        error: str | None = None
        try:
            line = self._enter(webhook, target)
            async with asyncio.timeout(self._timeout_s):
                answer = await line.send(body, headers)
            error = _reason_of_status(answer.status)
            duration_s = perf_counter() - started
            await answer.end(min(DRAIN_S, self._timeout_s - duration_s))
        except FAULTS as fault:
            error = "refused_address" if dial.refused else _reason(fault)
            duration_s = perf_counter() - started
            if line is not None and dial.reused and error == "connection_lost":
                line.connector.was_closed_silently()
        finally:
            if line is not None:
                line.connector.sweep()
                self._leave(line)
        return Outcome(error is None, answer.status if answer else None, error, round(duration_s * 1000))

    async def close(self) -> None:
        """Close every connection; deliveries under way, and any later one, fail as `connection_lost`."""
        self._closed = True
        for webhook in list(self._lines):
            self._hang_up(self._lines.pop(webhook))
        while self._closing:
            await asyncio.wait(self._closing)

    def _enter(self, webhook: str | None, target: Target) -> _Line:
        """The webhook's line to its target, which stays open until _leave()."""
        if self._closed:
            raise RuntimeError("the sender is closed")
        line = self._lines.get(webhook) if webhook is not None else None
        if line is None or line.target != target:
            new = _Line(target, self._connector(target, kept=webhook is not None), kept=webhook is not None)
            if line is not None:
                # The webhook goes elsewhere now; what is under way there is finished there.
                line.retired = True
                if not line.in_flight:
                    self._hang_up(line)
            line = new
            if webhook is not None:
                self._lines[webhook] = line
                if self._sweeper is None:
                    self._sweeper = asyncio.get_running_loop().call_later(KEEP_S, self._sweep)
        line.in_flight += 1
        return line

    def _leave(self, line: _Line) -> None:
        line.in_flight -= 1
        line.idle_since = asyncio.get_running_loop().time()
        if line.retired and not line.in_flight:
            self._hang_up(line)

    def _sweep(self) -> None:
        """Put away what nobody has used for so long that its connections are not used again."""
        loop = asyncio.get_running_loop()
        for webhook, line in list(self._lines.items()):
            if not line.in_flight and loop.time() - line.idle_since >= KEEP_S:
                self._hang_up(self._lines.pop(webhook))
        self._sweeper = loop.call_later(KEEP_S, self._sweep) if self._lines else None

    def _hang_up(self, line: _Line) -> None:
        task = background.start("closing of webhook connections", line.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


def _reason_of_status(status: int) -> str | None:
    """The error of an answer; None for 2xx (SPEC.md 6.5)."""
    if 200 <= status <= 299:
        return None
    return "redirect" if 300 <= status <= 399 else "http_status"


def _reason(fault: Exception) -> str:
    """The error of a delivery that got no answer. Of its text nothing is taken over: it may hold what the receiver wrote."""
    match fault:
        case TargetRefused():
            return "refused_address"
        case LookupFailed():
            return "dns_failed"
        case ssl.SSLError() | aiohttp.ClientSSLError() | aiohttp.ClientConnectorCertificateError():
            return "tls_failed"
        case aiohttp.ClientConnectorError():
            return "connect_failed"
        case TimeoutError():
            return "timeout"
        case aiohttp.ClientOSError() if isinstance(fault.__cause__, ssl.SSLError):
            return "tls_failed"
        case aiohttp.ClientConnectionError() | ConnectionError() | RuntimeError():
            return "connection_lost"
        case OSError():
            return "connect_failed"
    return "bad_response"
