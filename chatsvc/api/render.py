"""JSON responses of the interface, with the headers that each of them carries. Nothing names the software."""

from typing import Any

import orjson

from chatsvc.domain.errors import ProblemError
from chatsvc.domain.limiter import Slot
from chatsvc.domain.pricing import Usd
from chatsvc.http.response import HttpResponse, render_fields

_FIELDS = render_fields([("Content-Type", "application/json; charset=utf-8"), ("Cache-Control", "no-store")])


def _other(value: Any) -> Any:
    if isinstance(value, Usd):
        return orjson.Fragment(value.text)
    raise TypeError(f"{type(value).__name__} is no JSON")


def encode(value: object) -> bytes:
    """Encode as JSON in UTF-8; dollars with all six fractional digits."""
    return orjson.dumps(value, default=_other)


def success(data: object, **more: object) -> bytes:
    """Encode the envelope of SPEC.md 2.1."""
    return encode({"success": True, "data": data, **more})


def respond(status: int, body: bytes, request_id: str, slot: Slot | None) -> HttpResponse:
    """Make a JSON response. `slot` gives the three rate-limit headers (SPEC.md section 8), None for paths outside of the interface."""
    fields = f"{_FIELDS}X-Request-Id: {request_id}\r\n"
    if slot is not None:
        fields += f"X-RateLimit-Limit: {slot.limit}\r\nX-RateLimit-Remaining: {slot.remaining}\r\nX-RateLimit-Reset: {slot.reset}\r\n"
    return HttpResponse(status, body, fields)


def problem(fault: ProblemError, request_id: str, slot: Slot | None, now_ms: int) -> HttpResponse:
    """Make the response to a refusal: `WWW-Authenticate` on 401, `Retry-After` on 429, `Allow` on 405."""
    response = respond(fault.problem.status, encode(fault.as_json()), request_id, slot)
    match fault.problem.status:
        case 401:
            response.add_header("WWW-Authenticate", "Bearer")
        case 405:
            response.add_header("Allow", ", ".join(fault.extra["allow"]))  # type: ignore[arg-type]  # the error table says so
        case 429 if slot is not None:
            response.add_header("Retry-After", str(max(1, slot.reset - now_ms // 1000)))
    return response
