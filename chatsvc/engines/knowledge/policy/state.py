"""State of a dialogue, which travels as `Reply.dialogue`: all that the bot knows of the conversation before the message.

It is compact JSON that is validated when it comes back. A state that cannot be parsed, is of another version, too large or older than a
week counts as none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, time
from typing import Any, NamedTuple

from chatsvc.domain.captures import REQUEST_TYPES
from chatsvc.domain.times import DAY_MS

VERSION = 2
MAX_CHARACTERS = 8_000
STALE_MS = 6 * 3_600_000
"""After such a pause the visitor is asked whether to go on with a form."""
QUOTE = 200  # characters of a visitor's message, enough to find it again in the history
_KEPT_MS = 7 * DAY_MS
_MOST_QUOTES, _MOST_SUBJECTS, _MOST_OPTIONS, _MOST_MATTER = 7, 4, 10, 3
_MOST_TEXT = 400  # characters of a value

RECORD = "record"  # purpose of the offer of a note about a record that is not known here
OFFER, RESUME, DROPPED, CONFIRM, CHANGE, OPTIONS = "offer", "resume", "dropped", "confirm", "change", "options"
OFFER_CONTACT = "offer.contact"
"""An offer that asks for name and contact data at once."""
CANCEL, MOVE, WHICH_CANCEL, WHICH_MOVE = "cancel", "move", "which.cancel", "which.move"
FIELD = "field."
HOURS = "opening hours"
REQUEST = "request"
"""Stand for the entry in a subject: that the computed opening hours answered, or that is the request just captured."""
_PENDING = frozenset({"", OFFER, OFFER_CONTACT, RESUME, DROPPED, CONFIRM, CHANGE, OPTIONS, CANCEL, MOVE, WHICH_CANCEL, WHICH_MOVE})


_INSISTS = "insists"  # key of the day or hour that was refused last; skipped where it is named again


class Stored(NamedTuple):
    """A value of a form. `source` is "said" by the visitor, or "record" for one that an earlier record holds."""

    value: str
    source: str = "said"


@dataclass(frozen=True, slots=True)
class RequestDraft:
    """An open, offered or dropped form.

    `values` are stored by the field's key; `quotes` are the beginnings of the visitor's messages about the matter; `missed` counts by field
    how often an answer was not understood; `skipped` are fields to do without.
    """

    kind: str
    purpose: str = ""
    values: Mapping[str, Stored] = field(default_factory=dict)
    quotes: tuple[str, ...] = ()
    missed: Mapping[str, int] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()

    @property
    def is_appointment(self) -> bool:
        """True if a day is needed."""
        return self.kind == "appointment"

    @property
    def insists(self) -> bool:
        """True if a time outside of the opening hours was named again, which the team has to decide."""
        return _INSISTS in self.skipped

    @property
    def refused(self) -> str | None:
        """The day or the hour that was refused last."""
        return self.get(_INSISTS)

    def insisting(self, key: str) -> RequestDraft:
        """Return the draft after a value was refused or, where it was named before, taken for the team to decide."""
        value = self.get(key) or ""
        return self.skip(_INSISTS) if self.refused == value else self.put(_INSISTS, value).without(key)

    def get(self, key: str) -> str | None:
        """Return the value of a field."""
        stored = self.values.get(key)
        return stored.value if stored else None

    def put(self, key: str, value: str, source: str = "said") -> RequestDraft:
        """Return the draft with a value in place of the one before."""
        kept = tuple(one for one in self.skipped if one != key)
        return replace(self, values={**self.values, key: Stored(value[:_MOST_TEXT], source)}, skipped=kept)

    def without(self, *keys: str) -> RequestDraft:
        """Return the draft without some values."""
        return replace(self, values={key: value for key, value in self.values.items() if key not in keys})

    def skip(self, key: str) -> RequestDraft:
        """Return the draft with a field that is done without."""
        return replace(self, skipped=tuple(dict.fromkeys((*self.skipped, key))))

    def miss(self, key: str) -> RequestDraft:
        """Return the draft with one more answer to a field that was not understood."""
        return replace(self, missed={**self.missed, key: self.missed.get(key, 0) + 1})

    def quote(self, *messages: str) -> RequestDraft:
        """Return the draft with further messages about the matter."""
        added = (quoted for message in messages if (quoted := quote_of(message)))
        quotes = tuple(dict.fromkeys((*self.quotes, *added)))
        return replace(self, quotes=(*quotes[:1], *quotes[1:][1 - _MOST_QUOTES :]))


class Subject(NamedTuple):
    """A thing talked about: its words, and the entry that told of it."""

    words: str
    entry: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """Knowledge of a conversation that goes from one reply to the next.

    `pending` names the question that waits for an answer: "field.KEY", or one of the names above. `options` are what it offers to choose
    from: keys of what is meant, each with the text that was shown. `record` is the appointment of a change that has begun, `wanted` its new
    day and time. `subjects` are the things talked about, newest first. `matter` are the beginnings of the visitor's last messages
    about a matter, each with its act, for a form that begins. `told` counts lines of small talk by name. `turns` counts replies since the
    pending question. `heard` are values told while no form was open, by field, for one that begins. `untimed` are days of requests for
    which no hour was told.
    """

    at: int = 0
    language: str = ""
    pending: str = ""
    draft: RequestDraft | None = None
    options: tuple[tuple[str, str], ...] = ()
    record: str = ""
    wanted: tuple[str, str] = ("", "")
    subjects: tuple[Subject, ...] = ()
    matter: tuple[tuple[str, str], ...] = ()
    told: Mapping[str, int] = field(default_factory=dict)
    turns: int = 0
    heard: Mapping[str, str] = field(default_factory=dict)
    untimed: tuple[str, ...] = ()

    @property
    def asked(self) -> str:
        """The key of the field that was asked for; "" for none."""
        return self.pending.removeprefix(FIELD) if self.pending.startswith(FIELD) else ""

    @property
    def has_open_form(self) -> bool:
        """True if the bot has asked for a value of a form or for its confirmation."""
        return self.draft is not None and (bool(self.asked) or self.pending in (CONFIRM, CHANGE))

    @property
    def is_of_record(self) -> bool:
        """True if a note was offered about a record that is not known here."""
        return self.draft is not None and self.draft.purpose == RECORD

    @property
    def subject(self) -> Subject:
        """The thing talked about last."""
        return self.subjects[0] if self.subjects else Subject("")

    def about(self, subject: Subject) -> State:
        """Return the state with a subject on top."""
        if not subject.words and not subject.entry:
            return self
        others = (one for one in self.subjects if one != subject)
        return replace(self, subjects=(Subject(subject.words[:_MOST_TEXT], subject.entry), *others)[:_MOST_SUBJECTS])

    def settled(self) -> State:
        """Return the state without an open question, form or change."""
        return replace(self, pending="", draft=None, options=(), record="", wanted=("", ""), turns=0)

    def dump(self, now_ms: int) -> str:
        """Serialise it."""
        kept: dict[str, Any] = {
            "l": self.language,
            "p": self.pending,
            "d": _draft_json(self.draft) if self.draft else None,
            "o": [list(pair) for pair in self.options],
            "r": self.record,
            "w": list(self.wanted) if any(self.wanted) else [],
            "s": [list(subject) for subject in self.subjects],
            "m": [list(pair) for pair in self.matter],
            "t": dict(self.told),
            "n": self.turns,
            "h": dict(self.heard),
            "i": list(self.untimed),
        }
        kept = {"v": VERSION, "at": now_ms, **{key: value for key, value in kept.items() if value}}
        dumped = json.dumps(kept, separators=(",", ":"), ensure_ascii=False)
        return dumped if len(dumped) <= MAX_CHARACTERS else replace(self, subjects=(), matter=(), options=()).dump(now_ms)


def quote_of(message: str) -> str:
    """Return the beginning of a message, enough to find it again."""
    return message.strip()[:QUOTE].strip()


def remembered(state: State, act: str, message: str) -> State:
    """Return the state with a message about a matter."""
    quoted = (act, quote_of(message))
    return replace(state, matter=(*(one for one in state.matter if one != quoted), quoted)[-_MOST_MATTER:])


def load(dialogue: str | None, now_ms: int) -> State:
    """Deserialise a state; an empty one for anything that `dump` cannot have written, or that is older than a week."""
    if not dialogue or len(dialogue) > MAX_CHARACTERS + 100:
        return State()
    try:
        kept = json.loads(dialogue)
        if not isinstance(kept, dict) or kept.get("v") != VERSION or abs(now_ms - kept["at"]) >= _KEPT_MS:
            return State()
        draft = kept.get("d")
        _check_dates(kept.get("h", {}))
        state = State(
            at=kept["at"],
            language=_text(kept.get("l", "")),
            pending=_text(kept.get("p", "")),
            draft=_draft_of(draft) if draft else None,
            options=tuple((_text(key), _text(shown)) for key, shown in kept.get("o", ())[:_MOST_OPTIONS]),
            record=_text(kept.get("r", "")),
            wanted=_pair(kept.get("w") or ("", "")),
            subjects=tuple(Subject(_text(words), _text(entry)) for words, entry in kept.get("s", ())[:_MOST_SUBJECTS]),
            matter=tuple((_text(act), _text(quote)) for act, quote in kept.get("m", ())[:_MOST_MATTER]),
            told={_text(name): _number(count) for name, count in kept.get("t", {}).items()},
            turns=_number(kept.get("n", 0)),
            heard={_text(key): _text(value) for key, value in kept.get("h", {}).items()},
            untimed=tuple(map(_text, kept.get("i", ()))),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return State()
    known = state.pending in _PENDING or state.pending.startswith(FIELD)
    return state if known and (state.draft is not None or not _needs_draft(state.pending)) else State()


def _needs_draft(pending: str) -> bool:
    return pending.startswith(FIELD) or pending in (OFFER, OFFER_CONTACT, RESUME, DROPPED, CONFIRM, CHANGE)


def _draft_json(draft: RequestDraft) -> dict[str, Any]:
    values = {key: list(stored) for key, stored in draft.values.items()}
    made = {"k": draft.kind, "u": draft.purpose, "f": values, "q": list(draft.quotes), "x": dict(draft.missed), "s": list(draft.skipped)}
    return {key: value for key, value in made.items() if value}


def _draft_of(kept: Any) -> RequestDraft:
    if kept["k"] not in REQUEST_TYPES:
        raise ValueError("no kind of request")
    values = {_text(key): Stored(_text(value), _text(source)) for key, (value, source) in kept.get("f", {}).items()}
    _check_dates({key: stored.value for key, stored in values.items()})
    return RequestDraft(
        kind=kept["k"],
        purpose=_text(kept.get("u", "")),
        values=values,
        quotes=tuple(map(_text, kept.get("q", ())[:_MOST_QUOTES])),
        missed={_text(key): _number(count) for key, count in kept.get("x", {}).items()},
        skipped=tuple(map(_text, kept.get("s", ()))),
    )


def _check_dates(values: Mapping[str, str]) -> None:
    for key, kind in (("date", date), ("until", date), ("month", date), ("time", time)):
        if key in values:
            kind.fromisoformat(values[key])


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError("no number")
    return value


def _pair(value: Any) -> tuple[str, str]:
    first, second = value
    return _text(first), _text(second)
