"""HTTP as aiohttp parses it, with faults of the protocol told in SPEC.md's JSON instead of aiohttp's text."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import EMPTY_PAYLOAD, HttpVersion10, HttpVersion11, http_parser, web
from aiohttp.http_exceptions import BadStatusLine
from aiohttp.web import BaseRequest
from aiohttp.web_protocol import RequestHandler, _ErrInfo

from chatsvc.api import render
from chatsvc.domain import errors
from chatsvc.domain.limiter import Slot

log = logging.getLogger(__name__)

HEAD_TIMEOUT_S = 10.0
READER_TIMEOUT_S = 10.0  # for what the sockets hold of an answer (some 50 KiB) to be taken: 5 KiB a second are enough
KEEPALIVE_S = 75.0
MAX_HEAD_FIELD = 8190
VERSIONS = (HttpVersion10, HttpVersion11)
Handler = Callable[[BaseRequest], Awaitable[web.StreamResponse]]

if http_parser.HttpRequestParser is http_parser.HttpRequestParserPy:
    raise RuntimeError("aiohttp runs without its C parser, which is the stricter one: reinstall aiohttp from a wheel")


class Connection(RequestHandler):
    """One connection; what cannot be parsed or does not arrive in time is 400 `invalid_json`, and the connection is closed."""

    __slots__ = ("_head_begun", "_head_timer", "_reader_timer")

    def __init__(self, manager: Server, **options: Any) -> None:
        super().__init__(manager, **options)
        self._head_timer: asyncio.TimerHandle | None = None
        self._head_begun = False
        self._reader_timer: asyncio.TimerHandle | None = None

    @property
    def always(self) -> str:
        """The header lines that each answer carries."""
        return self._manager.always if isinstance(self._manager, Server) else ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A new connection: its first head must come in time."""
        super().connection_made(transport)
        self._head_timer = self._loop.call_later(HEAD_TIMEOUT_S, self._head_is_late)

    def pause_writing(self) -> None:
        """The caller does not take its answer: that has an end too, for the answer is held in memory meanwhile."""
        super().pause_writing()
        self._reader_timer = self._loop.call_later(READER_TIMEOUT_S, self._reader_is_late, self.transport)

    def resume_writing(self) -> None:
        """The caller has taken what was waiting."""
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None
        super().resume_writing()

    def _reader_is_late(self, transport: asyncio.Transport | None) -> None:
        self._reader_timer = None
        if transport is not None:
            request = self._current_request
            who = self._manager.caller(request) if isinstance(self._manager, Server) and request is not None else "a caller"
            log.info("%s did not read its answer and was disconnected", who)
            transport.abort()

    def data_received(self, data: bytes) -> None:
        """Feed the parser; a head that has begun must be whole in time, and a body that breaks off must not be waited for."""
        seen = self._request_count
        super().data_received(data)
        if self._request_count > seen:
            self._stop_timer()
            self._refuse_other_versions(self._request_count - seen)
            self._tell_reader()
        elif not self._head_begun and self._is_between() and data.strip(b"\r\n"):
            self._head_begun = True
            if self._head_timer is None:
                self._head_timer = self._loop.call_later(HEAD_TIMEOUT_S, self._head_is_late)

    def _refuse_other_versions(self, new: int) -> None:
        """aiohttp's parser takes HTTP/0.9 and a textual HTTP/2.0 too, and its answers would claim to be of that version."""
        for place in range(-new, 0):
            message = self._messages[place][0]
            if not isinstance(message, _ErrInfo) and message.version not in VERSIONS:
                self._messages[place] = (_ErrInfo(status=400, exc=BadStatusLine(), message=""), EMPTY_PAYLOAD)

    def _is_between(self) -> bool:
        """Whether what comes now is the head of another request, be the one before it answered already or not."""
        if self._upgraded or self._messages:
            return False
        request = self._current_request
        return self._waiter is not None if request is None else request.content.is_eof()

    def _tell_reader(self) -> None:
        """Where the parser gave up within a body, let its reader know; aiohttp leaves it waiting."""
        request = self._current_request
        if request is not None and not request.content.is_eof() and isinstance(self._messages[-1][0], _ErrInfo):
            request.content.set_exception(web.RequestPayloadError("the body is broken"))
            request.content.feed_eof()

    def connection_lost(self, exc: BaseException | None) -> None:
        """The peer has gone."""
        self._stop_timer()
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None
        super().connection_lost(exc)

    def _stop_timer(self) -> None:
        self._head_begun = False
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        manager = self._manager
        if not isinstance(manager, Server) or self.transport is None:
            return
        if self._waiter is None:
            # The answer under way comes first.
            self._head_timer = self._loop.call_later(HEAD_TIMEOUT_S, self._head_is_late)
        elif not self._waiter.done():
            if self._head_begun:
                problem = render.raw_problem(errors.invalid_json(), render.new_request_id(), manager.unknown_slot(), manager.always)
                self.transport.write(problem)
            self.force_close()

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002  # aiohttp's signature; it holds the faulty bytes
    ) -> web.StreamResponse:
        """The answer to a fault of the protocol; the faulty bytes, which may hold a key, are neither echoed nor logged."""
        if request.writer.output_size > 0:
            raise ConnectionError("the response has begun already")
        request_id = render.new_request_id()
        problem = errors.invalid_json() if status == 400 else errors.internal_error()
        if status == 400:
            log.info("[%s] what %s sent is no HTTP: %s", request_id, request.remote or "unknown", type(exc).__name__)
        else:
            log.error("[%s] unexpected fault", request_id, exc_info=exc)
        manager = self._manager
        slot = manager.unknown_slot() if isinstance(manager, Server) else None
        response = render.respond(problem.problem.status, render.encode(problem.as_json()), request_id, slot)
        response.force_close()
        return response


class Server(web.Server):
    """Makes a Connection for each socket. `unknown_slot` gives the rate-limit headers of a caller that nobody knows.

    `caller` says whose a request is, for the log; `always` are header lines that each answer carries.
    """

    def __init__(self, handler: Handler, unknown_slot: Callable[[], Slot], caller: Callable[[BaseRequest], str], always: str = "") -> None:
        super().__init__(
            handler,
            access_log=None,
            keepalive_timeout=KEEPALIVE_S,
            lingering_time=2.0,
            auto_decompress=False,
            max_line_size=MAX_HEAD_FIELD,
            max_field_size=MAX_HEAD_FIELD,
        )
        self.unknown_slot = unknown_slot
        self.caller = caller
        self.always = always

    def __call__(self) -> RequestHandler:
        return Connection(self, loop=self._loop, **self._kwargs)
