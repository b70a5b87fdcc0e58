"""Fields that the owner's forms ask for besides the standard ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from chatsvc.domain.profiles import Form, FormField
from chatsvc.engines.knowledge.dialogue import ask_back, drafts, hearing
from chatsvc.engines.knowledge.dialogue.hearing import Utterance
from chatsvc.engines.knowledge.dialogue.texts import Say
from chatsvc.language.folding import folded, words
from chatsvc.language.symbols import NUMBER_OF

PREFIX = "x."
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_COUNTS = NUMBER_OF.keys()
_NIGHT = ("night", "gece")
_STEM = 4  # letters of a field's name by which it is recognised in an inflected word


def of(form: Form, asked: str) -> FormField | None:
    """Return the field that an open question asks for; None for a standard one."""
    name = asked.removeprefix(PREFIX)
    if name == asked:
        return None
    if name == drafts.NIGHTS:
        return FormField(drafts.NIGHTS, "number")
    return next((field for field in form.fields if field.name == name), None)


def told_at_once(form: Form, text: str) -> tuple[tuple[str, str], ...]:
    """Return the fields that the first message answers already. Examples: "2 nights", "deniz odası", "4 kişi"."""
    found = []
    wanted = (FormField(drafts.NIGHTS, "number"), *form.fields) if form.appointment == drafts.NIGHTS else form.fields
    for field in wanted:
        value = None
        if field.kind == "choice":
            said = [choice for choice in offered(field) if _names(text, choice)]
            value = said[0] if len(said) == 1 else None
        elif field.kind == "number":
            value = _counted(_NIGHT if field.name == drafts.NIGHTS else words(field.name)[:1], text)
        if value is not None:
            found.append((field.name, value))
    return tuple(found)


def _names(text: str, choice: str) -> bool:
    """Return whether a text holds the words of a choice. The last one may have a suffix, if it is no short one such as "C"."""
    line, said = f" {' '.join(words(text))} ", words(choice)
    return bool(said) and f" {' '.join(said)}{'' if len(said[-1]) >= _STEM else ' '}" in line


def _counted(names: Sequence[str], text: str) -> str | None:
    """Return the number that stands before one of the words."""
    for before, after in pairwise(text.split()):
        said = words(after)
        if said and any(said[0].startswith(name[:_STEM]) for name in names) and _is_number(before):
            return before
    return None


def _is_number(word: str) -> bool:
    return bool(_NUMBER.fullmatch(word)) or any(base in _COUNTS for base in words(word)[:1])


def question(field: FormField, say: Say) -> str:
    """Return the question for a field: the owner's, else its name. A choice names its choices."""
    asked = say("ask.nights") if field.name == drafts.NIGHTS else field.ask.get(say.language) or next(iter(field.ask.values()), field.name)
    return f"{asked} ({' / '.join(choices)})" if (choices := offered(field)) else asked


def offered(field: FormField) -> tuple[str, ...]:
    """Return the choices of a field as they can be shown: each once and in one line, without blank ones."""
    return tuple(choice for choice in dict.fromkeys(" ".join(choice.split()) for choice in field.choices) if choice)


def as_offered(field: FormField, text: str) -> str | None:
    """Return the choice that a message is letter for letter, as a button sends it. None for other messages."""
    return next((choice for choice in offered(field) if choice == " ".join(text.split())), None)


def _chosen(choices: Sequence[str], text: str) -> str | None:
    """Return the choice that a message names whole, in part or by its number. None if it names none, or several alike."""
    line = f" {' '.join(words(text))} "
    whole = [choice for choice in choices if f" {' '.join(words(choice))} " in line]
    if whole:
        longest = max(whole, key=len)
        return longest if all(folded(choice) in folded(longest) for choice in whole) else None
    said = set(words(text))
    shared = [len(said & set(words(choice))) for choice in choices]
    if max(shared, default=0) and shared.count(max(shared)) == 1:
        return choices[shared.index(max(shared))]
    place = ask_back.place_of(words(text), len(choices))
    return choices[place] if place is not None else None


def read(field: FormField, heard: Utterance, text: str) -> str | None:
    """Return the visitor's words that answer for a field, None for no answer. "" leaves an optional field out."""
    if not field.required and (heard.refuses or hearing.denies(text)):
        return ""
    if field.kind == "number":
        found = _NUMBER.search(text)
        return found[0] if found else next((word for word in text.split() if words(word)[:1] and words(word)[0] in _COUNTS), None)
    if field.kind == "choice":
        return _chosen(offered(field), text)
    if field.kind == "date":
        return text.strip() if heard.day is not None else None
    return text.strip() if words(text) and not heard.question else None
