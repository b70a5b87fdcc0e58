"""HTTP/1.1 connection. An asyncio protocol with a task for the requests being answered and one timer for its deadlines.

aiohttp's own request handler costs half the processor time of a request, words protocol faults in text, and gives heads, bodies
and slow readers as long as they like.
"""

import asyncio
import logging
import select
from typing import cast

from chatsvc.http.admission import Lease
from chatsvc.http.body import Body
from chatsvc.http.faults import BadRequest, BodyBroken, BodyTimeout, HeadTimeout, HttpFault, TooManyRequests
from chatsvc.http.parser import MAX_HEAD, Head, RequestParser
from chatsvc.http.request import HttpRequest
from chatsvc.http.response import HttpResponse
from chatsvc.http.sending import send, send_stream
from chatsvc.http.server import HttpServer

log = logging.getLogger(__name__)

HEAD_TIMEOUT_S = 10.0
READER_TIMEOUT_S = 10.0  # for the sockets' part of a response (some 50 KiB) to be taken: 5 KiB a second are enough
# For the rest of an unread body, and for the client to close its side: closing a socket on which bytes arrive would reset the connection,
# and the client could lose the response (RFC 9112 section 9.6).
LINGER_S = 2.0
KEEPALIVE_S = 75.0


class HttpConnection(asyncio.BufferedProtocol):
    """One connection. A fault of the protocol is worded by the front end, and the connection is closed."""

    def __init__(self, server: HttpServer, lease: Lease) -> None:
        self._server = server
        self._lease = lease
        self._loop = asyncio.get_running_loop()
        self._parser = RequestParser()
        self._next: Head | HttpFault | None = None
        self._request: HttpRequest | None = None
        self._transport: asyncio.Transport | None = None
        self._peer: str | None = None
        self._is_proxy = False
        self.task: asyncio.Task[None] | None = None
        self._has_begun = self._has_ended = self._is_closing = self._is_lingering = False
        self._is_read_paused = False
        self._data_waiter: asyncio.Future[None] | None = None
        self._drain_waiter: asyncio.Future[None] | None = None
        self._deadline = 0.0
        self._deadline_timer: asyncio.TimerHandle | None = None
        self._reader_timer: asyncio.TimerHandle | None = None

    # Callbacks of the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the deadline of the first head."""
        self._transport = transport = cast("asyncio.Transport", transport)  # it is a socket, or TLS over one
        peer = transport.get_extra_info("peername")
        self._peer = str(peer[0]) if isinstance(peer, tuple) else None
        self._is_proxy = self._server.addresses.is_proxy(self._peer)
        # A response is on its way until the sockets have all of it: what a buffer holds unseen has no deadline. (With 0 TLS never resumes.)
        transport.set_write_buffer_limits(1)
        self._server.connections.add(self)
        self._set_deadline(HEAD_TIMEOUT_S)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002  # asyncio's signature
        """Return the server's read buffer: one for all connections, since it is emptied at once."""
        return self._server.read_buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Parse what was read, and start answering once a head is complete."""
        if self._is_closing:
            return
        self._parser.receive(bytes(self._server.read_buffer[:nbytes]))
        if self.task is None:
            if self._parse_next():
                self.task = self._loop.create_task(self._answer())
            elif self._parser.buffered and not self._has_begun:
                self._has_begun = True
                self._lease.set_idle(None)
                self._set_deadline(HEAD_TIMEOUT_S)
        else:
            self._wake_body_reader()
        self._regulate_reading()

    def eof_received(self) -> bool:
        """Keep a half-closed connection open while a request is answered. TLS connections cannot be half closed."""
        self._has_ended = True
        self._wake_body_reader()
        return self.task is not None and self._transport is not None and self._transport.get_extra_info("sslcontext") is None

    def pause_writing(self) -> None:
        """Start the deadline for a client that does not read: its response is held meanwhile."""
        self._reader_timer = self._loop.call_later(READER_TIMEOUT_S, self._disconnect_slow_reader)

    def resume_writing(self) -> None:
        """Continue writing: the client has taken what was pending."""
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None
        self._wake_writer()

    def connection_lost(self, exc: BaseException | None) -> None:  # noqa: ARG002  # asyncio's signature
        """Release everything; a request being answered is still carried out."""
        self._transport = None
        self._is_closing = self._has_ended = True
        for timer in (self._deadline_timer, self._reader_timer):
            if timer is not None:
                timer.cancel()
        self._server.connections.discard(self)
        self._lease.release()
        self._wake_body_reader()
        self._wake_writer()

    # Reading.

    def _parse_next(self) -> bool:
        """Parse the next request; return whether there is one, or a fault, to be answered."""
        try:
            self._next = self._parser.next_head()
        except BadRequest as fault:
            self._next = fault
            self._is_closing = True
        if self._next is None:
            return False
        self._has_begun = False
        self._lease.set_idle(None)
        return True

    def _regulate_reading(self) -> None:
        """Pause the socket while a whole head's worth of bytes waits to be parsed."""
        pause, transport = self._parser.buffered >= MAX_HEAD, self._transport
        if pause is self._is_read_paused:
            return
        if transport is not None and not transport.is_closing():
            self._is_read_paused = pause
            if pause:
                transport.pause_reading()
            else:
                transport.resume_reading()

    async def _wait_for_data(self) -> None:
        if self._has_ended:
            raise BodyBroken
        self._regulate_reading()
        self._data_waiter = self._loop.create_future()
        try:
            await self._data_waiter
        finally:
            self._data_waiter = None

    def _wake_body_reader(self) -> None:
        if self._data_waiter is not None and not self._data_waiter.done():
            self._data_waiter.set_result(None)

    # Deadlines.

    def _set_deadline(self, seconds: float) -> None:
        """Set the deadline of what the client has to send. The timer is renewed when it expires, not with every request."""
        self._deadline = self._loop.time() + seconds
        if self._deadline_timer is None or self._deadline_timer.when() > self._deadline:
            if self._deadline_timer is not None:
                self._deadline_timer.cancel()
            self._deadline_timer = self._loop.call_at(self._deadline, self._check_deadline)

    def _check_deadline(self) -> None:
        self._deadline_timer = None
        if self.task is not None or self._transport is None:
            return
        if self._loop.time() < self._deadline:
            self._set_deadline(self._deadline - self._loop.time())
        elif self._is_lingering:
            self._transport.close()
        elif self._has_begun:
            self._next, self._is_closing = HeadTimeout(), True
            self.task = self._loop.create_task(self._answer())
        elif not self.close_if_idle():
            self._set_deadline(HEAD_TIMEOUT_S)

    def _disconnect_slow_reader(self) -> None:
        self._reader_timer = None
        who = self._request.client_address if self._request is not None else "a caller"
        log.info("%s did not read its answer and was disconnected", who)
        self.abort()

    # Answering.

    async def _answer(self) -> None:
        """Answer the requests that have arrived, one after another; then wait for more, or close."""
        try:
            while self._next is not None and self._transport is not None:
                current, self._next = self._next, None
                if not await self._answer_one(current):
                    self.close()
                    break
                has_next = self._parser.buffered > 0 and self._parse_next()
                self._regulate_reading()
                if has_next:
                    # Between pipelined requests it is the turn of other connections.
                    await asyncio.sleep(0)
        except (ConnectionError, TimeoutError):
            self.abort()
        except BaseException:
            self.abort()
            raise
        finally:
            self.task = self._request = None
        if self._has_ended:
            self.close()
        elif self._transport is not None and not self._is_closing:
            self._has_begun = bool(self._parser.buffered)
            if not self._has_begun:
                self._lease.set_idle(self.close_if_idle)
            self._set_deadline(HEAD_TIMEOUT_S if self._has_begun else KEEPALIVE_S)

    async def _answer_one(self, head: Head | HttpFault) -> bool:
        """Answer one request; return whether the connection may be used again. Raises ConnectionError and TimeoutError."""
        if isinstance(head, HttpFault):
            await self._send(self._server.refuse(head, None, self._peer), None, keep_alive=False)
            return False
        continue_ = self._send_continue if head.expects_continue else None
        body = Body(self._parser, head.length, self._server.admission, self._wait_for_data, continue_)
        request = self._request = HttpRequest(head, body, self._peer, self._server.addresses.of, self._lease)
        try:
            response = await (self._answer_forwarded(request) if self._is_proxy else self._server.answer(request))
        finally:
            body.release()
        # A client that is told does not send its next request on a connection that is about to be closed for another one.
        is_ending = self._server.is_leaving or self._lease.is_wanted
        keep_alive = head.keep_alive and not response.close and not is_ending and body.is_skippable
        keep_alive = await self._send(response, request, keep_alive=keep_alive)
        return (body.is_complete or await _skip(body)) and keep_alive

    async def _answer_forwarded(self, request: HttpRequest) -> HttpResponse:
        """Answer a request that a proxy forwards. It counts against the share of its client's address."""
        lease = self._server.take_request_lease(request.client_address)
        if lease is None:
            return self._server.refuse(TooManyRequests(), request, self._peer)
        request.leases.append(lease)
        try:
            return await self._server.answer(request)
        finally:
            lease.release()

    async def _send(self, response: HttpResponse, request: HttpRequest | None, *, keep_alive: bool) -> bool:
        """Send a response; return whether the connection may be kept."""
        is_http_1_0 = request is not None and request.head.is_http_1_0
        chunked = False
        if response.is_streamed:
            chunked = not is_http_1_0
            keep_alive = keep_alive and chunked
        connection = "close" if not keep_alive else "keep-alive" if is_http_1_0 else None
        head = response.render_head(connection, chunked=chunked, always=self._server.always)
        if not response.has_body or (request is not None and request.method == "HEAD"):
            response.body = b""
        if isinstance(response.body, bytes):
            await send(self, head, response)
        else:
            await send_stream(self, head, response.body, response.timeout_s, chunked=chunked)
        return keep_alive

    def _send_continue(self) -> None:
        self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    # Writing: see sending.ResponseWriter.

    @property
    def is_write_blocked(self) -> bool:
        """Whether the client has not taken what was written."""
        return self._reader_timer is not None

    def write(self, data: bytes) -> None:
        """Write; raises ConnectionError where the client has gone."""
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError("the client has gone")
        self._transport.write(data)

    async def drain(self) -> None:
        """Wait until the client has taken what was written; raises ConnectionError where it has gone."""
        if self._reader_timer is not None and self._transport is not None:
            self._drain_waiter = self._loop.create_future()
            try:
                await self._drain_waiter
            finally:
                self._drain_waiter = None
        if self._transport is None:
            raise ConnectionResetError("the client has gone")

    def _wake_writer(self) -> None:
        if self._drain_waiter is not None and not self._drain_waiter.done():
            self._drain_waiter.set_result(None)

    # Closing.

    def close(self) -> None:
        """Close the own side once the client has taken what was written. All is closed once the client closes, or after LINGER_S."""
        self._is_closing = True
        transport = self._transport
        if transport is None or self._is_lingering:
            return
        if self._has_ended or not transport.can_write_eof():
            transport.close()  # TLS lingers by itself
            return
        self._is_lingering = True
        transport.write_eof()
        if self._is_read_paused:
            self._is_read_paused = False
            transport.resume_reading()
        self._set_deadline(LINGER_S)

    def close_if_idle(self) -> bool:
        """Close unless a request is being answered, or has arrived unread. Return whether it is closing."""
        if self.task is not None:
            return False
        if not self._is_closing:
            if self._has_begun or self._has_arrived():
                return False
            self.close()
        return True

    def _has_arrived(self) -> bool:
        sock = self._transport.get_extra_info("socket") if self._transport is not None else None
        if sock is None or sock.fileno() < 0:
            return False
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return bool(poll.poll(0))

    def abort(self) -> None:
        self._is_closing = True
        if self._transport is not None:
            self._transport.abort()


async def _skip(body: Body) -> bool:
    """Return whether the rest of a body arrived in time."""
    try:
        await body.skip(LINGER_S)
    except (BodyTimeout, BodyBroken):
        return False
    return True
