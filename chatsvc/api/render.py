"""Answers as bytes: JSON, the headers that every response of the interface carries, and nothing that names the software."""

from __future__ import annotations

import random
import time
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Any

import orjson
from aiohttp import hdrs

from chatsvc.domain.errors import ProblemError
from chatsvc.domain.limiter import Slot
from chatsvc.domain.pricing import Usd

JSON_TYPE = "application/json; charset=utf-8"
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


class Response:
    """A whole answer: its head but for the lines that the connection adds, and its content. `closes`: no other request may follow."""

    __slots__ = ("closes", "content", "head", "status")

    def __init__(self, status: int, head: str, content: bytes) -> None:
        self.status = status
        self.head = head
        self.content = content
        self.closes = False


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
