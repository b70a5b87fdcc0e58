"""HTTP connection: aiohttp's, with deadlines, limits, half-closed callers, and answers of our own to what is no HTTP."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from aiohttp import web

from chatsvc.web import bodies, deadlines
from chatsvc.web.faults import BadRequest, HandlerFailed, HeadTimeout, HttpFault
from chatsvc.web.requests import leaves_connection

if TYPE_CHECKING:
    from chatsvc.web.server import HttpServer

log = logging.getLogger(__name__)

NO_HTTP = b"\0"  # a head that has this byte is refused
SETTLE_S = 0.05  # in which aiohttp begins the next request of those that have arrived


class HttpConnection(web.RequestHandler):
    """One connection to one of the listeners."""

    def __init__(self, server: HttpServer, loop: asyncio.AbstractEventLoop) -> None:
        settings: dict[str, Any] = {"access_log": None, "auto_decompress": False, "lingering_time": deadlines.LINGER_S}
        super().__init__(server.aiohttp_server, loop=loop, keepalive_timeout=deadlines.KEEPALIVE_S, **settings)
        self._server, self._clock = server, loop
        self.share: str | None = None
        self.peer: str | None = None
        self.is_proxy = False
        self._wire: asyncio.Transport | None = None
        self._request: web.BaseRequest | None = None
        self.fault: HttpFault | None = None
        self._is_busy = self._has_more = self._has_ended = self._is_lingering = False
        self._idle_since = 0.0
        self._head, self._deadline, self._reader = deadlines.HeadWatch(), deadlines.Deadline(), deadlines.ReaderWatch()
        self._tail = deadlines.TailWatch()
        self._closed = asyncio.Event()  # by the client

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
        self._closed.set()
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
            self._deadline.set(deadlines.SILENT_TIMEOUT_S, self.force_close)

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
        sock = self._wire.get_extra_info("socket") if self._wire is not None else None
        return sock is not None and deadlines.is_readable(sock)

    def data_received(self, data: bytes) -> None:
        """Parse what was read. aiohttp itself calls this without data, to continue."""
        if data:
            self._tail.add(data)
        for piece in deadlines.pieces(data) if not self._is_lingering else ():
            if piece and not self._is_busy and not self._head.is_blank(piece):
                if not self._head.has_begun:
                    self.keep_alive(True)  # this ends aiohttp's deadline of the idle connection
                    self._expect_head()
                if is_complete := self._head.is_complete(piece):
                    self._is_busy = True
                    self._deadline.cancel()
                if self._head.size > deadlines.MAX_HEAD:
                    self.fault, self._is_busy = BadRequest("head too large"), True
                    piece = piece if is_complete else piece + NO_HTTP  # noqa: PLW2901
            elif piece and self._request is not None and self._request.content.is_eof():
                self._has_more = True
            super().data_received(piece)

    def _expect_head(self) -> None:
        self._deadline.set(deadlines.HEAD_TIMEOUT_S, self._refuse_late_head)

    def _refuse_late_head(self) -> None:
        self.fault, self._is_busy = HeadTimeout(), True
        super().data_received(NO_HTTP)

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio's protocols may keep a half-closed connection
        """Keep a half-closed connection open while a request is answered. TLS connections cannot be half closed."""
        self._has_ended = True
        self._end_body()
        self._closed.set()
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
        request = self._request or request  # aiohttp's is as it was before headers were taken from it
        if self._server.is_leaving or not leaves_connection(request, resp) or not self._server.limits.may_keep(self):
            resp.force_close()
        result = await super().finish_response(request, resp, start_time)
        await request.writer.drain()
        if resp.keep_alive:
            await bodies.skip_rest(request)
        if not resp.keep_alive or not request.content.is_eof():
            await self._linger()
            return result
        self._request, self._is_busy, self._idle_since = None, False, self._clock.time()
        if self._has_ended:
            self._clock.call_later(2 * SETTLE_S, self.close_if_idle)
        elif self._has_more or self._tail.exceeds(request.content_length or 0):
            self._head.begin()
            self._expect_head()
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
                async with asyncio.timeout(deadlines.LINGER_S):
                    await self._closed.wait()
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

    def pause_writing(self) -> None:
        """Start the deadline for a client that does not read: its response is held meanwhile."""
        super().pause_writing()
        if self._wire is not None:
            self._reader.start(self._wire, deadlines.READER_TIMEOUT_S, self.peer)

    def resume_writing(self) -> None:
        """Continue writing: the client has taken what was pending."""
        self._reader.stop()
        super().resume_writing()
