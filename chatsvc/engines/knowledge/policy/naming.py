"""Fields that a message names: "the phone number is wrong", "saat"."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from chatsvc.engines.knowledge.fields.base import Field
from chatsvc.engines.knowledge.policy.state import RequestDraft
from chatsvc.language import catalogue
from chatsvc.language.folding import words
from chatsvc.language.wordlists import WordFile

if TYPE_CHECKING:
    from chatsvc.engines.knowledge.policy.context import Context

_STEM = 4  # letters from which on a word may have a suffix
_APPOINTMENT = ("date", "time", "name", "phone", "email")
_OTHER = ("message", "name", "phone", "email")


@cache
def _names(language: str) -> dict[str, frozenset[str]]:
    """Return the words by which people of a language name the fields."""
    file = WordFile(f"languages/{language}/fields.txt")
    return {name: frozenset(found) for name, found in file.group("").items()}


def field_named(c: Context, draft: RequestDraft) -> Field | None:
    """Return the only field that the message names; None for none or several."""
    known = _names(c.said.language if c.said.language in catalogue.languages() else catalogue.FALLBACK)
    said = words(c.turn.message)
    form = c.form(draft)
    found = []
    for key, one in form.by_key.items():
        names = known.get(key, frozenset(words(one.label(c.place))) if key.startswith("x.") else frozenset())
        if key == "name" and not known["others"].isdisjoint(said) and any(one.matter for one in c.said.clauses):
            continue  # "his name is Duke"
        if any(_is(word, name) for word in said for name in names):
            found.append(one)
    own = [
        one for one in found if one.key in _APPOINTMENT or one.key.startswith("x.") or (one.key == "message" and not draft.is_appointment)
    ]
    own = [one for one in own if draft.is_appointment or draft.get("date") or one.key not in ("date", "time")]
    return own[0] if len(own) == 1 else None


def untold(c: Context, draft: RequestDraft, named: Field | None) -> Field | None:
    """Return the day or the hour that the visitor denies to have told: "I never said a time", "I never said 9"."""
    day, at = c.said.values.date, c.said.values.time
    denies = not _names(c.say.language)["untold"].isdisjoint(words(c.turn.message))
    if not denies or (day and day.value.isoformat() != draft.get("date")) or (at and not _is_hour(at.value.hour, draft.get("time"))):
        return None
    if named is not None:
        return named if named.key in ("date", "time") else None
    number = at.value.hour if at else c.said.values.number.value if c.said.values.number else None
    if number is None:
        return None
    key = "time" if _is_hour(number, draft.get("time")) else "date" if f"{number:02}" == (draft.get("date") or "")[-2:] else ""
    return c.form(draft).by_key.get(key)


def _is_hour(hour: int, known: str | None) -> bool:
    """Return whether an hour is that of a time, on a clock of twelve hours too."""
    return known is not None and (hour - int(known[:2])) % 12 == 0


def _is(word: str, name: str) -> bool:
    return word == name or (len(name) >= _STEM and word.startswith(name))


def changeable(c: Context, draft: RequestDraft) -> str:
    """Return the names of the fields that can be changed: `tarih, saat, ad, telefon`."""
    return ", ".join(c.say(f"field.{key}").lower() for key in (_APPOINTMENT if draft.is_appointment else _OTHER))
