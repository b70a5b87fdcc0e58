"""Callbacks of the WhatsApp Cloud API, parsed without I/O: signature, handshake, messages, delivery statuses, echoes, changed numbers.

Elements that are unknown, invalid, or of another phone number are ignored: WhatsApp would repeat a refused callback for a week.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from chatsvc.domain.channels import PHONE, RANKS, SCOPED, START, AddressMove, NewMessage, PlatformAddress, is_address
from chatsvc.domain.shapes import as_list, as_object
from chatsvc.platforms.whatsapp import NAME
from chatsvc.services.accounts.channel_secrets import OpenChannel
from chatsvc.services.messages.outbox import sent_digest
from chatsvc.store.platforms import AddressedMessage, NewStatus, ReceivedCallback

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
_Contacts = dict[str, tuple[str | None, str | None]]  # address -> phone number and scoped id of its contact


def is_signed(app_secret: str, body: bytes, signature: str) -> bool:
    """Return whether `signature` is the WhatsApp app's signature of a body. The comparison takes constant time."""
    expected = "sha256=" + hmac.new(app_secret.encode(), body, hashlib.sha256).hexdigest()
    return bool(_SIGNATURE.fullmatch(signature)) and hmac.compare_digest(expected, signature)


def challenge(verify_token: str, query: Mapping[str, str]) -> str | None:
    """Return the challenge to answer in WhatsApp's handshake, or None if the handshake is not genuine."""
    given = query.get("hub.verify_token", "").encode("utf-8", "surrogatepass")
    if query.get("hub.mode") != "subscribe" or not hmac.compare_digest(given, verify_token.encode()):
        return None
    answer = query.get("hub.challenge", "")
    return answer if 0 < len(answer) <= MOST_KEY and answer.isprintable() else None


def parse(body: Mapping[str, Any], channel: OpenChannel, now: int) -> ReceivedCallback:
    """Parse the elements of a callback that are for the channel's number. Later times than `now` (Unix ms) are replaced by `now`."""
    bot_id = channel.channel.bot_id
    messages: list[AddressedMessage] = []
    echoes: list[tuple[AddressedMessage, bytes]] = []
    statuses: list[NewStatus | None] = []
    moves: list[AddressMove | None] = []
    for value in islice(_values(body), MOST_ELEMENTS):
        if as_object(value.get("metadata")).get("phone_number_id") != (channel.channel.identity or ""):
            continue
        contacts = _contacts(value)
        for entry in _elements(value, "messages"):
            moves.append(_move(entry))
            addresses = _sender(entry, contacts)
            # A message of a group is none to the bot.
            if entry.get("group_id") is None and (message := _message(entry, addresses, channel, now)):
                messages.append(message)
        statuses += [_status(entry, bot_id) for entry in _elements(value, "statuses")]
        for entry in _elements(value, "message_echoes"):
            addresses = _addresses(_phone(entry.get("to")), _scoped(entry.get("to_user_id")))
            if echo := _message(entry, addresses, channel, now):
                text = echo._replace(message=echo.message._replace(kind=None))
                echoes.append((text, sent_digest(bot_id, NAME, echo.message.key)))
    messages.sort(key=lambda item: item.message.sent_at)
    return ReceivedCallback(
        channel.channel.id, bot_id, NAME, messages, echoes, list(filter(None, statuses)), [move for move in moves if move]
    )


def _elements(value: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    return [as_object(entry) for entry in as_list(value.get(name))[:MOST_ELEMENTS]]


def _values(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if body.get("object") != "whatsapp_business_account":
        return
    for entry in as_list(body.get("entry")):
        for change in as_list(as_object(entry).get("changes")):
            value = as_object(change).get("value")
            if as_object(change).get("field") in ("messages", "smb_message_echoes") and isinstance(value, dict):
                yield value


def _message(entry: Mapping[str, Any], addresses: tuple[PlatformAddress, ...], channel: OpenChannel, now: int) -> AddressedMessage | None:
    key, sent_at, content = _key(entry.get("id")), _time(entry.get("timestamp"), now), _content(entry)
    if key is None or sent_at is None or not addresses or content is None:
        return None
    text, kind = content
    new = NewMessage(channel.account_id, channel.channel.bot_id, NAME, "", text, key, sent_at, kind=kind)
    return AddressedMessage(addresses, new)


def _content(entry: Mapping[str, Any]) -> tuple[str, str | None] | None:
    """Return the text and kind of a message, or None if it needs no answer, as a reaction. The kind of plain text is None."""
    kind = entry.get("type")
    if not isinstance(kind, str):
        return None
    own = as_object(entry.get(kind))
    if kind == "request_welcome":
        return "[start]", START
    if kind in _UNANSWERED:
        return None
    if kind in ("text", "button"):
        text = _text(own.get("body" if kind == "text" else "text")) or _text(own.get("payload"))
        return (text, None) if text else None
    # What cannot be read is described: the team sees that the visitor wrote.
    text = _chosen(own) if kind == "interactive" else _text(own.get("caption")) or _words(kind, entry.get(kind))
    stored_kind = _KINDS.get(kind, "unsupported")
    return (text, None) if text else (_described(stored_kind, own), stored_kind)


def _chosen(own: Mapping[str, Any]) -> str:
    """Return the text that a visitor chose (a button or list row) or entered (a flow). The id is read first: titles may be shortened."""
    chosen = as_object(own.get(str(own.get("type"))))
    if own.get("type") == "nfm_reply":
        return _of_flow(chosen)
    identifier = _text(chosen.get("id"))
    return _text(identifier.partition(CHOICE)[2]) or _text(chosen.get("title"))


def _of_flow(reply: Mapping[str, Any]) -> str:
    """Return the visitor's answers in a flow (a form of WhatsApp), one on each line."""
    try:
        fields = json.loads(_text(reply.get("response_json")))
    except (ValueError, RecursionError):
        fields = None
    lines = []
    for name, value in islice(as_object(fields).items(), _MOST_FIELDS):
        values = value[:_MOST_FIELDS] if isinstance(value, list) else [value]
        text = ", ".join(_text(str(element)) for element in values if isinstance(element, str | int | float))
        if text and name != "flow_token":
            label = re.sub(r"^screen_\d+_|_\d+$", "", name).replace("_", " ").strip()
            lines.append(f"{label or name}: {text}")
    return _text("\n".join(lines)) or _text(reply.get("body"))


def _words(kind: str, content: object) -> str:
    """Return the text of a message that is not plain text, or "" if it has none."""
    own = as_object(content)
    if kind == "order":
        items = [as_object(item) for item in as_list(own.get("product_items"))[:_MOST_FIELDS]]
        lines = [_text(own.get("text")), *(_item(item) for item in items)]
    elif kind == "contacts":
        lines = []
        for contact in map(as_object, as_list(content)[:_MOST_FIELDS]):
            phones = [_text(as_object(phone).get("phone")) for phone in as_list(contact.get("phones"))[:_MOST_FIELDS]]
            lines.append(", ".join(filter(None, (_text(as_object(contact.get("name")).get("formatted_name")), *phones))))
    elif kind == "location":
        lines = [_text(own.get("name")), _text(own.get("address"))]
        lines = [*lines, _described(kind, own)] if any(lines) else []
    else:
        lines = [_text(own.get(name)) for name in ("text", "body", "title", "name", "question", "description")]
    return _text("\n".join(filter(None, lines)))


def _item(item: Mapping[str, Any]) -> str:
    name, count, price = _text(item.get("product_retailer_id")), item.get("quantity"), item.get("item_price")
    amount = f"{count} × " if isinstance(count, int | str) else ""
    cost = f" ({price} {_text(item.get('currency'))})" if isinstance(price, int | float | str) else ""
    return _text(f"{amount}{name}{cost}") if name else ""


# Begins the id of a button of this service.
CHOICE = "choice "


def _described(kind: str, own: Mapping[str, Any]) -> str:
    """Return a text that stands for content without text, such as `[image]`."""
    coordinates = [value for name in ("latitude", "longitude") if isinstance(value := own.get(name), int | float) and -360 <= value <= 360]
    return f"[location] {coordinates[0]:.6f}, {coordinates[1]:.6f}" if kind == "location" and len(coordinates) == 2 else f"[{kind}]"


def _contacts(value: Mapping[str, Any]) -> _Contacts:
    """Map each address in a callback's contacts to its contact. If two contacts have the same address, the first is used."""
    contacts: _Contacts = {}
    for element in as_list(value.get("contacts"))[:MOST_ELEMENTS]:
        contact = as_object(element)
        pair = _phone(contact.get("wa_id")), _scoped(contact.get("user_id"))
        for address in filter(None, pair):
            contacts.setdefault(address, pair)
    return contacts


def _sender(entry: Mapping[str, Any], contacts: _Contacts) -> tuple[PlatformAddress, ...]:
    """Return the sender's addresses. An address that is not in the message is taken from the contacts."""
    phone, scoped = _phone(entry.get("from")), _scoped(entry.get("from_user_id"))
    # Phone numbers may differ from the ids of the same persons, so nothing but equal ones is linked.
    for address in filter(None, (phone, scoped)):
        other_phone, other_scoped = contacts.get(address, (None, None))
        phone, scoped = phone or other_phone, scoped or other_scoped
    return _addresses(phone, scoped)


def _addresses(phone: str | None, scoped: str | None) -> tuple[PlatformAddress, ...]:
    named = ((PHONE, phone), (SCOPED, scoped))
    return tuple(PlatformAddress(kind, value) for kind, value in named if value is not None)


def _status(entry: Mapping[str, Any], bot_id: str) -> NewStatus | None:
    key, delivery = _key(entry.get("id")), entry.get("status")
    if key is None or not isinstance(delivery, str) or delivery not in RANKS:
        return None
    codes = [as_object(error).get("code") for error in as_list(entry.get("errors"))]
    code = next((code for code in codes if isinstance(code, int) and not isinstance(code, bool)), 0)
    conversation_id, _, rest = (_key(entry.get("biz_opaque_callback_data")) or "").partition(" ")
    message_id, _, part = rest.partition(" ")
    error = error_name(code) if delivery == "failed" else None
    return NewStatus(sent_digest(bot_id, NAME, key), delivery, error, conversation_id, message_id, is_last=not part)


def error_name(code: int) -> str:
    """Return the name of an error of the platform, which is stored with a message."""
    return f"whatsapp_{code}" if 0 < code < 10**9 else "whatsapp_unknown"


def _move(entry: Mapping[str, Any]) -> AddressMove | None:
    system = as_object(entry.get("system"))
    if entry.get("type") != "system" or system.get("type") not in ("user_changed_number", "user_changed_user_id"):
        return None
    before = _addresses(_phone(entry.get("from")), _scoped(entry.get("from_user_id")))
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
    """Convert a time in seconds to milliseconds, at most `now`. Return None if it is invalid."""
    if not isinstance(value, str) or not _SECONDS.fullmatch(value):
        return None
    sent_at = int(value) * 1000
    return min(sent_at, now) if sent_at >= _EARLIEST_MS else None


def _text(value: object) -> str:
    """Return a text that can be stored, or "" if the value is not a text. Lone surrogates and NUL are replaced."""
    if not isinstance(value, str):
        return ""
    return value.encode("utf-8", "replace").decode().replace("\0", " ").strip()[:MOST_TEXT]
