"""HTTP/1.1 as aiohttp's parser reads it, answered with as little as it takes: a task for what comes in one go, one timer a connection.

aiohttp's own handler of a connection costs half the processor time of a request of the interface, tells faults of the protocol in text
and lets heads, bodies and readers take as long as they like. Here a fault is told in SPEC.md's JSON, and everything has its time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import cast

from aiohttp import EMPTY_PAYLOAD, HttpVersion10, HttpVersion11, StreamReader, hdrs, http_parser, web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http import HttpRequestParser, RawRequestMessage
from aiohttp.http_exceptions import BadStatusLine
from aiohttp.http_parser import HttpParser

from chatsvc.api import render
from chatsvc.api.request import Request
from chatsvc.api.sending import send
from chatsvc.domain import errors
from chatsvc.domain.limiter import Slot

log = logging.getLogger(__name__)

HEAD_TIMEOUT_S = 10.0
READER_TIMEOUT_S = 10.0  # for what the sockets hold of an answer (some 50 KiB) to be taken: 5 KiB a second are enough
LINGER_S = 2.0  # for the rest of a body that nobody needs: a caller who still sends would lose the answer that came before its end
KEEPALIVE_S = 75.0
MAX_HEAD_FIELD = 8190
MAX_BUFFERED = 64 * 1024
VERSIONS = (HttpVersion10, HttpVersion11)
Handler = Callable[[Request], Awaitable[render.Response]]
Parsed = tuple[RawRequestMessage | Exception, StreamReader]

if http_parser.HttpRequestParser is http_parser.HttpRequestParserPy:
    raise RuntimeError("aiohttp runs without its C parser, which is the stricter one: reinstall aiohttp from a wheel")


class Connection(BaseProtocol):
    """One connection; what cannot be parsed or does not arrive in time is 400 `invalid_json`, and the connection is closed."""

    __slots__ = (
        "_body",
        "_deadline",
        "_deaf",
        "_ended",
        "_head_begun",
        "_jam_timer",
        "_leaving",
        "_remote",
        "_request",
        "_requests",
        "_server",
        "_timer",
        "_upgrade",
        "answering",
    )

    def __init__(self, server: Server, loop: asyncio.AbstractEventLoop) -> None:
        parser = HttpRequestParser(
            self,
            loop,
            MAX_BUFFERED,
            max_line_size=MAX_HEAD_FIELD,
            max_field_size=MAX_HEAD_FIELD,
            payload_exception=web.RequestPayloadError,
            auto_decompress=False,
            max_msg_queue_size=1,
        )
        super().__init__(loop, parser)
        self._server = server
        self._requests: deque[Parsed] = deque()
        self._request: Request | None = None
        self.answering: asyncio.Task[None] | None = None
        self._body: StreamReader = EMPTY_PAYLOAD
        self._remote: str | None = None
        self._deaf = self._ended = self._leaving = False
        self._head_begun = self._upgrade = False
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._jam_timer: asyncio.TimerHandle | None = None

    # What the event loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A new connection: its first head must come in time."""
        self.transport = transport = cast("asyncio.Transport", transport)  # it is a socket, or TLS over one
        peer = transport.get_extra_info("peername")
        self._remote = str(peer[0]) if isinstance(peer, tuple) else None
        # An answer is on its way until the sockets have all of it: what a buffer holds unseen has no time. (With 0 TLS never writes on.)
        transport.set_write_buffer_limits(1)
        self._server.connections.add(self)
        self._give(HEAD_TIMEOUT_S)

    def data_received(self, data: bytes) -> None:
        """Feed the parser, and answer what is whole. One request at most waits behind the one that is being answered."""
        parser = self._parser
        if self._deaf or parser is None:
            return
        between = self._body.is_eof()
        try:
            self._feed(parser, data)
        except Exception as fault:  # noqa: BLE001  # whatever the parser stumbles over is no HTTP
            self._requests.append((fault, EMPTY_PAYLOAD))
            self._deaf = True
            self._break_off()
        if self._requests:
            self._head_begun = False
            if self.answering is None:
                self.answering = self._loop.create_task(self._answer())
            elif not self._buffer_paused:
                self._pause_reading_for_buffer()
        elif between and not self._head_begun and data.strip(b"\r\n"):
            self._head_begun = True
            if self.answering is None:
                self._give(min(HEAD_TIMEOUT_S, self._deadline - self._loop.time()))

    def _feed(self, parser: HttpParser[RawRequestMessage], data: bytes) -> None:
        """Parse up to the end of one request; the parser keeps what is behind it, and goes on with that when it is fed again."""
        if self._upgrade and self._body.is_eof():
            # Declined: what follows is HTTP like what came before. The parser hands it out only where it takes the upgrade for accepted.
            self._upgrade = False
            parser.set_upgraded(True)
            _, _, data = parser.feed_data(data)
            parser.set_upgraded(False)
        for message, body in parser.feed_data(data)[0]:
            # aiohttp's parser takes HTTP/0.9 and a textual HTTP/2.0 too.
            if message.version not in VERSIONS:
                raise BadStatusLine
            self._requests.append((message, body))
            self._body, self._upgrade = body, message.upgrade

    def _break_off(self) -> None:
        """Let whoever reads the body know that the rest of it will not come."""
        if not self._body.is_eof():
            self._body.set_exception(web.RequestPayloadError("the body is broken"))
            self._body.feed_eof()

    def eof_received(self) -> bool:
        """The caller sends no more; what it has asked for is answered all the same, where a connection can be half open: TLS cannot."""
        self._ended = True
        self._break_off()
        return self.answering is not None and self.transport is not None and self.transport.get_extra_info("sslcontext") is None

    def pause_writing(self) -> None:
        """The caller does not take its answer: that has an end too, for the answer is held in memory meanwhile."""
        super().pause_writing()
        self._jam_timer = self._loop.call_later(READER_TIMEOUT_S, self._reader_is_late)

    def resume_writing(self) -> None:
        """The caller has taken what was waiting."""
        if self._jam_timer is not None:
            self._jam_timer.cancel()
            self._jam_timer = None
        super().resume_writing()

    def connection_lost(self, exc: BaseException | None) -> None:
        """The peer has gone; what it asked for is done all the same."""
        self._deaf = True
        for timer in (self._timer, self._jam_timer):
            if timer is not None:
                timer.cancel()
        self._server.connections.discard(self)
        self._break_off()
        super().connection_lost(exc)
        # They hold each other, and would wait for the garbage collector.
        self._parser, self._body = None, EMPTY_PAYLOAD
        self._requests.clear()

    # Time.

    def _give(self, seconds: float) -> None:
        """Whoever is to send something has so long for it. The timer is set anew when it goes off, not with every request."""
        self._deadline = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(self._deadline, self._look_at_the_time)

    def _look_at_the_time(self) -> None:
        self._timer = None
        if self.answering is not None or self.transport is None:
            return
        if self._loop.time() < self._deadline:
            self._give(self._deadline - self._loop.time())
            return
        if self._head_begun:
            server = self._server
            self.transport.write(render.raw_problem(errors.invalid_json(), render.new_request_id(), server.unknown_slot(), server.always))
        self.close()

    def _reader_is_late(self) -> None:
        self._jam_timer = None
        if self.transport is not None:
            who = self._server.caller(self._request) if self._request is not None else "a caller"
            log.info("%s did not read its answer and was disconnected", who)
            self.transport.abort()

    # Answers.

    async def _answer(self) -> None:
        """Answer what has come, one after another; then wait for more, or close."""
        try:
            while self._requests and self.transport is not None:
                message, body = self._requests.popleft()
                if self._buffer_paused:
                    self._go_on_reading()
                if not await self._answer_one(message, body):
                    self.close()
                    break
                self._look_behind()
                if self._requests:
                    # Between those that come in one go it is the others' turn.
                    await asyncio.sleep(0)
        except ConnectionError:
            self.abort()
        except BaseException:
            self.abort()
            raise
        finally:
            self.answering = self._request = None
        if self._ended or self._leaving:
            self.close()
        elif self.transport is not None:
            self._give(HEAD_TIMEOUT_S if self._head_begun else KEEPALIVE_S)

    async def _answer_one(self, message: RawRequestMessage | Exception, body: StreamReader) -> bool:
        """Answer one request; whether the connection may be used again. Raises ConnectionError."""
        server, always = self._server, self._server.always
        if isinstance(message, Exception):
            response = server.refusal(message, self._remote)
            await send(self, f"{response.head}{always}Connection: close\r\n\r\n".encode(), response)
            return False
        request = self._request = Request(message, body, self._remote, self.write)
        response = await server.answer(request)
        keeps = request.keep_alive and not response.closes and not self._leaving
        how = "Connection: close\r\n" if not keeps else "Connection: keep-alive\r\n" if request.is_older else ""
        if request.method == hdrs.METH_HEAD:
            response.content = b""
        await send(self, f"{response.head}{always}{how}\r\n".encode(), response)
        return (body.is_eof() or await _is_skipped(body)) and keeps

    def _look_behind(self) -> None:
        """What has come behind a request waits in the parser."""
        if not self._requests:
            self.data_received(b"")

    def _go_on_reading(self) -> None:
        """None waits any more: read on, unless what has been read holds another."""
        self._look_behind()
        if not self._requests:
            self._resume_reading_for_buffer()

    # The way to the caller: see sending.Way.

    @property
    def is_jammed(self) -> bool:
        """Whether the caller does not take what was written."""
        return self._paused

    def write(self, data: bytes) -> None:
        """Hand over to the caller; raises ConnectionError where it has gone."""
        if self.transport is None or self.transport.is_closing():
            raise ConnectionResetError("the caller has gone")
        self.transport.write(data)

    async def taken(self) -> None:
        """Wait until the caller has taken what was written; raises ConnectionError where it has gone."""
        await self._drain_helper()

    # The end.

    def close(self) -> None:
        """Close it when the caller has taken what was written."""
        self._deaf = True
        if self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        """Close it at once."""
        if self.transport is not None:
            self.transport.abort()

    def leave(self) -> None:
        """Close it when what is being answered has its answer."""
        self._leaving = True
        if self.answering is None:
            self.close()


async def _is_skipped(body: StreamReader) -> bool:
    """Whether what is left of a body came in time."""
    try:
        async with asyncio.timeout(LINGER_S):
            while not body.is_eof():
                await body.readany()
    except (TimeoutError, web.RequestPayloadError):
        return False
    return True


class Server:
    """Makes a Connection for each socket. `unknown_slot` gives the rate-limit headers of a caller that nobody knows.

    `caller` says whose a request is, for the log; `always` are header lines that each answer carries.
    """

    def __init__(self, handler: Handler, unknown_slot: Callable[[], Slot], caller: Callable[[Request], str], always: str = "") -> None:
        self._handler = handler
        self._loop = asyncio.get_running_loop()
        self.unknown_slot = unknown_slot
        self.caller = caller
        self.always = always
        self.connections: set[Connection] = set()

    def __call__(self) -> Connection:
        return Connection(self, self._loop)

    async def answer(self, request: Request) -> render.Response:
        """The answer to a request; a fault is logged whole and answered bare."""
        try:
            return await self._handler(request)
        except Exception:
            request_id = render.new_request_id()
            log.exception("[%s] unexpected fault", request_id)
            return self._problem(errors.internal_error(), request_id)

    def refusal(self, fault: Exception, remote: str | None) -> render.Response:
        """The answer to what is no HTTP; the faulty bytes, which may hold a key, are neither echoed nor logged."""
        request_id = render.new_request_id()
        log.info("[%s] what %s sent is no HTTP: %s", request_id, remote or "unknown", type(fault).__name__)
        return self._problem(errors.invalid_json(), request_id)

    def _problem(self, problem: errors.ProblemError, request_id: str) -> render.Response:
        response = render.respond(problem.problem.status, render.encode(problem.as_json()), request_id, self.unknown_slot())
        response.closes = True
        return response

    def let_idle_go(self) -> None:
        """Close the connections on which nothing is being answered, and the others when it has been."""
        for connection in tuple(self.connections):
            connection.leave()

    async def finish(self, timeout_s: float) -> None:
        """Let the answers under way end, for so long at most, and close all connections."""
        self.let_idle_go()
        answering = {connection.answering for connection in self.connections if connection.answering is not None}
        if answering:
            _, late = await asyncio.wait(answering, timeout=timeout_s)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        for connection in tuple(self.connections):
            connection.abort()
