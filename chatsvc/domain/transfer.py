"""Format of an exported account: its records, their fields and types."""

import json
import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable
from datetime import date, time
from functools import partial
from ipaddress import ip_network
from typing import Any

from chatsvc import timezones
from chatsvc.domain import folding, opening_hours, refusals, targets, times, websites
from chatsvc.domain.addresses import Own, TargetRefused
from chatsvc.domain.analytics import COUNTED
from chatsvc.domain.captures import REQUEST_TYPES
from chatsvc.domain.channels import ADDRESS_KINDS, DELIVERIES, FEEDBACK, SETTABLE, STATES, is_address
from chatsvc.domain.knowledge_files import parsed
from chatsvc.domain.models import APPOINTMENT_STATUSES, CHANNELS, REQUEST_STATUSES, SUBSCRIPTION_STATUSES, Exchange

FORMAT = "chatsvc account"
VERSION = 2
_MOST = {"number": 2**53 - 1, "time": 253_402_300_799_999}  # the last instant of the year 9999

Record = dict[str, object]

# A field is a text unless it says otherwise; with "?" it may be null. Parents stand before what refers to them.
_FIELDS = {
    "account": "id name plan? subscription_status messages_limit:number message_credits:number created_at:time updated_at:time",
    "allowance": "month messages_used:number",
    "bot": "id name description? model active:flag messages_used:number created_at:time updated_at:time"
    " instructions? timezone country language opening_hours? ask_back:flag? greeting? fallback? profile?"
    " hand_off:flag hand_off_wait:number hand_off_return:number phone? email? address?"
    " appointment_minutes:number appointments_at_once:number calendar:number",
    "knowledge": "bot_id id question alt:texts answer language source? file? created_at:time",
    "synonyms": "bot_id words:texts source file",
    "site": "bot_id id url include:texts exclude:texts max_pages:number every_days:number review:flag",
    "site_entry": "bot_id site_id page key question answer language entry_id",
    "unanswered": "bot_id folded question language times:number first_asked_at:time last_asked_at:time",
    "asker": "bot_id folded channel user_id wording times:number last_asked_at:time",
    "webhook": "bot_id url? events:texts signing_key? created_at:time updated_at:time",
    "channel": "bot_id id channel state settings:object secrets:object? identity? created_at:time updated_at:time",
    "whatsapp_sends": "bot_id month sent:number",
    "day_count": "bot_id name day:time item times:number",
    "conversation": "bot_id id channel user_id visitor_name? visitor_email? last_message_at:time created_at:time updated_at:time"
    " dialogue:object? source_page_host missed_at:time? set_aside_at:time? set_aside_until:time? labels:texts? visitor_phone?"
    " visitor_note?",
    "message": "conversation_id id role content created_at:time evidence:object? author? delivery? error? feedback?",
    "note": "conversation_id id author text created_at:time",
    "saved_reply": "name text created_at:time updated_at:time",
    "whatsapp_address": "bot_id conversation_id kind value is_current:flag created_at:time",
    "mail_stop": "digest:bytes created_at:time",
    "request": "bot_id conversation_id id request_type status message visitor_name? visitor_email? visitor_phone? source_page_host"
    " note? created_at:time updated_at:time urgent:flag follows? change:object? history:object? item? end_date? end_time?",
    "appointment": "bot_id request_id id status appointment_date appointment_time appointment_at:time created_at:time updated_at:time",
    "event": "bot_id event record_id data:object created_at:time state:number",
    "attempt": "bot_id event record_id told_at:time id delivery_id url? body:bytes at:time success:flag? status_code:number? error?"
    " duration_ms:number? signature? answer:bytes?",
    "usage": "bot_id channel created_at:time tokens:number cost_micro_usd:number",
    "answer": "key fingerprint:bytes exchange:exchange created_at:time",
    "key": "digest:bytes id label? prefix created_at:time expires_at:time? revoked_at:time? last_used_at:time?",
}
_CHOICES: dict[tuple[str, str], tuple[object, ...]] = {
    ("account", "subscription_status"): SUBSCRIPTION_STATUSES,
    ("conversation", "channel"): CHANNELS,
    ("asker", "channel"): CHANNELS,
    ("usage", "channel"): CHANNELS,
    ("day_count", "name"): COUNTED,
    ("bot", "fallback"): (None, "knowledge"),
    ("message", "role"): ("user", "assistant", "operator"),
    ("message", "delivery"): (None, *DELIVERIES),
    ("message", "feedback"): (None, *FEEDBACK),
    ("channel", "channel"): tuple(SETTABLE),
    ("channel", "state"): STATES,
    ("whatsapp_address", "kind"): ADDRESS_KINDS,
    ("request", "request_type"): REQUEST_TYPES,
    ("request", "status"): REQUEST_STATUSES,
    ("appointment", "status"): APPOINTMENT_STATUSES,
    ("event", "state"): (0, 1, 2),
}


def _parsed(fields: str) -> dict[str, tuple[str, bool]]:
    forms = {}
    for field in fields.split():
        name, _, kind = field.rstrip("?").partition(":")
        forms[name] = (kind or "text", field.endswith("?"))
    return forms


RECORDS = {kind: _parsed(fields) for kind, fields in _FIELDS.items()}


def checked(kind: object, record: object, now: int) -> Record:
    """Check a record of an export file and decode its values. Raises Refused with the record's kind and the wrong field."""
    if not isinstance(kind, str) or kind not in RECORDS or not isinstance(record, dict):
        raise refusals.import_kind_unknown(kind=str(kind))
    fields = RECORDS[kind]
    if record.keys() != fields.keys():
        odd = sorted(set(record) ^ set(fields))
        raise refusals.import_fields_wrong(kind=kind, field=odd[0])
    values: Record = {}
    for name, form in fields.items():
        value = values[name] = _value(record[name], *form)
        if value is _WRONG or value not in _CHOICES.get((kind, name), (value,)) or not is_possible(kind, name, value, now):
            raise refusals.import_value_wrong(kind=kind, field=name)
    if kind in _CONSISTENT and not _CONSISTENT[kind](values):
        raise refusals.import_value_wrong(kind=kind, field=next(iter(fields)))
    return values


_WRONG = object()


def _value(value: object, form: str, may_be_null: bool) -> object:
    if value is None:
        return None if may_be_null else _WRONG
    if form == "flag":
        return value if isinstance(value, bool) else _WRONG
    if form in _MOST:
        return value if type(value) is int and 0 <= value <= _MOST[form] else _WRONG
    if not isinstance(value, str) or not folding.is_storable(value):
        return _WRONG
    if form == "bytes":
        try:
            return b64decode(value, validate=True)
        except NotBase64:
            return _WRONG
    return value if form == "text" or IS_JSON[form](value) else _WRONG


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
    **dict.fromkeys(("request_id", "conversation_id", "bot_id", "record_id", "delivery_id", "id", "site_id", "entry_id"), _UUID),
    "site.url": re.compile(r"https?://[^\s/]\S{1,500}"),
    "site_entry.key": re.compile(r".{1,2000}", re.DOTALL),
}
_LONGEST = {
    "user_id": 128,
    **dict.fromkeys(("name", "label", "author", "visitor_name", "plan", "model"), 200),
    **dict.fromkeys(("description", "greeting"), 1000),
    "instructions": 20_000,
    # The longest text of a channel, which may become a request.
    "message": 4096,
    **dict.fromkeys(("note", "text"), 4000),
    "knowledge.question": parsed.MAX_PHRASING,
    "knowledge.answer": parsed.MAX_ANSWER,
}
_LONGEST_TEXT = 1 << 20  # characters of any other
_EVENTS = ("request.created", "appointment.created")
_SENT = (*_EVENTS, "webhook.test")
# Fields whose time may lie ahead.
_AHEAD = {"expires_at": None, "appointment_at": _PLANNED_MS}
_DIGEST = 32  # bytes of SHA-256
_ANSWER = 4096  # bytes kept of a receiver's answer
_NOT_EMPTY = frozenset({"name", "user_id", "question", "answer", "wording", "folded", "file", "model", "language", "content", "text"})


def is_possible(kind: str, name: str, value: object, now: int) -> bool:
    """Return whether the service could have written this value into this field. `now` is in Unix milliseconds."""
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
    shape, longest = _SHAPES.get(f"{kind}.{name}", _SHAPES.get(name)), _LONGEST.get(f"{kind}.{name}", _LONGEST.get(name, _LONGEST_TEXT))
    if shape is not None and not shape.fullmatch(value):
        return False
    return len(value) <= longest and (name not in _NOT_EMPTY or bool(value.strip()))


# Whether the fields of a record fit one another.
_CONSISTENT: dict[str, Callable[[dict[str, Any]], bool]] = {
    "event": lambda record: json.loads(record["data"]).get("id") == record["record_id"],
    "whatsapp_address": lambda record: is_address(record["kind"], record["value"]),
    "unanswered": lambda record: record["first_asked_at"] <= record["last_asked_at"],
}


def _json(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return a check of a JSON text: all of its strings can be stored, and its value passes `check`."""

    def checked(value: Any) -> bool:
        try:
            decoded = json.loads(value)
            json.dumps(decoded, ensure_ascii=False, allow_nan=False).encode()
        except (ValueError, RecursionError):
            return False
        return check(decoded)

    return checked


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) and "\0" not in text for text in value)


def _exchange(value: Any) -> bool:
    if not isinstance(value, dict) or value.keys() != set(Exchange._fields):
        return False
    bot_id, user_id, channel, message, reply, created_at = (value[name] for name in Exchange._fields)
    if not _texts([bot_id, user_id, channel, message, reply]):
        return False
    return (
        _UUID.fullmatch(bot_id) is not None
        and 0 < len(user_id) <= 128
        and channel in CHANNELS
        and bool(message.strip() and reply.strip())
        and type(created_at) is int
        and FIRST_INSTANT <= created_at < 1 << 47
    )


# Checks of texts that hold JSON, by the kinds of fields.
IS_JSON: dict[str, Callable[[str], bool]] = {
    "texts": _json(_texts),
    "object": _json(lambda value: isinstance(value, dict)),
    "exchange": _json(_exchange),
}


def _is(parse: Callable[[Any], object]) -> Callable[[Any], bool]:
    def checked(value: Any) -> bool:
        try:
            return parse(value) is not None
        except (ValueError, TargetRefused):
            return False

    return checked


_CHECKS: dict[tuple[str, str], Callable[[Any], bool]] = {
    **dict.fromkeys([("account", "name"), ("bot", "name"), ("key", "label"), ("saved_reply", "name")], folding.is_visible),
    ("bot", "timezone"): _is(timezones.zone),
    ("bot", "opening_hours"): _is(opening_hours.parse),
    ("", "language"): folding.is_tag,
    ("site", "max_pages"): range(1, websites.MAX_PAGES + 1).__contains__,
    ("site", "every_days"): range(websites.MAX_DAYS + 1).__contains__,
    # Whether the address may be reached is decided wherever a connection is opened.
    ("webhook", "url"): _is(partial(targets.check_url, own=Own(), allowed=(ip_network("0.0.0.0/0"), ip_network("::/0")))),
    ("webhook", "events"): lambda value: 0 < len(events := json.loads(value)) == len({*events} & {*_EVENTS}),
    ("event", "event"): _SENT.__contains__,
    ("attempt", "event"): _SENT.__contains__,
    ("attempt", "body"): lambda value: not value or IS_JSON["object"](value),
    ("attempt", "status_code"): range(100, 1000).__contains__,
    ("attempt", "answer"): lambda value: len(value) <= _ANSWER,
    ("appointment", "appointment_date"): _is(date.fromisoformat),
    ("appointment", "appointment_time"): _is(time.fromisoformat),
    ("answer", "fingerprint"): lambda value: len(value) == _DIGEST,
    ("key", "digest"): lambda value: len(value) == _DIGEST,
    ("unanswered", "times"): lambda value: value > 0,
    ("asker", "times"): lambda value: value > 0,
}
