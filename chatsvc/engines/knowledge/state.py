"""State of a dialogue: all that the bot knows of the conversation besides its messages.

It is stored as compact JSON (`Reply.dialogue`). A state that is unreadable, of another version, too large or too old is ignored.
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from chatsvc.domain.times import DAY_MS

VERSION = 4
STALE_MS = 6 * 3_600_000  # pause after which the visitor is asked whether to go on with a form
MAX_CHARACTERS = 16_000
_KEPT_MS = 7 * DAY_MS
_MOST_QUOTES, _MOST_QUOTE, _MOST_LINES = 30, 500, 6


@dataclass(slots=True)
class RequestDraft:
    """An open or offered form. `values` maps fields' keys to values; `quotes` are the visitor's words; `missed` counts unusable answers."""

    kind: str
    values: dict[str, str] = field(default_factory=dict)
    quotes: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    missed: dict[str, int] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)  # days and hours at which the business is closed, as they were named
    asides: int = 0  # questions in a row beside the form
    asks_when: bool = False  # of a booking that is not known here: the day wanted instead is asked for

    def quote(self, text: str) -> None:
        text = " ".join(text.split())[:_MOST_QUOTE]
        if text and text not in self.quotes and len(self.quotes) < _MOST_QUOTES:
            self.quotes.append(text)


@dataclass(slots=True)
class State:
    """State of a conversation between two messages.

    `pending` is what the bot asked for last: "form" (the field with the key `asked`), "confirm", "change", "offer", "resume", "choices",
    "name" (after a note), "cancel" or "move" (the record with the id `record`). `choices` are the titles offered for `question`;
    `learned` has titles chosen before, by question. `contact` is the name, phone and e-mail that the visitor has given; `earlier` are
    messages that may belong to a later form; `lines` are the keys of the last sentences, which get another wording the second time.
    """

    language: str = ""
    pending: str = ""
    asked: str = ""
    draft: RequestDraft | None = None
    record: str = ""
    question: str = ""
    choices: list[str] = field(default_factory=list)
    learned: dict[str, str] = field(default_factory=dict)
    subject: str = ""
    last_answer: str = ""
    last_question: str = ""
    lines: list[str] = field(default_factory=list)
    contact: dict[str, str] = field(default_factory=dict)
    earlier: list[str] = field(default_factory=list)

    def settle(self) -> None:
        self.pending = self.asked = self.question = self.record = ""
        self.choices, self.draft = [], None

    def add_line(self, key: str) -> None:
        self.lines = [*self.lines, key][-_MOST_LINES:]


def load(text: str | None, now_ms: int) -> tuple[State, bool]:
    """Read a stored state. Return the state, and whether it is some hours old. If it cannot be used, return a new state."""
    if not text or len(text) > MAX_CHARACTERS:
        return State(), False
    try:
        stored: dict[str, Any] = json.loads(text)
        version, moment = stored.pop("version"), stored.pop("at")
        if version != VERSION or now_ms - moment > _KEPT_MS:
            return State(), False
        draft = stored.pop("draft")
        return State(**stored, draft=RequestDraft(**draft) if draft else None), now_ms - moment > STALE_MS
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return State(), False


def dump(state: State, now_ms: int) -> str:
    return json.dumps({"version": VERSION, "at": now_ms, **asdict(state)}, ensure_ascii=False, separators=(",", ":"))
