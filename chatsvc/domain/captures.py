"""Captured data of a conversation. A request, and the appointment that may belong to it (SPEC.md 2.6, 2.7); items of the inbox.

An engine proposes, code decides: whatever a model or a visitor brings is checked here before it becomes a record.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import NamedTuple

from chatsvc.domain import contacts

REQUEST_TYPES = ("contact", "quote", "support", "appointment", "other")
REQUEST_STATUSES = ("new", "in_progress", "done", "dismissed")
APPOINTMENT_STATUSES = ("pending", "confirmed", "canceled", "done")
MAX_MESSAGE = 4000
MAX_NOTE = 4000
MOST_A_DAY = 5
FURTHEST_DAYS = 730


class CapturedRecord(NamedTuple):
    """A request or appointment captured before, as engines read it, in the bot's local time. It stands for its request too."""

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


class Change(NamedTuple):
    """A wish to cancel a captured appointment or, with `cancels` False, to move it.

    A move to its own time takes an earlier wish back.

    With `corrects` it corrects what is noted beside the time, of a request without an appointment too.
    """

    appointment: CapturedRecord
    cancels: bool
    corrects: bool = False


@dataclass(frozen=True, slots=True)
class Captured:
    """A request as an engine has understood it. An appointment where both `date` and `time` (local to the bot) are given.

    `details` are fields that the owner's form asks for, each a name and the visitor's words.
    `offered` are the owner's choices that the engine's own code has matched with what the visitor typed ("kaya" for "Dt. Elif Kaya"):
    a detail may be one of them as it was offered. What comes from a model never fills it.
    With `change` it is a request to change that appointment, and `date` and `time` are when the visitor wants it instead.
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


@dataclass(frozen=True, slots=True)
class Request:
    """A request record (SPEC.md 2.6), with note and assignee. The assignee is an operator's e-mail address."""

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


@dataclass(frozen=True, slots=True)
class Appointment:
    """An appointment record (SPEC.md 2.7) with the request that it belongs to. `at` is milliseconds since the epoch."""

    id: str
    request: Request
    status: str
    date: str
    time: str
    at: int
    created_at: int


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold()


def _own_words(message: str, spoken: Sequence[str]) -> str:
    """Return `message` if it quotes the visitor, whole or line by line. Otherwise return the visitor's message closest to it, or the last.

    A summary is never kept: a model that was talked into something must not put words into the visitor's mouth.
    """
    told = _flat("\n".join(spoken))
    if _flat(message) and (_flat(message) in told or all(_flat(line) in told for line in message.splitlines())):
        return message.strip()[:MAX_MESSAGE]
    about = set(_flat(message).split())
    shared = [len(about & set(_flat(text).split())) for text in spoken]
    best = max(range(len(spoken)), key=lambda n: (shared[n], n))
    return spoken[best][:MAX_MESSAGE]


def checked(captured: Captured, spoken: Sequence[str], now: datetime, country: str) -> Captured:
    """`captured` with only what may be kept. Contact data that the visitor has typed, a date that is real and lies ahead.

    `spoken` are the visitor's own messages, `now` is the bot's local wall clock (naive), `country` the bot's (ISO 3166), whose
    code a telephone number without one gets. What is checked twice stays the same.
    """
    name, email, phone = captured.visitor_name, captured.visitor_email, captured.visitor_phone
    kept = replace(
        captured,
        request_type=captured.request_type if captured.request_type in REQUEST_TYPES else "other",
        message=_own_words(captured.message, spoken),
        visitor_name=contacts.own_name(name, spoken) if name else None,
        visitor_email=contacts.own_email(email, spoken) if email else None,
        visitor_phone=contacts.own_phone(phone, spoken, country) if phone else None,
    )
    told = _flat("\n".join(spoken))
    kept = replace(kept, details=tuple((name, value) for name, value in kept.details if _flat(value) in told or value in kept.offered))
    if kept.change:
        kept = _changing(kept, kept.change)
    if kept.date is None or kept.time is None:
        return replace(kept, date=None, time=None)
    clock = kept.time.replace(second=0, microsecond=0, tzinfo=None)
    if not now < datetime.combine(kept.date, clock) <= now + timedelta(days=FURTHEST_DAYS):
        return replace(kept, date=None, time=None)
    return replace(kept, time=clock)


def _changing(captured: Captured, change: Change) -> Captured:
    """Complete a change from its appointment. The contact data, and the day or the time that stays."""
    old = change.appointment
    moves = not (change.cancels or change.corrects) and (captured.date or captured.time)
    return replace(
        captured,
        request_type=old.request_type if change.corrects else "appointment",
        visitor_name=captured.visitor_name or old.visitor_name,
        visitor_email=captured.visitor_email or old.visitor_email,
        visitor_phone=captured.visitor_phone or old.visitor_phone,
        date=(captured.date or old.date) if moves else None,
        time=(captured.time or old.time) if moves else None,
    )


def change_message(captured: Captured, change: Change, language: str) -> str:
    """The message of a change request. The appointment (date, time, id), what is wanted, and the visitor's own words."""
    old = change.appointment
    which = f"{old.date} {old.time:%H:%M}" if old.date and old.time else old.message
    wanted = f"{captured.date} {captured.time:%H:%M}" if captured.date and captured.time else None
    keeps = wanted is not None and (captured.date, captured.time) == (old.date, old.time)
    if change.corrects:
        told = ", ".join(filter(None, (captured.visitor_name, captured.visitor_phone, captured.visitor_email)))
        head = f"Kayıt düzeltmesi ({old.id}): {told}." if language == "tr" else f"Correction of the record ({old.id}): {told}."
        return f"{head} “{captured.message}”"[:MAX_MESSAGE]
    if language == "tr":
        what = (
            "iptal"
            if change.cancels
            else f"olduğu gibi kalsın, {which}"
            if keeps
            else f"yeni zaman {wanted}"
            if wanted
            else "başka bir zaman"
        )
        head = f"Randevu değişikliği isteği ({which}, {old.id}): {what}."
    else:
        what = "cancel" if change.cancels else f"keep as it is, {which}" if keeps else f"move to {wanted}" if wanted else "another time"
        head = f"Request to change the appointment ({which}, {old.id}): {what}."
    return f"{head} “{captured.message}”"[:MAX_MESSAGE]


_WANTED = re.compile(r"^(?:Randevu değişikliği isteği|Request to change the appointment) \(.*, (?P<id>[^ ,]+)\): (?P<wanted>[^.]*)\.")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d)$")


def wanted_change(record: CapturedRecord) -> tuple[str, date | None, time | None] | None:
    """Return appointment id, day and time of a change request. A cancellation has no day; other records return None."""
    match = _WANTED.match(record.message) if record.kind == "request" else None
    if match is None:
        return None
    moment = _MOMENT.search(match["wanted"])
    return (match["id"], date.fromisoformat(moment[1]), time.fromisoformat(moment[2])) if moment else (match["id"], None, None)


def instant(day: date, clock: time, zone: tzinfo) -> int:
    """The instant of a local date and time, in Unix milliseconds. In an hour that the clocks skip, the one after it."""
    local = datetime.combine(day, clock, tzinfo=zone)
    return int(local.astimezone(UTC).timestamp()) * 1000


def as_captured(request: Request, appointment: Appointment | None) -> CapturedRecord:
    """Describe a record to engines: the appointment where there is one, else the request."""
    contact = request.visitor_name, request.visitor_email, request.visitor_phone
    if appointment is None:
        kind, record_id, status, day, clock = "request", request.id, request.status, None, None
    else:
        kind, record_id, status = "appointment", appointment.id, appointment.status
        day, clock = date.fromisoformat(appointment.date), time.fromisoformat(appointment.time)
    return CapturedRecord(kind, record_id, request.request_type, status, request.message, request.created_at, day, clock, *contact)


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
    """A request with its appointment, its conversation and the deliveries of its webhook events."""

    request: Request
    appointment: Appointment | None
    bot_id: str
    conversation_id: str
    channel: str
    deliveries: tuple[Delivery, ...]
