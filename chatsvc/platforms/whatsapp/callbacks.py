"""Callbacks of the WhatsApp Cloud API, read without I/O. Signature, handshake, messages, delivery statuses, echoes, changed numbers.

Whatever is unknown, broken, or of another phone number is left out: the platform delivers a refused callback again for a week.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from chatsvc.domain.channels import PHONE, RANKS, SCOPED, START, AddressMove, PlatformAddress, is_address
from chatsvc.domain.shapes import as_list, as_object

MOST_TEXT = 4096
MOST_KEY = 512
MOST_ELEMENTS = 1_000  # of each list of a callback; the platform sends far fewer
_SECONDS = re.compile(r"\d{1,11}", re.ASCII)
_SIGNATURE = re.compile(r"sha256=[0-9a-f]{64}")
_EARLIEST_MS = 1_420_070_400_000  # 2015: the platform has no older messages
# Types of messages that are no text, with the kind that is stored. A caption makes a text of them.
_KINDS = {
    "image": "photo",
    "video": "video",
    "audio": "voice",
    "document": "document",
    "sticker": "sticker",
    "location": "location",
    "contacts": "contact",
    "order": "order",
    "unsupported": "unsupported",
    "poll": "poll",
    "event": "event",
}
_UNANSWERED = frozenset({"reaction", "system", "ephemeral", "revoke", "edit"})  # types that are no message of a visitor
_MOST_FIELDS = 50  # of the answer of a flow or an order
T = TypeVar("T")
_Contacts = dict[str, tuple[str | None, str | None]]  # address -> phone number and scoped id of its contact


class WhatsAppMessage(NamedTuple):
    """A visitor's message, or the owner's in the phone's own app. `key` is the platform's id of it; `kind` is as that of NewMessage."""

    key: str
    addresses: tuple[PlatformAddress, ...]
    at: int
    text: str
    kind: str | None = None


class WhatsAppStatus(NamedTuple):
    """A delivery status of a sent message. `opaque` is the name that was sent with it; `error` is set where it failed."""

    key: str
    delivery: str
    opaque: str | None = None
    error: str | None = None


class WhatsAppCallback(NamedTuple):
    """Contents of a callback for one phone number. The messages are in the order of their times."""

    messages: tuple[WhatsAppMessage, ...] = ()
    statuses: tuple[WhatsAppStatus, ...] = ()
    echoes: tuple[WhatsAppMessage, ...] = ()
    moves: tuple[AddressMove, ...] = ()


def is_signed(app_secret: str, body: bytes, signature: str) -> bool:
    """Report whether a body bears the signature of the app. Compared in constant time."""
    expected = "sha256=" + hmac.new(app_secret.encode(), body, hashlib.sha256).hexdigest()
    return bool(_SIGNATURE.fullmatch(signature)) and hmac.compare_digest(expected, signature)


def challenge(verify_token: str, query: Mapping[str, str]) -> str | None:
    """Return the challenge of a handshake, None where the handshake is not the platform's."""
    given = query.get("hub.verify_token", "").encode("utf-8", "surrogatepass")
    if query.get("hub.mode") != "subscribe" or not hmac.compare_digest(given, verify_token.encode()):
        return None
    answer = query.get("hub.challenge", "")
    return answer if 0 < len(answer) <= MOST_KEY and answer.isprintable() else None


def sent_name(conversation_id: str, message_id: str, *, is_last: bool) -> str:
    """Return the name of a sent part of a message. Its delivery statuses bear it."""
    return f"{conversation_id} {message_id}" if is_last else f"{conversation_id} {message_id} part"


def parse(body: Mapping[str, Any], phone_number_id: str, now: int) -> WhatsAppCallback:
    """Read a callback's elements of one phone number; `now` bounds their times (Unix milliseconds)."""
    messages: list[WhatsAppMessage | None] = []
    statuses: list[WhatsAppStatus | None] = []
    echoes: list[WhatsAppMessage | None] = []
    moves: list[AddressMove | None] = []
    for value in islice(_values(body), MOST_ELEMENTS):
        if as_object(value.get("metadata")).get("phone_number_id") == phone_number_id:
            contacts = _contacts(value)
            messages += [_message(as_object(one), contacts, now) for one in as_list(value.get("messages"))[:MOST_ELEMENTS]]
            moves += [_move(as_object(one)) for one in as_list(value.get("messages"))[:MOST_ELEMENTS]]
            statuses += [_status(as_object(one)) for one in as_list(value.get("statuses"))[:MOST_ELEMENTS]]
            echoes += [_echo(as_object(one), now) for one in as_list(value.get("message_echoes"))[:MOST_ELEMENTS]]
    in_order = sorted(_known(messages), key=lambda message: message.at)
    return WhatsAppCallback(tuple(in_order), _known(statuses), _known(echoes), _known(moves))


def _known(found: Iterable[T | None]) -> tuple[T, ...]:
    return tuple(one for one in found if one is not None)


def _values(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if body.get("object") != "whatsapp_business_account":
        return
    for entry in as_list(body.get("entry")):
        for change in as_list(as_object(entry).get("changes")):
            value = as_object(change).get("value")
            if as_object(change).get("field") in ("messages", "smb_message_echoes") and isinstance(value, dict):
                yield value


def _message(one: Mapping[str, Any], contacts: _Contacts, now: int) -> WhatsAppMessage | None:
    key, at, addresses = _key(one.get("id")), _time(one.get("timestamp"), now), _sender(one, contacts)
    # A message of a group is none to the bot.
    if key is None or at is None or not addresses or one.get("group_id") is not None:
        return None
    content = _content(one)
    return WhatsAppMessage(key, addresses, at, *content) if content else None


def _content(one: Mapping[str, Any]) -> tuple[str, str | None] | None:
    """Return text and kind of a message. None for one that gets no answer, such as a reaction."""
    kind = one.get("type")
    if not isinstance(kind, str):
        return None
    own = as_object(one.get(kind))
    if kind == "text":
        text = _text(own.get("body"))
    elif kind == "button":
        text = _text(own.get("text")) or _text(own.get("payload"))
    elif kind == "interactive":
        text = _chosen(own)
    elif kind == "request_welcome":
        return "[start]", START
    elif kind in _UNANSWERED:
        return None
    else:
        text = _text(own.get("caption")) or _words(kind, one.get(kind))
        stored_kind = _KINDS.get(kind, "unsupported")
        return (text, None) if text else (_described(stored_kind, own), stored_kind)
    if not text and kind != "interactive":
        return None
    # What cannot be read is told as such: the team sees that the visitor wrote.
    return (text, None) if text else ("[unsupported]", "unsupported")


def _chosen(own: Mapping[str, Any]) -> str:
    """Return the text of a chosen button or row, or of a flow. An id holds the whole text, which its title may shorten."""
    chosen = as_object(own.get(str(own.get("type"))))
    if own.get("type") == "nfm_reply":
        return _of_flow(chosen)
    identifier = _text(chosen.get("id"))
    return _text(identifier.partition(CHOICE)[2]) or _text(chosen.get("title"))


def _of_flow(reply: Mapping[str, Any]) -> str:
    """Return the answers of a flow, one on each line, without its token."""
    try:
        fields = json.loads(_text(reply.get("response_json")))
    except (ValueError, RecursionError):
        fields = None
    lines = [f"{name}: {value}" for name, value in _plain_fields(as_object(fields))]
    return _text("\n".join(lines)) or _text(reply.get("body"))


def _plain_fields(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in islice(fields.items(), _MOST_FIELDS):
        values = value[:_MOST_FIELDS] if isinstance(value, list) else [value]
        if name == "flow_token":
            continue
        if text := ", ".join(_text(str(element)) for element in values if isinstance(element, str | int | float)):
            yield re.sub(r"^screen_\d+_|_\d+$", "", name).replace("_", " ").strip() or name, text


def _words(kind: str, content: object) -> str:
    """Return the words of a message that is no plain text; "" if there are none."""
    own = as_object(content)
    if kind == "order":
        items = [as_object(item) for item in as_list(own.get("product_items"))[:_MOST_FIELDS]]
        lines = [_text(own.get("text")), *(_item(item) for item in items)]
    elif kind == "contacts":
        lines = [_shared_contact(as_object(contact)) for contact in as_list(content)[:_MOST_FIELDS]]
    elif kind == "location":
        lines = [_text(own.get("name")), _text(own.get("address"))]
        lines = [*lines, _described(kind, own)] if any(lines) else []
    else:
        lines = [_text(own.get(name)) for name in ("text", "body", "title", "name", "question", "description")]
    return _text("\n".join(filter(None, lines)))


def _shared_contact(contact: Mapping[str, Any]) -> str:
    phones = [_text(as_object(phone).get("phone")) for phone in as_list(contact.get("phones"))[:_MOST_FIELDS]]
    return ", ".join(filter(None, (_text(as_object(contact.get("name")).get("formatted_name")), *phones)))


def _item(item: Mapping[str, Any]) -> str:
    name, count, price = _text(item.get("product_retailer_id")), item.get("quantity"), item.get("item_price")
    amount = f"{count} × " if isinstance(count, int | str) else ""
    cost = f" ({price} {_text(item.get('currency'))})" if isinstance(price, int | float | str) else ""
    return _text(f"{amount}{name}{cost}") if name else ""


# Begins the id of a button of this service.
CHOICE = "choice "


def _described(kind: str, own: Mapping[str, Any]) -> str:
    """Return the text that stands for what is no text."""
    place = [value for name in ("latitude", "longitude") if isinstance(value := own.get(name), int | float) and -360 <= value <= 360]
    return f"[location] {place[0]:.6f}, {place[1]:.6f}" if kind == "location" and len(place) == 2 else f"[{kind}]"


def _contacts(value: Mapping[str, Any]) -> _Contacts:
    """Return the contacts of a callback by each of their addresses. The first one with an address stays."""
    contacts: _Contacts = {}
    for element in as_list(value.get("contacts"))[:MOST_ELEMENTS]:
        contact = as_object(element)
        pair = _phone(contact.get("wa_id")), _scoped(contact.get("user_id"))
        for address in filter(None, pair):
            contacts.setdefault(address, pair)
    return contacts


def _sender(one: Mapping[str, Any], contacts: _Contacts) -> tuple[PlatformAddress, ...]:
    """Return the sender's addresses. One that the message leaves out may stand among the contacts."""
    phone, scoped = _phone(one.get("from")), _scoped(one.get("from_user_id"))
    # Phone numbers may differ from the ids of the same persons, so nothing but equal ones is linked.
    for address in filter(None, (phone, scoped)):
        other_phone, other_scoped = contacts.get(address, (None, None))
        phone, scoped = phone or other_phone, scoped or other_scoped
    return _addresses(phone, scoped)


def _addresses(phone: str | None, scoped: str | None) -> tuple[PlatformAddress, ...]:
    named = ((PHONE, phone), (SCOPED, scoped))
    return tuple(PlatformAddress(kind, value) for kind, value in named if value is not None)


def _status(one: Mapping[str, Any]) -> WhatsAppStatus | None:
    key, delivery = _key(one.get("id")), one.get("status")
    if key is None or not isinstance(delivery, str) or delivery not in RANKS:
        return None
    return WhatsAppStatus(key, delivery, _key(one.get("biz_opaque_callback_data")), _error(one) if delivery == "failed" else None)


def _error(one: Mapping[str, Any]) -> str:
    codes = [as_object(error).get("code") for error in as_list(one.get("errors"))]
    return error_name(next((code for code in codes if isinstance(code, int) and not isinstance(code, bool)), 0))


def error_name(code: int) -> str:
    """Return the name of an error of the platform. It is kept with a message."""
    return f"whatsapp_{code}" if 0 < code < 10**9 else "whatsapp_unknown"


def _echo(one: Mapping[str, Any], now: int) -> WhatsAppMessage | None:
    key, at = _key(one.get("id")), _time(one.get("timestamp"), now)
    addresses = _addresses(_phone(one.get("to")), _scoped(one.get("to_user_id")))
    content = _content(one)
    return WhatsAppMessage(key, addresses, at, content[0]) if key and at is not None and addresses and content else None


def _move(one: Mapping[str, Any]) -> AddressMove | None:
    system = as_object(one.get("system"))
    if one.get("type") != "system" or system.get("type") not in ("user_changed_number", "user_changed_user_id"):
        return None
    before = _addresses(_phone(one.get("from")), _scoped(one.get("from_user_id")))
    after = _addresses(_phone(system.get("wa_id")) or _phone(system.get("new_wa_id")), _scoped(system.get("user_id")))
    return AddressMove(before, after) if before and after and before != after else None


def _key(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= MOST_KEY and value.isascii() and value.isprintable() else None


def _phone(value: object) -> str | None:
    number = value.removeprefix("+") if isinstance(value, str) else ""
    return number if is_address(PHONE, number) else None


def _scoped(value: object) -> str | None:
    return value if isinstance(value, str) and is_address(SCOPED, value) else None


def _time(value: object, now: int) -> int | None:
    """Return a time in milliseconds. A clock that is ahead must not put a message after later ones."""
    if not isinstance(value, str) or not _SECONDS.fullmatch(value):
        return None
    at = int(value) * 1000
    return min(at, now) if at >= _EARLIEST_MS else None


def _text(value: object) -> str:
    """Return a text that can be stored, "" for anything else. Lone surrogates and NUL are replaced."""
    if not isinstance(value, str):
        return ""
    return value.encode("utf-8", "replace").decode().replace("\0", " ").strip()[:MOST_TEXT]
