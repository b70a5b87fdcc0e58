"""Validation of imported values: only those that the service itself writes are accepted."""

import json
import re
from collections.abc import Callable
from datetime import date, time
from typing import Any

from chatsvc.domain import language, names, opening_hours, times, websites
from chatsvc.domain.models import CHANNELS, Exchange
from chatsvc.domain.whatsapp import MOST_TEXT, is_address

FIRST_INSTANT = 946_684_800_000  # the beginning of the year 2000: no clock of a service was before
CLOCK_MS = times.DAY_MS  # how far the exporting machine's clock may have been ahead
_PLANNED_MS = 1000 * times.DAY_MS  # how far an appointment may lie ahead
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SHAPES = {
    "month": re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])"),
    "country": re.compile(r"[A-Z]{2}"),
    "error": re.compile(r"[a-z0-9_]{1,64}"),
    "key": re.compile(r"[!-~]{1,255}"),
    "prefix": re.compile(r"csk_[0-9A-Za-z]{0,16}"),
    "signature": re.compile(r"sha256=[0-9a-f]{64}"),
    "signing_key": re.compile(r"whsec_[0-9A-Za-z_-]{43}"),
    "url": re.compile(r"https://[!-~]{1,2040}"),
    "source_page_host": re.compile(r"[!-~]{0,253}"),
    "visitor_email": re.compile(r"[^\s@]{1,190}@[^\s@]{1,190}"),
    "visitor_phone": re.compile(r"[0-9+ \t().\-/\u00a0\u202f]{3,60}"),
    "request_id": _UUID,
    "conversation_id": _UUID,
    "bot_id": _UUID,
    "record_id": _UUID,
    "delivery_id": _UUID,
    "id": _UUID,
    "site_id": _UUID,
    "entry_id": _UUID,
    "site.url": re.compile(r"https?://[^\s/]\S{1,500}"),
    "site_entry.key": re.compile(r".{1,2000}", re.DOTALL),
}
_LONGEST = {
    "user_id": 128,
    "name": 200,
    "label": 200,
    "description": 1000,
    "greeting": 1000,
    "instructions": 20_000,
    # The longest text of a channel, which may become a request.
    "message": MOST_TEXT,
    "note": 4000,
    "text": 4000,
    "author": 200,
    "visitor_name": 200,
    "plan": 200,
    "model": 200,
}
_EVENTS = ("request.created", "appointment.created")
_SENT = (*_EVENTS, "webhook.test")
# Fields whose time may lie ahead.
_AHEAD = {"expires_at": None, "appointment_at": _PLANNED_MS}
_DIGEST = 32  # bytes of SHA-256
_ANSWER = 4096  # bytes kept of a receiver's answer
_NOT_EMPTY = frozenset({"name", "user_id", "question", "answer", "wording", "folded", "file", "model", "language", "content", "text"})


def is_possible(kind: str, name: str, value: object, now: int) -> bool:
    """Whether the service could have written this value into this field. `now` is in Unix milliseconds."""
    if value is None:
        return True
    if name.endswith("_at") or name == "at":
        ahead = _AHEAD.get(name, CLOCK_MS)
        return isinstance(value, int) and value >= FIRST_INSTANT and (ahead is None or value <= now + ahead)
    check = _CHECKS.get((kind, name)) or _CHECKS.get(("", name))
    if check is not None and not check(value):
        return False
    if not isinstance(value, str):
        return True
    shape, longest = _SHAPES.get(f"{kind}.{name}", _SHAPES.get(name)), _LONGEST.get(name)
    if shape is not None and not shape.fullmatch(value):
        return False
    return (longest is None or len(value) <= longest) and (name not in _NOT_EMPTY or bool(value.strip()))


def is_consistent(kind: str, record: dict[str, Any]) -> bool:
    """Whether the fields of a record fit one another."""
    if kind == "event":
        return bool(json.loads(record["data"]).get("id") == record["record_id"])
    if kind == "whatsapp_address":
        return is_address(record["kind"], record["value"])
    if kind == "unanswered":
        return bool(record["first_asked_at"] <= record["last_asked_at"])
    return True


def _json(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Check of a text with JSON, whose texts can all be stored and sent."""

    def checked(value: Any) -> bool:
        try:
            decoded = json.loads(value)
            json.dumps(decoded, ensure_ascii=False, allow_nan=False).encode()
        except (ValueError, RecursionError):
            return False
        return check(decoded)

    return checked


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) and "\0" not in one for one in value)


def _exchange(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != len(Exchange._fields) or not _texts(value[:-1]):
        return False
    bot_id, user_id, channel, message, reply, created_at = value
    return (
        _UUID.fullmatch(bot_id) is not None
        and 0 < len(user_id) <= 128
        and channel in CHANNELS
        and bool(message.strip() and reply.strip())
        and type(created_at) is int
        and FIRST_INSTANT <= created_at < 1 << 47
    )


def _is(parse: Callable[[Any], object]) -> Callable[[Any], bool]:
    def checked(value: Any) -> bool:
        try:
            return parse(value) is not None
        except ValueError:
            return False

    return checked


_CHECKS: dict[tuple[str, str], Callable[[Any], bool]] = {
    ("account", "name"): names.is_visible,
    ("bot", "name"): names.is_visible,
    ("key", "label"): names.is_visible,
    ("saved_reply", "name"): names.is_visible,
    ("bot", "timezone"): _is(times.zone),
    ("bot", "opening_hours"): _is(opening_hours.parse),
    ("", "language"): language.is_tag,
    ("knowledge", "alt"): _json(_texts),
    ("synonyms", "words"): _json(_texts),
    ("site", "include"): _json(_texts),
    ("site", "exclude"): _json(_texts),
    ("site", "max_pages"): range(1, websites.MAX_PAGES + 1).__contains__,
    ("site", "every_days"): range(websites.MAX_DAYS + 1).__contains__,
    ("conversation", "dialogue"): _json(lambda value: isinstance(value, dict)),
    ("webhook", "events"): _json(lambda value: _texts(value) and 0 < len(value) == len({*value} & {*_EVENTS})),
    ("event", "event"): _SENT.__contains__,
    ("attempt", "event"): _SENT.__contains__,
    ("event", "data"): _json(lambda value: isinstance(value, dict)),
    ("attempt", "body"): lambda value: not value or _json(lambda body: isinstance(body, dict))(value),
    ("attempt", "status_code"): range(100, 1000).__contains__,
    ("attempt", "answer"): lambda value: len(value) <= _ANSWER,
    ("appointment", "appointment_date"): _is(date.fromisoformat),
    ("appointment", "appointment_time"): _is(time.fromisoformat),
    ("answer", "exchange"): _json(_exchange),
    ("answer", "fingerprint"): lambda value: len(value) == _DIGEST,
    ("key", "digest"): lambda value: len(value) == _DIGEST,
    ("unanswered", "times"): lambda value: value > 0,
    ("asker", "times"): lambda value: value > 0,
}
