"""A request that is being taken down over several messages, and how it is kept between them.

It travels as `Reply.dialogue`: compact JSON, of which nothing is believed when it comes back. What cannot be read, is of another
version, too large or older than a day counts as no dialogue at all.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time

from chatsvc.domain import contacts
from chatsvc.domain.captures import REQUEST_TYPES, Captured, checked
from chatsvc.domain.times import DAY_MS

VERSION = 1
MAX_CHARACTERS = 4_000
LANGUAGES = ("tr", "en")
QUESTIONS = ("date", "time", "message", "name", "contact", "phone", "email", "confirm", "change")
_OPENING = 200  # characters of the visitor's message that find it again in the history: the whole of it is not kept twice
_MOST_MISSED = 9


@dataclass(frozen=True, slots=True)
class Draft:
    """What is known so far; `asked` is the open question, `missed` how often in a row its answer was not understood.

    `opening` is how the message begins that becomes the request's text; "" where the visitor has yet to write it.
    """

    request_type: str
    language: str
    opening: str = ""
    asked: str = ""
    missed: int = 0
    day: date | None = None
    clock: time | None = None
    name: str | None = None
    email: str | None = None
    phone: str | None = None

    @property
    def is_appointment(self) -> bool:
        """Whether a day and a time are wanted."""
        return self.request_type == "appointment"

    def missing(self) -> str | None:
        """The next thing to ask for; None where all is there."""
        if self.is_appointment and self.day is None:
            return "date"
        if self.is_appointment and self.clock is None:
            return "time"
        if not self.opening:
            return "message"
        if self.name is None:
            return "name"
        return "contact" if self.email is None and self.phone is None else None


def opening_of(message: str) -> str:
    """How a message begins, enough to know it again."""
    return message.strip()[:_OPENING]


def dump(draft: Draft, now_ms: int) -> str:
    """The draft as it is kept."""
    kept = {
        "v": VERSION,
        "at": now_ms,
        "r": draft.request_type,
        "l": draft.language,
        "m": draft.opening,
        "q": draft.asked,
        "x": draft.missed,
        "d": draft.day.isoformat() if draft.day else None,
        "t": f"{draft.clock:%H:%M}" if draft.clock else None,
        "n": draft.name,
        "e": draft.email,
        "p": draft.phone,
    }
    return json.dumps({key: value for key, value in kept.items() if value not in (None, "", 0)}, separators=(",", ":"))


def load(dialogue: str | None, now_ms: int) -> Draft | None:
    """The draft that was kept, where it is one and no older than a day."""
    if not dialogue or len(dialogue) > MAX_CHARACTERS:
        return None
    try:
        kept = json.loads(dialogue)
        if not isinstance(kept, dict) or not _is_number(kept.get("v")) or not _is_number(kept.get("at")) or kept["v"] != VERSION:
            return None
        if abs(now_ms - kept["at"]) >= DAY_MS:
            return None
        day, clock = _text(kept, "d"), _text(kept, "t")
        draft = Draft(
            request_type=_text(kept, "r") or "",
            language=_text(kept, "l") or "",
            opening=_text(kept, "m") or "",
            asked=_text(kept, "q") or "",
            missed=kept["x"] if _is_number(kept.get("x")) else 0,
            day=date.fromisoformat(day) if day else None,
            clock=datetime.strptime(clock, "%H:%M").time() if clock else None,  # noqa: DTZ007 - wall time
            name=_text(kept, "n"),
            email=_text(kept, "e"),
            phone=_text(kept, "p"),
        )
    except (ValueError, RecursionError):
        return None
    known = draft.request_type in REQUEST_TYPES and draft.language in LANGUAGES and draft.asked in QUESTIONS
    return draft if known and 0 <= draft.missed <= _MOST_MISSED else None


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _text(kept: dict[str, object], key: str) -> str | None:
    value = kept.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{key} is no text")
    return value or None


def typed(draft: Draft, spoken: Sequence[str], country: str) -> Draft:
    """`draft` with only what stands in `spoken`, the visitor's own messages, as it stands there; day and time are left as they are."""
    return replace(
        draft,
        opening=draft.opening if found_again(draft.opening, spoken) else "",
        name=contacts.own_name(draft.name, spoken) if draft.name else None,
        email=contacts.own_email(draft.email, spoken) if draft.email else None,
        phone=contacts.own_phone(draft.phone, spoken, country) if draft.phone else None,
    )


def found_again(opening: str, spoken: Sequence[str]) -> str:
    """The visitor's last message that begins so, whole; "" where there is none any more."""
    if not opening:
        return ""
    whole = len(opening) < _OPENING
    stripped = (text.strip() for text in reversed(spoken))
    return next((text for text in stripped if (text == opening if whole else text.startswith(opening))), "")


def captured(draft: Draft, spoken: Sequence[str], now: datetime, country: str) -> Captured:
    """What comes of the draft, as the net behind the engine will see it; `spoken` is oldest first."""
    wanted = Captured(
        request_type=draft.request_type,
        message=found_again(draft.opening, spoken),
        visitor_name=draft.name,
        visitor_email=draft.email,
        visitor_phone=draft.phone,
        date=draft.day if draft.is_appointment else None,
        time=draft.clock if draft.is_appointment else None,
    )
    return checked(wanted, spoken, now, country)
