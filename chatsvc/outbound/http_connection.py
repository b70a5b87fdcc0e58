"""One HTTP/1.1 client connection, which sends one request at a time; aiohttp's parser reads answers. Own code: see http_pool.py."""

import asyncio
import select
from collections.abc import Callable, Mapping
from typing import NamedTuple

from aiohttp import EMPTY_PAYLOAD, StreamReader
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http import HttpResponseParser, RawResponseMessage

_WITHOUT_BODY = frozenset({101, 204, 304})


class HttpAnswer(NamedTuple):
    """An HTTP answer; `whole` is False if it is larger than the connection accepts."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    whole: bool


class ConnectionLost(Exception):
    """The connection ended before an answer began."""


class AnswerBroken(Exception):
    """The connection carried something else than one whole HTTP answer."""


def request_head(line: str, fields: Mapping[str, str]) -> str:
    """Render a request line and header fields; raises ValueError for what no request can carry."""
    head = "".join([f"{line}\r\n", *(f"{name}: {value}\r\n" for name, value in fields.items())])
    if not head.count("\r") == head.count("\n") == len(fields) + 1 or "\0" in head:
        raise ValueError("a header of more than one line")
    return head


class ClientConnection(BaseProtocol):
    """Carries one request at a time, with answers of at most `most_bytes`; `usable` while another one may follow.

    `on_head` is called once where an answer's status is known and its body is still on the way.
    """

    __slots__ = ("_answer", "_body", "_has_no_body", "_head", "_most_bytes", "on_head", "usable")

    def __init__(self, loop: asyncio.AbstractEventLoop, most_bytes: int) -> None:
        super().__init__(loop)
        self._most_bytes = most_bytes
        self._answer: asyncio.Future[HttpAnswer] | None = None
        self._head: RawResponseMessage | None = None
        self._body: StreamReader = EMPTY_PAYLOAD
        self._has_no_body = False
        self.on_head: Callable[[], None] | None = None
        self.usable = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport; both event loops disable Nagle's algorithm."""
        self.transport = transport  # type: ignore[assignment]  # it is a socket, or TLS over one

    def ask(self, request: bytes) -> asyncio.Future[HttpAnswer]:
        """Send a request; return a future of its answer, ConnectionLost or AnswerBroken. A caller that stops waiting has to `abort`.

        Not a coroutine, which would keep the request in memory until the answer has come.
        """
        self._head = None
        if self.transport is None:
            raise ConnectionLost("the connection was lost")
        self._answer = self._loop.create_future()
        self._has_no_body = request.startswith(b"HEAD ")
        self.transport.write(request)
        return self._answer

    def begun(self) -> HttpAnswer | None:
        """Take what has come of an unfinished answer; None before its status is known."""
        return HttpAnswer(self._head.code, self._head.headers, self._body.read_nowait(-1), False) if self._head is not None else None

    @property
    def quiet(self) -> bool:
        """Report whether the kernel has nothing to read on the idle connection. Data would be its end."""
        raw = self.transport.get_extra_info("socket") if self.usable and self.transport is not None else None
        if raw is None or raw.fileno() < 0:
            return False
        poll = select.poll()
        poll.register(raw.fileno(), select.POLLIN)
        return not poll.poll(0)

    def abort(self) -> None:
        """Close at once; a request in flight fails. The end of TLS is sent, the peer's is not awaited: it would hold a socket for 30 s."""
        self.usable = False
        if self.transport is not None:
            if not self.transport.is_closing():
                self.transport.close()
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Parse a piece of an answer; unexpected data ends the connection."""
        if not data:
            return  # aiohttp resumes a paused parser so; this one is never paused
        if self._answer is None or self._answer.done():
            self.abort()
            return
        if self._parser is None:
            # Created late: with thousands of calls at once there is time for it only while they wait. The limit keeps the parser from
            # pausing early. Nothing is decompressed: a bomb of 512 KiB would be 512 MiB.
            self._parser = HttpResponseParser(self, self._loop, self._most_bytes, read_until_eof=True, auto_decompress=False)
        try:
            messages, upgraded, rest = self._parser.feed_data(data)
        except Exception as error:  # noqa: BLE001  # any failure of the parser means that it is no HTTP
            self._fail(AnswerBroken(type(error).__name__))
            return
        for message, body in messages:
            if message.code < 200 and message.code != 101:
                continue  # "100 Continue" and its like: the answer is still to come
            if self._head is not None:
                self.usable = False
                break
            has_no_body = self._has_no_body or message.code in _WITHOUT_BODY
            self._head, self._body = message, EMPTY_PAYLOAD if has_no_body else body
            self.usable = not message.should_close and not has_no_body
        self.usable = self.usable and not upgraded and not rest
        self._complete()
        on_head, self.on_head = self.on_head, None
        if on_head is not None and not self._answer.done():
            if self._head is not None:
                on_head()
            else:
                self.on_head = on_head

    def _complete(self) -> None:
        if self._head is None or self._answer is None or self._answer.done():
            return
        body = self._body
        broken = body.exception()
        if broken is not None:
            self._fail(AnswerBroken(type(broken).__name__))
            return
        too_long = body.total_bytes > self._most_bytes
        if body.is_eof() or too_long:
            read = body.read_nowait(-1)[: self._most_bytes]
            self._answer.set_result(HttpAnswer(self._head.code, self._head.headers, read, not too_long))
            self._body = EMPTY_PAYLOAD
            if too_long:
                self.abort()

    def _fail(self, fault: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(fault)
        self.abort()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Handle the end of the connection, which also ends an answer without a length."""
        self.usable = False
        super().connection_lost(exc)
        if self._head is None:
            fault = ConnectionLost(type(exc).__name__ if exc else "the server hung up")
            fault.__cause__ = exc
            self._fail(fault)
        elif self._parser is not None and self._body is not EMPTY_PAYLOAD:
            try:
                self._parser.feed_eof()
            except Exception as error:  # noqa: BLE001  # an answer that broke off, in whatever way
                self._fail(AnswerBroken(type(error).__name__))
            self._complete()
            self._fail(AnswerBroken("the answer broke off"))
        # Break the reference cycle.
        self._parser = None
