"""One connection to a model's server: a request goes out in one piece, and what comes back is read with aiohttp's parser.

aiohttp's own client takes twice the processor time for it, and four times the memory while thousands wait.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Mapping
from typing import NamedTuple

from aiohttp import EMPTY_PAYLOAD, StreamReader
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http import HttpResponseParser, RawResponseMessage

from chatsvc.engines.anthropic.faults import Fault

MAX_ANSWER_BYTES = 512 * 1024
"""As much of an answer as is read: some 20 times what max_tokens allows, thinking included."""

_WITHOUT_BODY = frozenset({101, 204, 304})


class HttpAnswer(NamedTuple):
    """An answer; `whole` is False where it has more than MAX_ANSWER_BYTES."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    whole: bool


class Connection(BaseProtocol):
    """Carries one request at a time. `usable`: it may be asked (again), as far as the event loop knows."""

    __slots__ = ("_answer", "_body", "_head", "usable")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._answer: asyncio.Future[HttpAnswer] | None = None
        self._head: RawResponseMessage | None = None
        self._body: StreamReader = EMPTY_PAYLOAD
        self.usable = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It stands; both event loops have switched Nagle's algorithm off."""
        self.transport = transport  # type: ignore[assignment]  # it is a socket, or TLS over one

    def ask(self, request: bytes) -> asyncio.Future[HttpAnswer]:
        """Send a request; what is given is its answer or a Fault. A caller who does not wait until the end has to `abort`.

        No coroutine, since that would hold the request in memory until the answer has come.
        """
        if self.transport is None:
            raise Fault("unreachable", "the connection was lost", retryable=True)
        self._answer = self._loop.create_future()
        self._head = None
        self.transport.write(request)
        return self._answer

    @property
    def quiet(self) -> bool:
        """Whether nothing has come while it was idle, as far as the kernel knows: what comes then is its end."""
        raw = self.transport.get_extra_info("socket") if self.usable and self.transport is not None else None
        if raw is None or raw.fileno() < 0:
            return False
        poll = select.poll()
        poll.register(raw.fileno(), select.POLLIN)
        return not poll.poll(0)

    def abort(self) -> None:
        """Close it at once; whoever waits for an answer is told that the server is unreachable."""
        self.usable = False
        if self.transport is not None:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """A piece of an answer; what comes unasked ends the connection."""
        if not data:
            return  # aiohttp's way to say that a paused parser may go on; this one is never paused
        if self._answer is None or self._answer.done():
            self.abort()
            return
        if self._parser is None:
            # Only now: where thousands ask at once, there is time for it while they wait, and none before the last one has asked. The limit
            # keeps it from pausing before there is too much. Nothing is unpacked: a bomb of 512 KiB would be 512 MiB.
            self._parser = HttpResponseParser(self, self._loop, MAX_ANSWER_BYTES, read_until_eof=True, auto_decompress=False)
        try:
            messages, upgraded, rest = self._parser.feed_data(data)
        except Exception as error:  # noqa: BLE001  # whatever the parser stumbles over is no HTTP
            self._fail(Fault("bad_response", type(error).__name__))
            return
        for message, body in messages:
            if message.code < 200 and message.code != 101:
                continue  # "100 Continue" and its like: the answer is still to come
            if self._head is not None:
                self.usable = False
                break
            self._head, self._body = message, EMPTY_PAYLOAD if message.code in _WITHOUT_BODY else body
            self.usable = not message.should_close and message.code not in _WITHOUT_BODY
        self.usable = self.usable and not upgraded and not rest
        self._look()

    def _look(self) -> None:
        """Tell the answer, if it is there."""
        if self._head is None or self._answer is None or self._answer.done():
            return
        body = self._body
        broken = body.exception()
        if broken is not None:
            self._fail(Fault("bad_response", type(broken).__name__))
            return
        too_long = body.total_bytes > MAX_ANSWER_BYTES
        if body.is_eof() or too_long:
            read = body.read_nowait(-1)[:MAX_ANSWER_BYTES]
            self._answer.set_result(HttpAnswer(self._head.code, self._head.headers, read, not too_long))
            self._body = EMPTY_PAYLOAD
            if too_long:
                self.abort()

    def _fail(self, fault: Fault) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(fault)
        self.abort()

    def connection_lost(self, exc: BaseException | None) -> None:
        """The end; also that of an answer that said no length."""
        self.usable = False
        super().connection_lost(exc)
        if self._head is None:
            self._fail(Fault("unreachable", type(exc).__name__ if exc else "the server hung up", retryable=True))
        elif self._parser is not None and self._body is not EMPTY_PAYLOAD:
            try:
                self._parser.feed_eof()
            except Exception as error:  # noqa: BLE001  # an answer that broke off, in whatever way
                self._fail(Fault("bad_response", type(error).__name__))
            self._look()
            self._fail(Fault("bad_response", "the answer broke off"))
        # They hold each other, and would wait for the garbage collector.
        self._parser = None
