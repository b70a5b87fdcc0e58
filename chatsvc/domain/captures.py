"""What a bot captures in a conversation: a request, and the appointment that may belong to it (SPEC.md 2.6, 2.7).

An engine proposes, code decides: whatever a model or a visitor brings is checked here before it becomes a record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from chatsvc.domain import contacts

REQUEST_TYPES = ("contact", "quote", "support", "appointment", "other")
REQUEST_STATUSES = ("new", "in_progress", "done", "dismissed")
APPOINTMENT_STATUSES = ("pending", "confirmed", "canceled", "done")
MAX_MESSAGE = 4000
MOST_A_DAY = 5
FURTHEST_DAYS = 730


@dataclass(frozen=True, slots=True)
class Captured:
    """A request as an engine has understood it; an appointment where both `date` and `time` (local to the bot) are given."""

    request_type: str
    message: str
    visitor_name: str | None = None
    visitor_email: str | None = None
    visitor_phone: str | None = None
    date: date | None = None
    time: time | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A request record (SPEC.md 2.6)."""

    id: str
    request_type: str
    status: str
    message: str
    visitor_name: str | None
    visitor_email: str | None
    visitor_phone: str | None
    source_page_host: str
    created_at: int


@dataclass(frozen=True, slots=True)
class Appointment:
    """An appointment record (SPEC.md 2.7) with the request that it belongs to; `at` is milliseconds since the epoch."""

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
    """What the visitor wrote: `message` where it is a quote, else the message of theirs that it is most about, else their last.

    Never a summary: a model that was talked into something must not put words into the visitor's mouth.
    """
    if _flat(message) and _flat(message) in _flat("\n".join(spoken)):
        return message.strip()[:MAX_MESSAGE]
    about = set(_flat(message).split())
    shared = [len(about & set(_flat(text).split())) for text in spoken]
    best = max(range(len(spoken)), key=lambda n: (shared[n], n))
    return spoken[best][:MAX_MESSAGE]


def checked(captured: Captured, spoken: Sequence[str], now: datetime, country: str) -> Captured:
    """`captured` with only what may be kept: contact data that the visitor has typed, a date that is real and lies ahead.

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
    if kept.date is None or kept.time is None:
        return replace(kept, date=None, time=None)
    clock = kept.time.replace(second=0, microsecond=0, tzinfo=None)
    if not now < datetime.combine(kept.date, clock) <= now + timedelta(days=FURTHEST_DAYS):
        return replace(kept, date=None, time=None)
    return replace(kept, time=clock)


def instant(day: date, clock: time, zone: tzinfo) -> int:
    """The instant of a local date and time, milliseconds since the epoch; in an hour that the clocks skip, the one after it."""
    local = datetime.combine(day, clock, tzinfo=zone)
    return int(local.astimezone(UTC).timestamp()) * 1000
