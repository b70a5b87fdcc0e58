"""What a bot captures in a conversation: a request, and the appointment that may belong to it (SPEC.md 2.6, 2.7).

An engine proposes, code decides: whatever a model or a visitor brings is checked here before it becomes a record.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo

REQUEST_TYPES = ("contact", "quote", "support", "appointment", "other")
REQUEST_STATUSES = ("new", "in_progress", "done", "dismissed")
APPOINTMENT_STATUSES = ("pending", "confirmed", "canceled", "done")
MAX_NAME = 120
MAX_EMAIL = 254
MOST_A_DAY = 5
FURTHEST_DAYS = 730

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


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


_EMAIL_ENDS = r"(?![\w-]|\.\w)"
_NUMBER = re.compile(r"\+?\d[\d\s().\-/]*\d")


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold()


def _said(value: str, words: str, ends: str) -> bool:
    """Whether the visitor wrote `value` as words of their own; a name may go on with a suffix (`ben Ayşeyim`)."""
    return re.search(r"(?<![\w.+-])" + re.escape(_flat(value)) + ends, words) is not None


def _own_phone(phone: str, spoken: Iterable[str]) -> bool:
    """Whether the visitor typed this number, with or without the code of its country."""
    wanted = re.sub(r"\D", "", phone)
    typed = (re.sub(r"\D", "", number).lstrip("0") for text in spoken for number in _NUMBER.findall(text))
    return any(len(digits) >= 7 and wanted.endswith(digits) and len(wanted) - len(digits) <= 3 for digits in typed)


def checked(captured: Captured, spoken: list[str], now: datetime) -> Captured:
    """`captured` with only what may be kept: contact data that the visitor has typed, a date that is real and lies ahead.

    `spoken` are the visitor's own messages, `now` is the bot's local wall clock (naive).
    """
    words = _flat("\n".join(spoken))
    name, email, phone = captured.visitor_name, captured.visitor_email, captured.visitor_phone
    kept = replace(
        captured,
        request_type=captured.request_type if captured.request_type in REQUEST_TYPES else "other",
        # The text is the visitor's own, whatever a model says that it was.
        message=captured.message.strip() if _flat(captured.message) and _flat(captured.message) in words else spoken[-1],
        visitor_name=name.strip() if name and name.strip() and len(name) <= MAX_NAME and _said(name, words, "") else None,
        visitor_email=email.lower()
        if email and len(email) <= MAX_EMAIL and _EMAIL.fullmatch(email) and _said(email, words, _EMAIL_ENDS)
        else None,
        visitor_phone=phone if phone and _own_phone(phone, spoken) else None,
    )
    if kept.date is None or kept.time is None:
        return replace(kept, date=None, time=None)
    moment = datetime.combine(kept.date, kept.time)
    if not now < moment <= now + timedelta(days=FURTHEST_DAYS):
        return replace(kept, date=None, time=None)
    return kept


def instant(day: date, clock: time, zone: tzinfo) -> int:
    """The instant of a local date and time, milliseconds since the epoch; in an hour that the clocks skip, the one after it."""
    local = datetime.combine(day, clock, tzinfo=zone)
    return int(local.astimezone(UTC).timestamp()) * 1000
