"""Format of an exported account: its records, their fields and types."""

import json
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable

from chatsvc.domain import refusals
from chatsvc.domain.captures import APPOINTMENT_STATUSES, REQUEST_STATUSES, REQUEST_TYPES
from chatsvc.domain.channels import DELIVERIES, FEEDBACK, SETTABLE, STATES
from chatsvc.domain.models import CHANNELS, SUBSCRIPTION_STATUSES, Exchange
from chatsvc.domain.quality import COUNTED
from chatsvc.domain.transfer_values import is_consistent, is_possible
from chatsvc.domain.whatsapp import ADDRESS_KINDS

FORMAT = "chatsvc account"
VERSION = 2
LAST_INSTANT = 253_402_300_799_999  # the end of the year 9999
MOST = 2**53 - 1

Record = dict[str, object]

# A field is a text unless it says otherwise; with "?" it may be null. Parents stand before what refers to them.
_FIELDS = {
    "account": "id name plan? subscription_status messages_limit:number message_credits:number created_at:time updated_at:time",
    "allowance": "month messages_used:number",
    "bot": "id name description? model active:flag messages_used:number created_at:time updated_at:time"
    " instructions? timezone country language opening_hours? ask_back:flag? greeting? fallback? profile?"
    " hand_off:flag hand_off_wait:number hand_off_return:number",
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
    "conversation": "bot_id id channel user_id visitor_name? visitor_email? last_message_at:time created_at:time updated_at:time dialogue?"
    " source_page_host",
    "message": "conversation_id id role content created_at:time evidence:object? author? delivery? error? feedback?",
    "note": "conversation_id id author text created_at:time",
    "saved_reply": "name text created_at:time updated_at:time",
    "whatsapp_address": "bot_id conversation_id kind value is_current:flag created_at:time",
    "mail_stop": "digest:bytes created_at:time",
    "request": "bot_id conversation_id id request_type status message visitor_name? visitor_email? visitor_phone? source_page_host"
    " note? created_at:time updated_at:time",
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
    made = {}
    for field in fields.split():
        name, _, kind = field.rstrip("?").partition(":")
        made[name] = (kind or "text", field.endswith("?"))
    return made


RECORDS = {kind: _parsed(fields) for kind, fields in _FIELDS.items()}


def checked(kind: object, record: object, now: int) -> Record:
    """Check a record of the file and decode its values. Raises Refused with kind and field."""
    if not isinstance(kind, str) or kind not in RECORDS or not isinstance(record, dict):
        raise refusals.import_kind_unknown(kind=str(kind))
    fields = RECORDS[kind]
    if record.keys() != fields.keys():
        odd = sorted(set(record) ^ set(fields))
        raise refusals.import_fields_wrong(kind=kind, field=odd[0])
    made = {name: _value(record[name], *form) for name, form in fields.items()}
    wrong = [name for name, value in made.items() if value is _WRONG or value not in _CHOICES.get((kind, name), (value,))]
    wrong += [name for name, value in made.items() if name not in wrong and not is_possible(kind, name, value, now)]
    if not wrong and not is_consistent(kind, made):
        wrong = list(fields)
    if wrong:
        raise refusals.import_value_wrong(kind=kind, field=wrong[0])
    return made


_WRONG = object()


def _value(value: object, form: str, may_be_null: bool) -> object:
    if value is None:
        return None if may_be_null else _WRONG
    if form == "flag":
        return value if isinstance(value, bool) else _WRONG
    if form in ("number", "time"):
        most = MOST if form == "number" else LAST_INSTANT
        return value if type(value) is int and 0 <= value <= most else _WRONG
    if not isinstance(value, str) or not _is_storable(value):
        return _WRONG
    try:
        if form == "bytes":
            return b64decode(value, validate=True)
        return value if form == "text" or _IS[form](json.loads(value)) else _WRONG
    except (ValueError, NotBase64, RecursionError):
        return _WRONG


# What a text is that holds JSON.
_IS: dict[str, Callable[[object], bool]] = {
    "texts": lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    "object": lambda value: isinstance(value, dict),
    "exchange": lambda value: isinstance(value, list) and len(value) == len(Exchange._fields),
}


def _is_storable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text
