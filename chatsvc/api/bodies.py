"""Data of requests and responses of the REST interface. Parses the body of POST /messages, the Idempotency-Key and query parameters."""

import json
import re
from typing import Any

import orjson
from aiohttp import web

from chatsvc.domain import errors
from chatsvc.domain.errors import ProblemError
from chatsvc.domain.folding import is_tag
from chatsvc.domain.limiter import Slot
from chatsvc.domain.models import SendMessage
from chatsvc.domain.plans import Usd

MAX_MESSAGE = 4000
MAX_USER_ID = 128
FIELDS = ("chatbot_id", "message", "user_id", "language")
_INTEGER = re.compile(r"-?[0-9]+")
_VISIBLE = re.compile(r"[!-~]{1,255}")
_UNPRINTABLE = re.compile("[\0\ud800-\udfff]")


def _because(cause: str, **values: object) -> ProblemError:
    return errors.invalid_json(errors.because(cause, **values))


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _because("twice")
    return value


def _no_constant(_: str) -> object:
    raise ValueError("NaN and Infinity are no JSON")


_STRICT = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant)


def _parse(body: bytes) -> dict[str, object]:
    try:
        value = _STRICT.decode(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise _because("no_json") from None
    if not isinstance(value, dict):
        raise _because("no_object")
    for text in (*value, *value.values()):
        if isinstance(text, str) and _UNPRINTABLE.search(text):
            raise _because("unprintable")
    return value


def parse_message(body: bytes) -> SendMessage:
    """Parse the body of POST /messages (help/interface.md 5.3). Raise the errors that rule 6 of that section lists."""
    value = _parse(body)
    for name in value:
        if name not in FIELDS:
            shown = name if len(name) <= 64 else name[:64] + "…"
            raise _because("unknown_field", name=shown)
    chatbot_id, message = value.get("chatbot_id"), value.get("message")
    if not isinstance(chatbot_id, str) or not chatbot_id:
        raise errors.missing_chatbot_id()
    if not isinstance(message, str) or not message.strip():
        raise errors.missing_message()
    if len(message) > MAX_MESSAGE:
        raise errors.message_too_long(max_chars=MAX_MESSAGE)
    user_id = _optional(value, "user_id")
    if user_id and len(user_id) > MAX_USER_ID:
        raise _because("user_id_long", most=MAX_USER_ID)
    tag = _optional(value, "language")
    if tag and not is_tag(tag):
        raise _because("no_language")
    return SendMessage(chatbot_id, message, user_id, tag)


def _optional(value: dict[str, object], name: str) -> str | None:
    text = value.get(name)
    if text is not None and not isinstance(text, str):
        raise _because("no_string", name=name)
    return text or None


def idempotency_key(request: web.Request) -> str | None:
    """Return the header Idempotency-Key, or None if it was not sent. Raise `invalid_json` if it is not valid."""
    sent = request.headers.getall("Idempotency-Key", [])
    if not sent:
        return None
    if len(sent) > 1 or not _VISIBLE.fullmatch(sent[0]):
        raise _because("key_invalid")
    return sent[0]


def integer(text: str | None, default: int, most: int) -> int:
    """Parse a count from 1 to `most`. A number out of range is clamped. Return `default` if the text is not a plain ASCII integer."""
    if text is None or not _INTEGER.fullmatch(text):
        return default
    return max(1, min(int(text.lstrip("0")[:10] or 0), most))  # so many digits are more than any `most`


_HEADERS = {"Content-Type": "application/json; charset=utf-8", "Cache-Control": "no-store"}  # nothing names the software


def _other(value: Any) -> Any:
    if isinstance(value, Usd):
        return orjson.Fragment(value.text)
    raise TypeError(f"{type(value).__name__} is no JSON")


def respond(status: int, content: object, request_id: str, slot: Slot | None) -> web.Response:
    """Make a JSON response. `slot` has the values of the three rate-limit headers (help/interface.md 7). None leaves them out."""
    body = orjson.dumps(content, default=_other)  # dollars with all six fractional digits
    headers = {**_HEADERS, "X-Request-Id": request_id}
    if slot is not None:
        headers["X-RateLimit-Limit"] = str(slot.limit)
        headers["X-RateLimit-Remaining"] = str(slot.remaining)
        headers["X-RateLimit-Reset"] = str(slot.reset)
    return web.Response(status=status, body=body, headers=headers)


def refusal(fault: ProblemError, request_id: str, slot: Slot | None, now_ms: int) -> web.Response:
    """Make the response to an error. It has `WWW-Authenticate` if the status is 401, `Retry-After` if 429, and `Allow` if 405."""
    response = respond(fault.problem.status, fault.as_json(), request_id, slot)
    match fault.problem.status:
        case 401:
            response.headers["WWW-Authenticate"] = "Bearer"
        case 405:
            response.headers["Allow"] = ", ".join(fault.extra["allow"])  # type: ignore[arg-type]  # the error table says so
        case 429 if slot is not None:
            response.headers["Retry-After"] = str(max(1, slot.reset - now_ms // 1000))
    return response
