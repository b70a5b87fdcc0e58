"""HTTP server of one application. It has the state that its connections share, and closes these connections."""

import asyncio
import logging
import random
import resource
from collections.abc import Callable, Mapping
from email.utils import formatdate
from typing import cast

from aiohttp import HttpVersion10, HttpVersion11, web

from chatsvc.log import request_id as logged_request_id
from chatsvc.web.client_address import ClientAddresses, share_of
from chatsvc.web.connection import HttpConnection
from chatsvc.web.limits import ConnectionLimits
from chatsvc.web.requests import INFO, BadRequest, HttpFault, RequestInfo

log = logging.getLogger(__name__)

RESERVED_FILES = 64  # file descriptors that connections leave free: the store and the command line need some, too
LOG_EVERY_S = 60.0
# While the service stops: how often it looks for requests that have arrived, and how long clients have to close their side.
LOOK_EVERY_S = 0.01
LAST_LINGER_S = 0.5

Refuse = Callable[[HttpFault, str], web.Response]  # the second argument is the request's id


class Unparsed(web.Response):
    """Response to bytes that could not be parsed as a request. aiohttp's own response would name aiohttp."""

    async def prepare(self, request: web.BaseRequest) -> None:
        """Write the whole response."""
        body = cast("bytes", self.body or b"")
        fields = {**self.headers, "Date": formatdate(usegmt=True), "Content-Length": len(body), "Connection": "close"}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        if request.transport is not None:
            request.transport.write(f"HTTP/1.1 {self.status} {self.reason}\r\n{head}\r\n".encode("latin-1") + body)

    async def write_eof(self, data: bytes = b"") -> None:
        """Do nothing, because the whole response is written already."""


class HttpServer:
    """Server of an application for the connections of one or more listeners.

    `unparsed` makes the response to bytes that could not be parsed as a request. `always` are header fields of each response. While
    `is_leaving` is true, the connection is closed after each response.
    """

    def __init__(
        self,
        application: web.Application,
        limits: ConnectionLimits,
        addresses: ClientAddresses,
        unparsed: Refuse,
        always: Mapping[str, str] | None = None,
    ) -> None:
        self._unparsed = unparsed
        self._always = dict(always or {})
        application.on_response_prepare.append(self._complete_headers)
        self._runner = web.AppRunner(application, access_log=None)
        self.limits = limits
        self.addresses = addresses
        self.connections: set[HttpConnection] = set()
        self.is_leaving = False
        self.aiohttp_server: web.Server
        self._logged_at = float("-inf")

    async def start(self) -> None:
        """Prepare the application. Listeners call `connect` for each new connection."""
        await self._runner.setup()
        inner = self._runner.server
        if inner is None:
            raise RuntimeError("the application has no server")
        self._handle, self._make_request = inner.request_handler, inner.request_factory
        self.aiohttp_server = web.Server(self._answer, request_factory=self._make_request)

    def connect(self) -> HttpConnection:
        """Return the protocol object of a new connection."""
        return HttpConnection(self, asyncio.get_running_loop())

    def enter(self, connection: HttpConnection, transport: asyncio.BaseTransport) -> None:
        """Count a new connection. Close it if the process is running out of file descriptors."""
        peer = transport.get_extra_info("peername")
        connection.peer = str(peer[0]) if isinstance(peer, tuple) else None
        connection.is_proxy = self.addresses.is_proxy(connection.peer)
        connection.share = None if connection.is_proxy or connection.peer is None else share_of(connection.peer)
        self.connections.add(connection)
        sock = transport.get_extra_info("socket")
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        # The system gives the lowest number that is free, so a high one tells that nearly all are used.
        if sock is None or sock.fileno() < limit - min(RESERVED_FILES, limit // 4):
            self.limits.enter(connection)
            return
        connection.abort()
        now = asyncio.get_running_loop().time()
        if now - self._logged_at >= LOG_EVERY_S:
            self._logged_at = now
            log.error("cannot accept connections: too many files are open")

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pass a request to the application and return its response. Every request passes this method first."""
        connection = request.protocol
        if not isinstance(connection, HttpConnection):
            raise TypeError("a request came on a connection of another kind")
        client = connection.peer or "unknown"
        if connection.is_proxy:
            client = self.addresses.behind(client, *(request.headers.getall(name, ()) for name in ("X-Forwarded-For", "Forwarded")))
        request_id = f"{random.getrandbits(64):016x}"  # it does not reveal how many there were
        info = request[INFO] = RequestInfo(request_id, client, self.limits, connection)
        logged_request_id.set(info.id)
        if connection.fault is not None or not _is_clear(request):
            return self.refuse(connection.fault or BadRequest("ambiguous head"), connection.peer, info.id)
        if connection.is_proxy:
            info.count(share_of(info.client_address))
        if "Expect" in request.headers:
            # aiohttp would ask for the body before anybody wants it. Expectations that nobody knows are ignored.
            expected = request.headers["Expect"].lower() == "100-continue" and request.version == HttpVersion11
            info.expects_continue = expected and not request.content.is_eof()
            fields = [(name, value) for name, value in request.headers.items() if name.lower() != "expect"]
            request = request.clone(headers=[(name, value.encode("utf-8", "replace").decode()) for name, value in fields])
        connection.begin(request)
        try:
            return await self._handle(request)
        finally:
            info.release()

    def refuse(self, fault: HttpFault, peer: str | None, request_id: str = "") -> web.Response:
        """Return the response to bytes that are not HTTP, which also closes the connection. These bytes are neither echoed nor logged."""
        request_id = request_id or f"{random.getrandbits(64):016x}"
        log.info("[%s] what %s sent is no HTTP: %s", request_id, peer or "unknown", str(fault) or type(fault).__name__)
        worded = self._unparsed(fault, request_id)
        response = Unparsed(status=worded.status, body=worded.body, headers={**worded.headers, **self._always})
        response.force_close()
        return response

    async def _complete_headers(self, _: web.Request, response: web.StreamResponse) -> None:
        response.headers.popall("Server", None)
        response.headers.update(self._always)
        if not response.keep_alive:
            response.headers["Connection"] = "close"  # aiohttp leaves it out for HTTP/1.0

    async def finish(self, timeout_s: float) -> None:
        """Answer the requests that have arrived, and close all connections after at most `timeout_s` seconds."""
        self.is_leaving = True
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        # All that are idle are closed, until all are closing. No event tells of unread bytes in a socket.
        while not all([each.close_if_idle() for each in tuple(self.connections)]) and loop.time() < deadline:  # noqa: ASYNC110, C419
            await asyncio.sleep(LOOK_EVERY_S)
        deadline = loop.time() + LAST_LINGER_S
        while self.connections and loop.time() < deadline:  # noqa: ASYNC110  # each connection would need one
            await asyncio.sleep(LOOK_EVERY_S)
        await asyncio.gather(*(connection.shutdown(LOOK_EVERY_S) for connection in tuple(self.connections)))
        for connection in tuple(self.connections):
            connection.abort()
        await self._runner.cleanup()


def _is_clear(request: web.BaseRequest) -> bool:
    """Report whether a request head is unambiguous. aiohttp also accepts HTTP/0.9, and upgrade requests with an ambiguous length."""
    if request.version not in (HttpVersion10, HttpVersion11):
        return False
    headers = request.headers
    codings, lengths = headers.getall("Transfer-Encoding", ()), headers.getall("Content-Length", ())
    if len(codings) + len(lengths) > 1 or (codings and codings[0].lower() != "chunked"):
        return False
    return not lengths or (lengths[0].isascii() and lengths[0].isdecimal())
