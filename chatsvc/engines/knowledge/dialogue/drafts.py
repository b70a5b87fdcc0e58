"""RequestDraft of a request that is taken down over several messages, and its serialisation.

It travels as `Reply.dialogue`: compact JSON that is validated when it comes back. A draft that cannot be parsed, is of another
version, too large or older than a day counts as none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time

from chatsvc.domain import contacts
from chatsvc.domain.captures import REQUEST_TYPES, Captured, checked
from chatsvc.domain.times import DAY_MS
from chatsvc.engines.knowledge.dialogue.wording import LANGUAGES

VERSION = 1
MAX_CHARACTERS = 4_000
QUESTIONS = ("date", "time", "message", "name", "contact", "phone", "email", "confirm", "change")
_OPENING = 200  # characters of the visitor's message, enough to find it again in the history
_MOST_MISSED = 9


@dataclass(frozen=True, slots=True)
class RequestDraft:
    """Values known so far; `asked` is the open question, `missed` how often in a row its answer was not understood.

    `opening` is the beginning of the message that becomes the request's text; "" if the visitor has yet to write it.
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
        """True if a day and a time are needed."""
        return self.request_type == "appointment"

    def missing(self) -> str | None:
        """Return the next field to ask for; None if the draft is complete."""
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
    """Return the beginning of a message, enough to find it again."""
    return message.strip()[:_OPENING]


def dump(draft: RequestDraft, now_ms: int) -> str:
    """Serialise a draft."""
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


def load(dialogue: str | None, now_ms: int) -> RequestDraft | None:
    """Deserialise a draft; None for anything else, or one older than a day."""
    if not dialogue or len(dialogue) > MAX_CHARACTERS:
        return None
    try:
        kept = json.loads(dialogue)
        if not isinstance(kept, dict) or not _is_number(kept.get("v")) or not _is_number(kept.get("at")) or kept["v"] != VERSION:
            return None
        if abs(now_ms - kept["at"]) >= DAY_MS:
            return None
        day, clock = _text(kept, "d"), _text(kept, "t")
        draft = RequestDraft(
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


def typed(draft: RequestDraft, spoken: Sequence[str], country: str) -> RequestDraft:
    """Keep only values that stand in `spoken`, the visitor's own messages, as typed there; day and time are kept."""
    return replace(
        draft,
        opening=draft.opening if found_again(draft.opening, spoken) else "",
        name=contacts.own_name(draft.name, spoken) if draft.name else None,
        email=contacts.own_email(draft.email, spoken) if draft.email else None,
        phone=contacts.own_phone(draft.phone, spoken, country) if draft.phone else None,
    )


def found_again(opening: str, spoken: Sequence[str]) -> str:
    """Return the visitor's last message that begins with `opening`; "" if there is none."""
    if not opening:
        return ""
    whole = len(opening) < _OPENING
    stripped = (text.strip() for text in reversed(spoken))
    return next((text for text in stripped if (text == opening if whole else text.startswith(opening))), "")


def captured(draft: RequestDraft, spoken: Sequence[str], now: datetime, country: str) -> Captured:
    """Return the checked record of a draft; `spoken` is oldest first."""
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
