"""Parsing and validation of request data: body of POST /messages, Idempotency-Key, query parameters."""

import json
import re

from aiohttp import web

from chatsvc.domain import errors, language
from chatsvc.domain.errors import ProblemError
from chatsvc.domain.models import SendMessage
from chatsvc.web import bodies
from chatsvc.web.faults import BodyBroken, BodyTimeout, BodyTooLarge

MAX_BODY = 64 * 1024
MAX_MESSAGE = 4000
MAX_USER_ID = 128
BODY_TIMEOUT_S = 10.0
FIELDS = ("chatbot_id", "message", "user_id", "language")
_INTEGER = re.compile(r"-?[0-9]+")
_VISIBLE = re.compile(r"[!-~]{1,255}")
_UNPRINTABLE = re.compile("[\0\ud800-\udfff]")


def _because(cause: str, **values: object) -> ProblemError:
    return errors.invalid_json(errors.because(cause, **values))


async def read_body(request: web.Request) -> bytes:
    """Read a body of 64 KiB at most. Raises `message_too_long`, and `invalid_json` for one that breaks off or is late."""
    try:
        return await bodies.read_body(request, MAX_BODY, BODY_TIMEOUT_S)
    except BodyTooLarge:
        raise errors.message_too_long(max_chars=MAX_MESSAGE) from None
    except BodyTimeout:
        raise _because("late") from None
    except BodyBroken as fault:
        raise _because("broken") from fault


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
    """Parse the body of POST /messages (help/interface.md 5.3); raises the errors of its rule 6."""
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
    if tag and not language.is_tag(tag):
        raise _because("no_language")
    return SendMessage(chatbot_id, message, user_id, tag)


def _optional(value: dict[str, object], name: str) -> str | None:
    text = value.get(name)
    if text is not None and not isinstance(text, str):
        raise _because("no_string", name=name)
    return text or None


def idempotency_key(request: web.Request) -> str | None:
    """Return the header Idempotency-Key if it was sent; raises `invalid_json`."""
    sent = request.headers.getall("Idempotency-Key", [])
    if not sent:
        return None
    if len(sent) > 1 or not _VISIBLE.fullmatch(sent[0]):
        raise _because("key_invalid")
    return sent[0]


def integer(text: str | None, default: int, most: int) -> int:
    """Parse a count from 1 to `most`. Out of range is clamped, no plain ASCII integer counts as absent."""
    if text is None or not _INTEGER.fullmatch(text):
        return default
    digits = text.lstrip("-0")
    if text.startswith("-") or not digits:
        return 1
    return most if len(digits) > 9 else min(int(digits), most)
