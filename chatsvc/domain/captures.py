"""Captured data of a conversation: a request, and perhaps its appointment (help/webhooks.md 3, 4), and items of the inbox.

Data that an engine proposes is checked here before it becomes a record, whether it comes from a model or from a visitor.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, NamedTuple, TypeAlias

from chatsvc import translations
from chatsvc.domain import contacts
from chatsvc.domain.folding import primary
from chatsvc.domain.times import in_words

REQUEST_TYPES = ("contact", "quote", "support", "appointment", "other")
PENDING = ("new", "in_progress", "pending")  # statuses of records on which nobody has decided yet
MAX_MESSAGE = 4000
MAX_NOTE = 4000
MAX_ITEM = 200
MOST_A_DAY = 5
FURTHEST_DAYS = 730

# In classes with fields of those names.
Day: TypeAlias = date
Clock: TypeAlias = time
CHANGES = ("move", "cancel", "amend", "withdraw")
CONTACT = ("visitor_name", "visitor_email", "visitor_phone")


class OpenChange(NamedTuple):
    """A change of a confirmed appointment that waits for the team, in the bot's local time."""

    kind: str
    date: date | None = None
    time: time | None = None


class CapturedRecord(NamedTuple):
    """A request or appointment that was captured before, as engines read it, in the bot's local time."""

    kind: str
    id: str
    request_type: str
    status: str
    message: str
    created_at: int
    date: date | None = None
    time: time | None = None
    visitor_name: str | None = None
    visitor_email: str | None = None
    visitor_phone: str | None = None
    urgent: bool = False
    change: OpenChange | None = None
    request_id: str = ""
    item: str | None = None
    end_date: Day | None = None
    end_time: Clock | None = None

    @property
    def is_pending(self) -> bool:
        """Return whether the record still waits for the team's decision. Until then, a change edits the record itself."""
        return self.status in PENDING


class Change(NamedTuple):
    """A visitor's request to cancel a captured record, or to move it if `cancels` is False.

    A move to the time that the record already has withdraws the last change. If `corrects` is true, or if no new day is given, the change
    only adds words and contact data.
    """

    appointment: CapturedRecord
    cancels: bool
    corrects: bool = False

    def kind(self, date: date | None, time: time | None) -> str:
        """Return the kind of the change, one of CHANGES. `date` and `time` are when the visitor wants the appointment."""
        if self.cancels:
            return "cancel"
        if self.corrects or date is None:
            return "amend"
        return "withdraw" if (date, time) == (self.appointment.date, self.appointment.time) else "move"


@dataclass(frozen=True, slots=True)
class Captured:
    """A request as an engine has understood it. If it has both `date` and `time` (local to the bot), it is an appointment.

    `details` are fields that the owner's form asks for, each a name and the visitor's words. `offered` are choices of the owner that the
    engine's code, never a model, has matched with the visitor's text ("kaya" for "Dt. Elif Kaya"); these are accepted as details.
    `verbatim` is true if the engine's code has copied `message` from the visitor's messages. `item` is what is booked, in the visitor's
    words. `end_date` and `end_time` are when a stay or a rental ends. If `change` is given, the visitor asks to change an earlier record,
    and `date` and `time` are its new date and time.
    """

    request_type: str
    message: str
    visitor_name: str | None = None
    visitor_email: str | None = None
    visitor_phone: str | None = None
    date: date | None = None
    time: time | None = None
    change: Change | None = None
    details: tuple[tuple[str, str], ...] = ()
    offered: tuple[str, ...] = ()
    urgent: bool = False
    end_date: Day | None = None
    end_time: Clock | None = None
    item: str | None = None
    verbatim: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """A request record (help/webhooks.md 3), with note and assignee. The assignee is an operator's e-mail address.

    A request that only changes an earlier one has the earlier one's id in `follows`, and the wanted change in `change` (JSON). For any
    other request, `change` is the change of it that waits for the team. `history` is JSON, see `entries`.
    """

    id: str
    request_type: str
    status: str
    message: str
    visitor_name: str | None
    visitor_email: str | None
    visitor_phone: str | None
    source_page_host: str
    created_at: int
    note: str | None = None
    assignee: str | None = None
    urgent: bool = False
    follows: str | None = None
    change: str | None = None
    history: str | None = None
    item: str | None = None
    end_date: str | None = None
    end_time: str | None = None

    @property
    def entries(self) -> list[dict[str, Any]]:
        """Return the entries of the history, oldest first."""
        return json.loads(self.history)["changes"] if self.history else []

    @property
    def open_change(self) -> dict[str, str | None] | None:
        """Return the change that waits for the team, or None."""
        return json.loads(self.change) if self.change and self.follows is None else None


@dataclass(frozen=True, slots=True)
class Appointment:
    """An appointment record (help/webhooks.md 4) with the request that it belongs to. `begins_at` is milliseconds since the epoch."""

    id: str
    request: Request
    status: str
    date: str
    time: str
    begins_at: int
    created_at: int

    def as_of(self, instant: int) -> Appointment:
        """Return the appointment as it was at an instant. The first later entry of the history has these values."""
        for entry in self.request.entries:
            if entry["at"] > instant and "before" in entry:
                then = entry["before"]
                return replace(self, status=then["status"], date=then["date"], time=then["time"], begins_at=then["at"])
        return self


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold()


def _own_words(message: str, spoken: Sequence[str]) -> str:
    """Return `message` if it quotes the visitor, whole or line by line. Otherwise return the visitor's message closest to it.

    A model's summary is never stored: the record must only have the visitor's own words.
    """
    words = _flat("\n".join(spoken))
    if _flat(message) and (_flat(message) in words or all(_flat(line) in words for line in message.splitlines())):
        return message.strip()[:MAX_MESSAGE]
    about = set(_flat(message).split())
    return max(reversed(spoken), key=lambda text: len(about & set(_flat(text).split())))[:MAX_MESSAGE]


def checked(captured: Captured, spoken: Sequence[str], now: datetime, country: str) -> Captured:
    """Return `captured` without values that may not be stored. Contact data must be typed by the visitor, dates valid and in the future.

    `spoken` are the visitor's own messages, `now` is the bot's local time (naive). `country` is the bot's (ISO 3166): its calling code is
    added to telephone numbers without a code. A second check changes nothing.
    """
    name, email, phone, item = captured.visitor_name, captured.visitor_email, captured.visitor_phone, captured.item
    words = _flat("\n".join(spoken))
    wish = replace(
        captured,
        request_type=captured.request_type if captured.request_type in REQUEST_TYPES else "other",
        message=captured.message.strip()[:MAX_MESSAGE] if captured.verbatim else _own_words(captured.message, spoken),
        visitor_name=contacts.own_name(name, spoken) if name else None,
        visitor_email=contacts.own_email(email, spoken) if email else None,
        visitor_phone=contacts.own_phone(phone, spoken, country) if phone else None,
        details=tuple((name, value) for name, value in captured.details if _flat(value) in words or value in captured.offered),
        item=item.strip()[:MAX_ITEM] if item and _flat(item) and _flat(item) in words else None,
    )
    if wish.change:
        # Contact data, and the day or the time that stays, are those of the appointment.
        old, is_moved = wish.change.appointment, not (wish.change.cancels or wish.change.corrects) and (wish.date or wish.time)
        wish = replace(
            wish,
            request_type=old.request_type if wish.change.corrects else "appointment",
            date=(wish.date or old.date) if is_moved else None,
            time=(wish.time or old.time) if is_moved else None,
            **{name: getattr(wish, name) or getattr(old, name) for name in CONTACT},
        )
    clock, furthest = wish.time.replace(second=0, microsecond=0, tzinfo=None) if wish.time else None, now + timedelta(days=FURTHEST_DAYS)
    if wish.date is None or clock is None or not now < (begin := datetime.combine(wish.date, clock)) <= furthest:
        return replace(wish, date=None, time=None, end_date=None, end_time=None)
    # A day alone ends at its end.
    end_clock = wish.end_time.replace(second=0, microsecond=0, tzinfo=None) if wish.end_time else None
    if (wish.end_date or end_clock) and not begin < datetime.combine(wish.end_date or wish.date, end_clock or time.max) <= furthest:
        return replace(wish, time=clock, end_date=None, end_time=None)
    return replace(wish, time=clock, end_time=end_clock)


def change_message(captured: Captured, change: Change, language: str) -> str:
    """Return the message of a change: a sentence in Turkish or English, then the visitor's own words."""
    old, kind = change.appointment, change.kind(captured.date, captured.time)
    pairs = [(getattr(captured, name), getattr(old, name)) for name in ("visitor_name", "visitor_phone", "visitor_email")]
    values = {
        "before": in_words(old.date, old.time, language) if old.date else "",
        "after": in_words(captured.date, captured.time, language) if captured.date else "",
        "added": ", ".join(given for given, known in pairs if given and given != known),
    }
    needed = "added" if kind == "amend" else "before"
    key = kind if kind == "withdraw" or values[needed] else f"{kind}_alone"
    sentence = translations.template("tr" if primary(language) == "tr" else "en", f"changes.{key}").format(**values)
    return f"{sentence}\n“{captured.message}”"[:MAX_MESSAGE]


def as_text(value: Day | Clock | None) -> str | None:
    """Format a day or a time of day for a record: `2026-11-25`, `09:30`. Return None for None."""
    return f"{value:%H:%M}" if isinstance(value, time) else value.isoformat() if value else None


def change_of(captured: Captured, change: Change) -> dict[str, str | None]:
    """Return a change as a JSON object for the store, with the new times, contact data and words of `captured`."""
    times = {name: as_text(getattr(captured, name)) for name in ("date", "time", "end_date", "end_time")}
    contact = {name: getattr(captured, name) for name in CONTACT}
    return {"kind": change.kind(captured.date, captured.time), **times, **contact, "words": captured.message}


def open_change(change: str | None) -> OpenChange | None:
    """Parse the JSON of a request's change that waits for the team, or return None if there is none."""
    if not change:
        return None
    values = json.loads(change)
    day, clock = values.get("date"), values.get("time")
    return OpenChange(values["kind"], date.fromisoformat(day) if day else None, time.fromisoformat(clock) if clock else None)


def instant(day: date, clock: time, zone: tzinfo) -> int:
    """Return the instant of a local date and time, in Unix milliseconds. A time that the clocks skip is moved forward by an hour."""
    local = datetime.combine(day, clock, tzinfo=zone)
    return int(local.astimezone(UTC).timestamp()) * 1000


def as_captured(request: Request, appointment: Appointment | None) -> CapturedRecord:
    """Convert a record to the form that engines read. It is the appointment, or the request if there is no appointment."""
    return CapturedRecord(
        kind="appointment" if appointment else "request",
        id=(appointment or request).id,
        status=(appointment or request).status,
        date=date.fromisoformat(appointment.date) if appointment else None,
        time=time.fromisoformat(appointment.time) if appointment else None,
        urgent=bool(request.urgent),
        request_id=request.id,
        change=open_change(request.change) if request.follows is None else None,
        end_date=date.fromisoformat(request.end_date) if request.end_date else None,
        end_time=time.fromisoformat(request.end_time) if request.end_time else None,
        **{name: getattr(request, name) for name in ("request_type", "message", "created_at", *CONTACT, "item")},
    )


# Values of the filter `assignee` beside e-mail addresses, and of the filter `kind`.
UNASSIGNED = "none"
KINDS = ("request", "appointment")


class Delivery(NamedTuple):
    """State of the delivery of a record's event: "kept", "pending", "in_flight", "delivered" or "failed"."""

    event: str
    state: str
    status_code: int | None
    error: str | None


class InboxItem(NamedTuple):
    """A request with its appointment, its conversation and its webhook deliveries. `changes` are later requests that change it."""

    request: Request
    appointment: Appointment | None
    bot_id: str
    conversation_id: str
    channel: str
    deliveries: tuple[Delivery, ...]
    user_id: str = ""
    changes: tuple[Request, ...] = ()
