"""JSON responses of the interface, with the headers that each of them carries. Nothing names the software."""

from functools import partial
from typing import Any

import orjson
from aiohttp import web

from chatsvc.domain.errors import ProblemError
from chatsvc.domain.limiter import Slot
from chatsvc.domain.plans import Usd

_HEADERS = {"Content-Type": "application/json; charset=utf-8", "Cache-Control": "no-store"}


def _other(value: Any) -> Any:
    if isinstance(value, Usd):
        return orjson.Fragment(value.text)
    raise TypeError(f"{type(value).__name__} is no JSON")


encode = partial(orjson.dumps, default=_other)  # JSON in UTF-8; dollars with all six fractional digits


def success(data: object, **more: object) -> bytes:
    """Encode the envelope of help/interface.md 4."""
    return encode({"success": True, "data": data, **more})


def respond(status: int, body: bytes, request_id: str, slot: Slot | None) -> web.Response:
    """Make a JSON response. `slot` gives the three rate-limit headers (help/interface.md 7), None for paths outside of the interface."""
    headers = {**_HEADERS, "X-Request-Id": request_id}
    if slot is not None:
        headers["X-RateLimit-Limit"] = str(slot.limit)
        headers["X-RateLimit-Remaining"] = str(slot.remaining)
        headers["X-RateLimit-Reset"] = str(slot.reset)
    return web.Response(status=status, body=body, headers=headers)


def problem(fault: ProblemError, request_id: str, slot: Slot | None, now_ms: int) -> web.Response:
    """Make the response to a refusal: `WWW-Authenticate` on 401, `Retry-After` on 429, `Allow` on 405."""
    response = respond(fault.problem.status, encode(fault.as_json()), request_id, slot)
    match fault.problem.status:
        case 401:
            response.headers["WWW-Authenticate"] = "Bearer"
        case 405:
            response.headers["Allow"] = ", ".join(fault.extra["allow"])  # type: ignore[arg-type]  # the error table says so
        case 429 if slot is not None:
            response.headers["Retry-After"] = str(max(1, slot.reset - now_ms // 1000))
    return response
