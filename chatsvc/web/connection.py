"""HTTP connection based on aiohttp's. It adds deadlines, limits, half-closed connections, and error responses of our own."""

from __future__ import annotations

import asyncio
import logging
import select
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from aiohttp import web

from chatsvc.web.requests import BadRequest, HandlerFailed, HeadTimeout, HttpFault, leaves_connection

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
MAX_HEAD = 32 * 1024  # bytes of request line and fields
LEAST_READ = 50 * 1024  # bytes of a response that a caller must take within each deadline, or the rest of it
SETTLE_S = 0.05  # in which aiohttp begins the next request of those that have arrived
NO_HTTP = b"\0"  # a head that has this byte is refused
_LINE_END, _END_OF_HEAD = b"\r\n", b"\r\n\r\n"


class HttpConnection(web.RequestHandler):
    """One connection of a listener."""

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
        self._is_busy = self._has_head = self._has_more = self._has_ended = self._is_lingering = self._is_waiting = False
        self._early = b""  # what was read although the connection waits
        self._idle_since = 0.0
        # Bytes of the head that is arriving; those behind the last end of a head (a body, or a head that has begun behind it), and how many
        # of them are line ends at the end.
        self._head_size = self._tail_size = self._blank_size = 0
        self._window = b""  # the last bytes, among which an end of a head may have begun
        self._deadline = self._reader = loop.call_later(SILENT_TIMEOUT_S, self.force_close)  # the client reads so far
        self._closed = asyncio.Event()  # by the client
        self._wakes_when_ended: asyncio.Event | None = None  # of the request that is being answered

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the connection, and start the deadline for its first byte."""
        self._wire = cast("asyncio.Transport", transport)  # it is a socket, or TLS over one
        super().connection_made(transport)
        # A response is on its way until the sockets have all of it: what a buffer holds unseen has no deadline. (With 0 TLS never resumes.)
        self._wire.set_write_buffer_limits(1)
        self._server.enter(self, transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Release the resources of the connection. A request that is being processed is completed all the same."""
        self._wire = self._request = None
        self._note_end()
        self._deadline.cancel()
        self._reader.cancel()
        self._server.connections.discard(self)
        self._server.limits.leave(self)
        super().connection_lost(exc)

    def _note_end(self) -> None:
        self._has_ended = True
        self._closed.set()
        if self._wakes_when_ended is not None:
            self._wakes_when_ended.set()

    def wake_when_ended(self, waiter: asyncio.Event) -> None:
        """Set the event `waiter` once the client closes its side of the connection. The event is for the request that is being answered."""
        self._wakes_when_ended = waiter
        if self._has_ended:
            waiter.set()

    def abort(self) -> None:
        """Close the connection at once."""
        if self._wire is not None:
            self._wire.abort()

    def pause(self) -> None:
        """Stop reading, because the connection must wait until the limits permit it."""
        self._deadline.cancel()
        self._is_waiting = True
        self._stop_reading()
        # A new connection: uvloop begins to read once connection_made has returned.
        self._clock.call_soon(self._stop_reading)

    def _stop_reading(self) -> None:
        if self._is_waiting and self._wire is not None and not self._wire.is_closing():
            self._wire.pause_reading()

    def proceed(self) -> None:
        """Begin or continue to read."""
        self._is_waiting = False
        if self._wire is not None and not self._wire.is_closing():
            self._wire.resume_reading()
            self._deadline.cancel()
            self._deadline = self._clock.call_later(SILENT_TIMEOUT_S, self.force_close)
            early, self._early = self._early, b""
            if early:
                self.data_received(early)

    def close_if_idle(self) -> bool:
        """Close the connection, unless a request is being answered or waits unread. Return whether the connection is closing."""
        if self._wire is None or self._wire.is_closing():
            return True
        if self._is_busy or self._has_head or self._clock.time() - self._idle_since < SETTLE_S:
            return False
        if self.has_arrived() and not self._has_ended:
            return False
        self.force_close()
        return True

    def has_arrived(self) -> bool:
        """Report whether bytes have arrived that are not read yet."""
        if self._early:
            return True
        sock = self._wire.get_extra_info("socket") if self._wire is not None else None
        if sock is None or sock.fileno() < 0:
            return False
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return bool(poll.poll(0))

    def data_received(self, data: bytes) -> None:
        """Parse the bytes read. aiohttp itself calls this without data to continue parsing."""
        if self._is_lingering:
            return
        if self._is_waiting:
            self._early += data
            return
        for piece in [data] if data.count(_END_OF_HEAD) < 2 else _cut(data):
            is_head = not self._is_busy and (self._has_head or bool(piece.strip(_LINE_END)))
            if is_head and not self._has_head:
                self.keep_alive(True)  # this ends aiohttp's deadline of the idle connection
                self._expect_head()
                self._window = b""
            window = self._window + piece
            _, end, tail = window.rpartition(_END_OF_HEAD)
            self._window = window[-3:]
            self._tail_size = len(tail) if end else self._tail_size + len(piece)
            self._blank_size = len(tail) - len(tail.rstrip(_LINE_END))
            parsed = piece
            if is_head:
                self._head_size += len(piece) - (len(tail) if end else 0)
                if end:
                    self._is_busy = True
                    self._deadline.cancel()
                if self._head_size > MAX_HEAD:
                    self.fault, self._is_busy = BadRequest("head too large"), True
                    parsed = piece if end else piece + NO_HTTP
            elif piece and self._request is not None and self._request.content.is_eof():
                self._has_more = True
            super().data_received(parsed)

    def _expect_head(self) -> None:
        """Start the deadline for a request head whose first bytes are arriving or have arrived."""
        self._has_head, self._head_size = True, 0
        self._deadline.cancel()
        self._deadline = self._clock.call_later(HEAD_TIMEOUT_S, self._refuse_late_head)

    def _refuse_late_head(self) -> None:
        self.fault, self._is_busy = HeadTimeout(), True
        super().data_received(NO_HTTP)

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio's protocols may keep a half-closed connection
        """Keep a half-closed connection open while a request is answered. TLS connections cannot be half-closed."""
        self._note_end()
        self._end_body()
        return (self._is_busy or bool(self._early)) and not self._is_lingering and self.ssl_context is None

    def _end_body(self) -> None:
        if self._request is not None and not self._request.content.is_eof():
            self._request.content.set_exception(web.RequestPayloadError("the body ended early"))

    def begin(self, request: web.BaseRequest) -> None:
        """Note that a request is being answered."""
        self._request, self._is_busy, self._has_more, self._has_head = request, True, False, False
        self._deadline.cancel()
        if self._has_ended:
            self._end_body()

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send a response. Return when it is passed to the operating system and the connection is ready for another request, or closed."""
        request = self._request or request  # aiohttp's is as it was before headers were taken from it
        if self._server.is_leaving or not leaves_connection(request, resp) or not self._server.limits.may_keep(self):
            resp.force_close()
        result = await super().finish_response(request, resp, start_time)
        await request.writer.drain()
        if resp.keep_alive and not request.content.is_eof():
            # Read what is left of the body, or as much as comes in time.
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
        elif self._has_more or self._tail_size - self._blank_size > (request.content_length or 0):
            self._expect_head()
        if self._wire is not None:
            self._server.limits.set_idle(self)
        return result

    async def _linger(self) -> None:
        """Close the sending direction, and wait up to LINGER_S seconds until the client closes its side. TLS does this by itself."""
        if self._wire is not None and not self._has_ended and self._wire.can_write_eof():
            self._is_lingering = True
            self._wire.write_eof()
            self._wire.resume_reading()
            with suppress(TimeoutError):
                async with asyncio.timeout(LINGER_S):
                    await self._closed.wait()
        self.force_close()

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Return the error response to bytes that are not HTTP. As they may contain a key, they are neither echoed nor logged."""
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
        """Log that a response was cut off. The text of the exception is left out, because it may quote the request."""
        log.error("a response broke off: %s", args[0] if args else "")

    def pause_writing(self) -> None:
        """Start the deadline for a client that does not read, because its response stays in memory meanwhile."""
        super().pause_writing()
        if self._wire is not None:
            self._watch_reader(self._wire, self._wire.get_write_buffer_size())

    def _watch_reader(self, wire: asyncio.Transport, pending: int) -> None:
        self._reader = self._clock.call_later(READER_TIMEOUT_S, self._check_reader, wire, pending)

    def _check_reader(self, wire: asyncio.Transport, before: int) -> None:
        """Close the connection if the client has read fewer than LEAST_READ bytes since the last check."""
        pending = wire.get_write_buffer_size()
        if before - pending >= LEAST_READ:
            self._watch_reader(wire, pending)
        else:
            log.info("%s did not read its answer and was disconnected", self.peer or "a caller")
            wire.abort()

    def resume_writing(self) -> None:
        """Continue to write, because the client has read the pending bytes."""
        self._reader.cancel()
        super().resume_writing()


def _cut(data: bytes) -> list[bytes]:
    """Split bytes after each request head, so that an invalid head does not lose the requests before it."""
    *heads, rest = data.split(_END_OF_HEAD)
    return [*(head + _END_OF_HEAD for head in heads), *([rest] if rest else [])]
