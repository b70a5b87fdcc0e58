"""Draft of a request that is taken down over several messages, and its serialisation.

It travels as `Reply.dialogue`: compact JSON that is validated when it comes back. A draft that cannot be parsed, is of another
version, too large or older than a week counts as none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time

from chatsvc.domain import contacts
from chatsvc.domain.captures import REQUEST_TYPES, Captured, checked
from chatsvc.domain.profiles import Form
from chatsvc.domain.times import DAY_MS
from chatsvc.engines.knowledge.dialogue.wording import LANGUAGES

VERSION = 1
MAX_CHARACTERS = 4_000
QUESTIONS = ("date", "time", "message", "name", "contact", "phone", "email", "confirm", "change", "offer", "resume", "dropped")
_OPENING = 200  # characters of the visitor's message, enough to find it again in the history
_MORE = 80  # characters of each further one
_MOST_MORE = 6
_KEPT_MS = 7 * DAY_MS
_STALE_MS = 6 * 3_600_000  # after such a pause the visitor is asked whether to continue
NIGHTS = "nights"
_MOST_MISSED = 9


@dataclass(frozen=True, slots=True)
class RequestDraft:
    """Values known so far. `asked` is the open question, `missed` how often in a row its answer was not understood, and
    `asides` how many questions in a row the visitor has asked instead.

    `opening` is the beginning of the message that becomes the request's text; "" if the visitor has yet to write it. `more` are
    the beginnings of further messages about the matter. `asked` is "offer" if the request was only offered, "resume" if the
    visitor was asked whether to continue, and "dropped" if they gave it up. `nameless`: the name was asked for in vain.
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
    more: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()  # owner's fields: name and value; "" if the visitor gives none
    asides: int = 0
    nameless: bool = False

    @property
    def is_appointment(self) -> bool:
        """True if a day and a time are needed."""
        return self.request_type == "appointment"

    def missing(self, form: Form | None = None) -> str | None:
        """Return the next field to ask for; None if the draft is complete. `x.NAME` stands for a field of the owner's `form`."""
        form = form or Form()
        if self.is_appointment and self.day is None:
            return "date"
        if self.is_appointment and self.clock is None and form.appointment == "time":
            return "time"
        if self.is_appointment and form.appointment == "nights" and NIGHTS not in dict(self.extra):
            return f"x.{NIGHTS}"
        if not self.opening:
            return "message"
        for field in form.fields:
            if field.name not in dict(self.extra):
                return f"x.{field.name}"
        if self.name is None and not self.nameless:
            return "name"
        return "contact" if self.email is None and self.phone is None else None


def opening_of(message: str) -> str:
    """Return the beginning of a message, enough to find it again."""
    return message.strip()[:_OPENING]


def with_more(draft: RequestDraft, *messages: str) -> RequestDraft:
    """Return the draft with further messages about the matter."""
    known = draft.opening.strip()
    added = [message.strip()[:_MORE] for message in messages if message.strip() and not known.startswith(message.strip()[:_MORE])]
    return replace(draft, more=tuple(dict.fromkeys((*draft.more, *added)))[-_MOST_MORE:])


def is_stale(dialogue: str | None, now_ms: int) -> bool:
    """Return whether a draft that `load` returns has been left for hours."""
    at = json.loads(dialogue)["at"] if dialogue else now_ms
    return bool(now_ms - at >= _STALE_MS)


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
        "k": draft.asides,
        "d": draft.day.isoformat() if draft.day else None,
        "t": f"{draft.clock:%H:%M}" if draft.clock else None,
        "n": draft.name,
        "e": draft.email,
        "p": draft.phone,
        "u": draft.nameless,
        "a": list(draft.more),
        "f": [list(pair) for pair in draft.extra],
    }
    return json.dumps({key: value for key, value in kept.items() if value not in (None, "", 0, [])}, separators=(",", ":"))


def load(dialogue: str | None, now_ms: int) -> RequestDraft | None:
    """Deserialise a draft; None for anything else, or one older than a week."""
    if not dialogue or len(dialogue) > MAX_CHARACTERS:
        return None
    try:
        kept = json.loads(dialogue)
        if not isinstance(kept, dict) or not _is_number(kept.get("v")) or not _is_number(kept.get("at")) or kept["v"] != VERSION:
            return None
        if abs(now_ms - kept["at"]) >= _KEPT_MS:
            return None
        day, clock = _text(kept, "d"), _text(kept, "t")
        draft = RequestDraft(
            request_type=_text(kept, "r") or "",
            language=_text(kept, "l") or "",
            opening=_text(kept, "m") or "",
            asked=_text(kept, "q") or "",
            missed=kept["x"] if _is_number(kept.get("x")) else 0,
            asides=kept["k"] if _is_number(kept.get("k")) else 0,
            day=date.fromisoformat(day) if day else None,
            clock=datetime.strptime(clock, "%H:%M").time() if clock else None,  # noqa: DTZ007 - wall time
            name=_text(kept, "n"),
            email=_text(kept, "e"),
            phone=_text(kept, "p"),
            more=_texts(kept, "a"),
            extra=_pairs(kept, "f"),
            nameless=kept.get("u") is True,
        )
    except (ValueError, RecursionError):
        return None
    known = (
        draft.request_type in REQUEST_TYPES and draft.language in LANGUAGES and (draft.asked in QUESTIONS or draft.asked.startswith("x."))
    )
    return draft if known and 0 <= draft.missed <= _MOST_MISSED else None


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _text(kept: dict[str, object], key: str) -> str | None:
    value = kept.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{key} is no text")
    return value or None


def _texts(kept: dict[str, object], key: str) -> tuple[str, ...]:
    value = kept.get(key, [])
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ValueError(f"{key} is no list of texts")
    return tuple(value[:_MOST_MORE])


def _pairs(kept: dict[str, object], key: str) -> tuple[tuple[str, str], ...]:
    value = kept.get(key, [])
    if not isinstance(value, list):
        raise ValueError(f"{key} is no list")
    pairs = [tuple(pair) for pair in value if isinstance(pair, list) and len(pair) == 2 and all(isinstance(text, str) for text in pair)]
    if len(pairs) != len(value):
        raise ValueError(f"{key} holds something else")
    return tuple((name, text) for name, text in pairs)


def typed(draft: RequestDraft, spoken: Sequence[str], country: str) -> RequestDraft:
    """Keep only values that stand in `spoken`, the visitor's own messages, as typed there. Day and time are kept."""
    return replace(
        draft,
        opening=draft.opening if found_again(draft.opening, spoken) else "",
        more=tuple(text for text in draft.more if found_again(text, spoken)),
        name=contacts.own_name(draft.name, spoken) if draft.name else None,
        email=contacts.own_email(draft.email, spoken) if draft.email else None,
        phone=contacts.own_phone(draft.phone, spoken, country) if draft.phone else None,
    )


def found_again(opening: str, spoken: Sequence[str]) -> str:
    """Return the visitor's last message that begins with `opening`; "" if there is none."""
    if not opening:
        return ""
    cut = len(opening) in (_OPENING, _MORE)
    stripped = (text.strip() for text in reversed(spoken))
    return next((text for text in stripped if text == opening or (cut and text.startswith(opening))), "")


def message_of(draft: RequestDraft, spoken: Sequence[str]) -> str:
    """Return all messages about the matter, a line each, oldest first."""
    told = {found_again(text, spoken) for text in (draft.opening, *draft.more)}
    return "\n".join(dict.fromkeys(text.strip() for text in spoken if text.strip() in told))


def captured(draft: RequestDraft, spoken: Sequence[str], now: datetime, country: str, clock: time | None = None) -> Captured:
    """Return the checked record of a draft. `spoken` is oldest first, `clock` the time of an appointment that has a day alone."""
    wanted = Captured(
        request_type=draft.request_type,
        message=message_of(draft, spoken),
        visitor_name=draft.name,
        visitor_email=draft.email,
        visitor_phone=draft.phone,
        date=draft.day if draft.is_appointment else None,
        time=(draft.clock or clock) if draft.is_appointment else None,
        details=tuple((name, value) for name, value in draft.extra if value),
    )
    return checked(wanted, spoken, now, country)
