"""Answers as bytes: JSON, the headers that every response of the interface carries, and nothing that names the software."""

from __future__ import annotations

import logging
import random
import tempfile
import time
from contextlib import ExitStack
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import orjson
from aiohttp import HttpVersion11, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.web import BaseRequest

from chatsvc.domain.errors import ProblemError
from chatsvc.domain.limiter import Slot
from chatsvc.domain.pricing import Usd

if TYPE_CHECKING:
    from aiohttp.http_writer import StreamWriter

    from chatsvc.api.protocol import Connection

log = logging.getLogger(__name__)

JSON_TYPE = "application/json; charset=utf-8"
PIECE = 64 * 1024  # bytes of an answer handed over at a time
_REASONS = {status.value: status.phrase for status in HTTPStatus}


def new_request_id() -> str:
    """An id of its own for each request; it tells nothing of how many there were."""
    return f"{random.getrandbits(64):016x}"


def _other(value: Any) -> Any:
    if isinstance(value, Usd):
        return orjson.Fragment(value.text)
    raise TypeError(f"{type(value).__name__} is no JSON")


def encode(value: object) -> bytes:
    """JSON in UTF-8; dollars with all six fractional digits."""
    return orjson.dumps(value, default=_other)


def success(data: object, **more: object) -> bytes:
    """The envelope of SPEC.md 2.1."""
    return encode({"success": True, "data": data, **more})


class Response(web.StreamResponse):
    """A whole answer in one write. Its head is put together here, which takes a fifth of the time that aiohttp's general one does."""

    def __init__(self, status: int, head: str, body: bytes) -> None:
        super().__init__(status=status)
        self._begin = head
        self._content = body
        self._to: BaseRequest
        self._closes = False

    @property
    def keep_alive(self) -> bool:
        """Whether the connection may be used again."""
        return not self._closes

    def force_close(self) -> None:
        """Close the connection behind this answer."""
        self._closes = True

    async def prepare(self, request: BaseRequest) -> AbstractStreamWriter:
        """See StreamResponse.prepare; nothing is sent yet."""
        self._to = request
        self._closes = self._closes or not request.keep_alive
        return request.writer

    async def write_eof(self, data: bytes = b"") -> None:  # noqa: ARG002  # aiohttp's signature; it passes none
        """Send everything; raises ConnectionError where the caller has gone."""
        request, writer = self._to, cast("StreamWriter", self._to.writer)
        connection = "Connection: close\r\n" if self._closes else "Connection: keep-alive\r\n" if request.version < HttpVersion11 else ""
        head = f"{self._begin}{cast('Connection', request.protocol).always}{connection}\r\n".encode()
        if request.method == hdrs.METH_HEAD:
            self._content = b""
        await writer.write(head + self._content[:PIECE], drain=False)
        at = PIECE
        while at < len(self._content) and not request.protocol.writing_paused:
            await writer.write(self._content[at : at + PIECE], drain=False)
            at += PIECE
        if at < len(self._content):
            await self._send_as_it_is_read(writer, at)
        self._content = b""
        await writer.drain()

    async def _send_as_it_is_read(self, writer: StreamWriter, at: int) -> None:
        """Send the rest of a big answer; what has to wait for its reader waits in a file, in memory only where no file can be had."""
        with _waiting(self._content[at:]) as waiting:
            self._content = b""
            while piece := waiting.read(PIECE):
                await writer.drain()
                await writer.write(piece, drain=False)


def _waiting(content: bytes) -> BinaryIO:
    try:
        with ExitStack() as until_whole:
            file = cast("BinaryIO", until_whole.enter_context(tempfile.TemporaryFile(buffering=0)))
            left = memoryview(content)
            while left:
                left = left[file.write(left) :]
            file.seek(0)
            until_whole.pop_all()
            return file
    except OSError as fault:
        log.error("a long answer waits for its reader in memory: %s", fault.strerror)
        return BytesIO(content)


@lru_cache(maxsize=2)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)


def _head(status: int, body: bytes, request_id: str, slot: Slot | None, extra: dict[str, str], kind: str = JSON_TYPE) -> str:
    """The head of a response, but for its last lines; `slot` gives the three rate-limit headers (SPEC.md section 8)."""
    limits = (
        f"X-RateLimit-Limit: {slot.limit}\r\nX-RateLimit-Remaining: {slot.remaining}\r\nX-RateLimit-Reset: {slot.reset}\r\n" if slot else ""
    )
    more = "".join(f"{name}: {value}\r\n" for name, value in extra.items())
    return (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        f"Date: {_date(int(time.time()))}\r\nCache-Control: no-store\r\nX-Request-Id: {request_id}\r\n"
        f"{limits}{more}"
    )


def respond(status: int, body: bytes, request_id: str, slot: Slot | None, extra: dict[str, str] | None = None) -> Response:
    """A response; all of the interface has a `slot`."""
    return Response(status, _head(status, body, request_id, slot, extra or {}), body)


def plain_text(status: int, text: str, request_id: str, extra: dict[str, str] | None = None) -> Response:
    """A response of what lies outside of the interface and speaks no JSON."""
    body = text.encode()
    return Response(status, _head(status, body, request_id, None, extra or {}, "text/plain; charset=utf-8"), body)


def problem_headers(problem: ProblemError, slot: Slot | None, now_ms: int) -> dict[str, str]:
    """The headers that go with an error: `WWW-Authenticate` on 401, `Retry-After` on 429, `Allow` on 405."""
    match problem.problem.status:
        case 401:
            return {hdrs.WWW_AUTHENTICATE: "Bearer"}
        case 405:
            return {hdrs.ALLOW: ", ".join(problem.extra["allow"])}  # type: ignore[arg-type]  # the table says so
        case 429 if slot:
            return {hdrs.RETRY_AFTER: str(max(1, slot.reset - now_ms // 1000))}
        case _:
            return {}


def raw_problem(problem: ProblemError, request_id: str, slot: Slot, always: str) -> bytes:
    """A whole HTTP/1.1 response that closes the connection, for what never became a request; `always`: more header lines."""
    body = encode(problem.as_json())
    return f"{_head(problem.problem.status, body, request_id, slot, {hdrs.CONNECTION: 'close'})}{always}\r\n".encode() + body
