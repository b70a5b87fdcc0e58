"""Answers as bytes: JSON, the headers that every response of the interface carries, and nothing that names the software."""

from __future__ import annotations

import random
from typing import Any

import orjson
from aiohttp import hdrs, web
from aiohttp.web import BaseRequest
from multidict import CIMultiDict

from chatsvc.domain import errors
from chatsvc.domain.errors import ProblemError
from chatsvc.domain.limiter import Slot
from chatsvc.domain.pricing import Usd

JSON_TYPE = "application/json; charset=utf-8"


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


class Response(web.Response):
    """A response without the header that names server software and its version."""

    async def _prepare_headers(self) -> None:
        await super()._prepare_headers()
        self._headers.pop(hdrs.SERVER, None)


def respond(status: int, body: bytes, request_id: str, slot: Slot | None, extra: dict[str, str] | None = None) -> Response:
    """A response; `slot` gives the three rate-limit headers (SPEC.md section 8), which all of the interface has."""
    headers = CIMultiDict({hdrs.CONTENT_TYPE: JSON_TYPE, hdrs.CACHE_CONTROL: "no-store", "X-Request-Id": request_id})
    if slot:
        headers["X-RateLimit-Limit"] = str(slot.limit)
        headers["X-RateLimit-Remaining"] = str(slot.remaining)
        headers["X-RateLimit-Reset"] = str(slot.reset)
    if extra:
        headers.update(extra)
    return Response(status=status, body=body, headers=headers)


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


def raw_problem(problem: ProblemError, request_id: str, slot: Slot) -> bytes:
    """A whole HTTP/1.1 response that closes the connection, for what never became a request."""
    body = encode(problem.as_json())
    headers = {
        "Content-Type": JSON_TYPE,
        "Content-Length": str(len(body)),
        "Cache-Control": "no-store",
        "Connection": "close",
        "X-Request-Id": request_id,
        "X-RateLimit-Limit": str(slot.limit),
        "X-RateLimit-Remaining": str(slot.remaining),
        "X-RateLimit-Reset": str(slot.reset),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {problem.problem.status} Bad Request\r\n{head}\r\n".encode() + body


def not_parsed() -> ProblemError:
    """What is said to anything that is no HTTP, or that does not arrive in time (DECISIONS.md section 1, broken HTTP)."""
    return errors.invalid_json()


def peer(request: BaseRequest) -> str:
    """Who sent a request, for the log."""
    return request.remote or "unknown"
