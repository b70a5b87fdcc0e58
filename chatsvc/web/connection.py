"""HTTP connection: aiohttp's, with deadlines, limits, half-closed callers, and answers of our own to what is no HTTP."""

from __future__ import annotations

import asyncio
import logging
import select
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from aiohttp import HttpVersion11, web

from chatsvc.web.deadlines import END_OF_HEAD, MAX_HEAD, Deadline, HeadWatch, ReaderWatch
from chatsvc.web.faults import BadRequest, HandlerFailed, HeadTimeout, HttpFault
from chatsvc.web.requests import info_of

if TYPE_CHECKING:
    from chatsvc.web.server import HttpServer

log = logging.getLogger(__name__)

SILENT_TIMEOUT_S = 10.0  # for the first byte
HEAD_TIMEOUT_S = 10.0
KEEPALIVE_S = 75.0
READER_TIMEOUT_S = 10.0
# For the rest of an unread body, and for the client to close its side: closing a socket on which bytes arrive would reset the connection,
# and the client could lose the response (RFC 9112 section 9.6).
LINGER_S = 2.0
SETTLE_S = 0.05  # in which aiohttp begins the next request of those that have arrived
MAX_SKIPPED = 1024 * 1024  # bytes of an unread body for which a connection is kept
_CLOSING = ("Transfer-Encoding", "Upgrade")


class HttpConnection(web.RequestHandler):
    """One connection to one of the listeners."""

    def __init__(self, server: HttpServer, loop: asyncio.AbstractEventLoop) -> None:
        settings: dict[str, Any] = {"access_log": None, "auto_decompress": False, "lingering_time": LINGER_S}
        super().__init__(server.aiohttp_server, loop=loop, keepalive_timeout=KEEPALIVE_S, **settings)
        self._server, self._clock = server, loop
        self.share: str | None = None
        self.peer: str | None = None
        self.is_proxy = False
        self._wire: asyncio.Transport | None = None
        self._request: web.BaseRequest | None = None
        self.fault: HttpFault | None = None
        self._is_busy = self._has_more = self._has_ended = self._is_lingering = False
        self._idle_since = 0.0
        self._head, self._deadline, self._reader = HeadWatch(), Deadline(), ReaderWatch()
        self._closed: asyncio.Future[None] = loop.create_future()

    # Opening and closing.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the connection, and start the deadline of its first byte."""
        self._wire = cast("asyncio.Transport", transport)  # it is a socket, or TLS over one
        super().connection_made(transport)
        # A response is on its way until the sockets have all of it: what a buffer holds unseen has no deadline. (With 0 TLS never resumes.)
        self._wire.set_write_buffer_limits(1)
        self._server.enter(self, transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Release everything; a request being answered is still carried out."""
        self._wire = self._request = None
        self._has_ended = True
        self._deadline.cancel()
        self._reader.stop()
        self._server.connections.discard(self)
        self._server.limits.leave(self)
        if not self._closed.done():
            self._closed.set_result(None)
        super().connection_lost(exc)

    def abort(self) -> None:
        """Close at once."""
        if self._wire is not None:
            self._wire.abort()

    def pause(self) -> None:
        """Stop reading; see Limited."""
        if self._wire is not None:
            self._wire.pause_reading()

    def proceed(self) -> None:
        """Begin to read; see Limited."""
        if self._wire is not None and not self._wire.is_closing():
            self._wire.resume_reading()
            self._deadline.set(SILENT_TIMEOUT_S, self.force_close)

    def close_if_idle(self) -> bool:
        """Close unless a request is being answered, or has arrived unread. Return whether it is closing."""
        if self._wire is None or self._wire.is_closing():
            return True
        if self._is_busy or self._head.has_begun or self._clock.time() - self._idle_since < SETTLE_S:
            return False
        if self.has_arrived() and not self._has_ended:
            return False
        self.force_close()
        return True

    def has_arrived(self) -> bool:
        """Report whether bytes wait unread in the socket."""
        return self._wire is not None and _has_arrived(self._wire)

    # Reading.

    def data_received(self, data: bytes) -> None:
        """Parse what was read. aiohttp itself calls this without data, to continue."""
        if self._is_lingering:
            return
        for piece in _pieces(data):
            self._feed(piece)

    def _feed(self, data: bytes) -> None:
        if data and not self._is_busy:
            self._follow_head(data)
        elif data and self._request is not None and self._request.content.is_eof():
            self._has_more = True
        super().data_received(data)
        if self._head.has_begun and not self._is_busy and self._head.size > MAX_HEAD:
            self._break(BadRequest("head too large"))

    def _follow_head(self, data: bytes) -> None:
        """Start the deadline of a head that arrives in pieces."""
        if self._head.is_blank(data):
            return
        is_first = not self._head.has_begun
        self._server.limits.set_busy(self)
        if self._head.is_complete(data):
            self._is_busy = True
            if self._head.size > MAX_HEAD:
                self.fault = BadRequest("head too large")
            self._deadline.cancel()
        elif is_first:
            self.keep_alive(True)  # this ends aiohttp's deadline of the idle connection
            self._deadline.set(HEAD_TIMEOUT_S, partial(self._break, HeadTimeout()))

    def _break(self, fault: HttpFault) -> None:
        """Have the unfinished head refused: with this byte it is no HTTP."""
        self.fault, self._is_busy = fault, True
        super().data_received(b"\0")

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio's protocols may keep a half-closed connection
        """Keep a half-closed connection open while a request is answered. TLS connections cannot be half closed."""
        self._has_ended = True
        self._end_body()
        if not self._closed.done() and self._is_lingering:
            self._closed.set_result(None)
        return self._is_busy and not self._is_lingering and self.ssl_context is None

    def _end_body(self) -> None:
        if self._has_ended and self._request is not None and not self._request.content.is_eof():
            self._request.content.set_exception(web.RequestPayloadError("the body ended early"))

    def begin(self, request: web.BaseRequest) -> None:
        """Note that a request is being answered."""
        self._request, self._is_busy, self._has_more, self._head.has_begun = request, True, False, False
        self._deadline.cancel()
        self._server.limits.set_busy(self)
        self._end_body()

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send a response; return when the sockets have taken it and the connection is ready for another request, or closed."""
        request = self._request or request  # aiohttp knows it as it was before headers were taken from it
        if self._server.is_leaving or not _leaves_connection(request, resp) or not self._server.limits.may_keep(self):
            resp.force_close()
        result = await super().finish_response(request, resp, start_time)
        await request.writer.drain()
        if resp.keep_alive and not request.content.is_eof():
            with suppress(TimeoutError, web.RequestPayloadError, ConnectionError):
                async with asyncio.timeout(LINGER_S):
                    while not request.content.at_eof():
                        await request.content.readany()
        if not resp.keep_alive or not request.content.is_eof():
            await self._linger()
            return result
        self._request, self._is_busy, self._idle_since = None, False, self._clock.time()
        if self._has_ended:
            self._clock.call_later(2 * SETTLE_S, self.close_if_idle)
        elif self._has_more:
            self._head.begin()
            self._deadline.set(HEAD_TIMEOUT_S, partial(self._break, HeadTimeout()))
        if self._wire is not None:
            self._server.limits.set_idle(self)
        return result

    async def _linger(self) -> None:
        """Close the own side, and wait until the client closes, or for LINGER_S. TLS lingers by itself."""
        if self._wire is not None and not self._has_ended and self._wire.can_write_eof():
            self._is_lingering = True
            self._wire.write_eof()
            self._wire.resume_reading()
            with suppress(TimeoutError):
                async with asyncio.timeout(LINGER_S):
                    await self._closed
        self.force_close()

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Refuse what is no HTTP. The faulty bytes, which may hold a key, are neither echoed nor logged."""
        self._deadline.cancel()
        self._is_busy = True
        del message
        if exc is not None:
            exc.with_traceback(None)  # the frames in it hold this connection
        fault = self.fault or (BadRequest(type(exc).__name__) if status < 500 else HandlerFailed())
        if request.writer.output_size:
            raise ConnectionResetError("a part of the response is sent already")
        return self._server.refuse(fault, self.peer)

    def log_exception(self, *args: Any, **_: Any) -> None:
        """Log that a response broke off; what aiohttp has to say of it may quote the request."""
        log.error("a response broke off: %s", args[0] if args else "")

    # Writing.

    def pause_writing(self) -> None:
        """Start the deadline for a client that does not read: its response is held meanwhile."""
        super().pause_writing()
        if self._wire is not None:
            self._reader.start(self._wire, READER_TIMEOUT_S, self._disconnect_slow_reader)

    def resume_writing(self) -> None:
        """Continue writing: the client has taken what was pending."""
        self._reader.stop()
        super().resume_writing()

    def _disconnect_slow_reader(self) -> None:
        log.info("%s did not read its answer and was disconnected", self.peer or "a caller")
        self.abort()


def _has_arrived(transport: asyncio.Transport) -> bool:
    sock = transport.get_extra_info("socket")
    if sock is None or sock.fileno() < 0:
        return False
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


def _pieces(data: bytes) -> list[bytes]:
    """Cut bytes behind each head, so that a fault loses no request before it."""
    if data.count(END_OF_HEAD) < 2:
        return [data]
    *heads, rest = data.split(END_OF_HEAD)
    return [*(head + END_OF_HEAD for head in heads), *([rest] if rest else [])]


def _leaves_connection(request: web.BaseRequest, response: web.StreamResponse) -> bool:
    """Report whether the connection can be used again: what is left of the request, and the response, have an end."""
    # What comes behind a declined upgrade aiohttp may lose, and behind a chunked body may be fields of its trailer.
    if request.method == "CONNECT" or any(name in request.headers for name in _CLOSING):
        return False
    if request.version < HttpVersion11 and response.content_length is None:
        return False
    content = request.content
    if content.is_eof():
        return True
    info = info_of(request)
    is_lost = info.is_body_lost or info.expects_continue or content.exception() is not None
    return not is_lost and (request.content_length or 0) <= MAX_SKIPPED
