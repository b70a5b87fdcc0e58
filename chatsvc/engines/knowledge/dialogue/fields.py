"""Fields that the owner's forms ask for besides the standard ones."""

from __future__ import annotations

import re

from chatsvc.domain.profiles import Form, FormField
from chatsvc.engines.knowledge.dialogue import drafts, hearing
from chatsvc.engines.knowledge.dialogue.hearing import Utterance
from chatsvc.engines.knowledge.dialogue.texts import Say
from chatsvc.engines.reading.folding import words
from chatsvc.engines.reading.symbols import NUMBER_OF

PREFIX = "x."
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_COUNTS = NUMBER_OF.keys()


def of(form: Form, asked: str) -> FormField | None:
    """Return the field that an open question asks for; None for a standard one."""
    name = asked.removeprefix(PREFIX)
    if name == asked:
        return None
    if name == drafts.NIGHTS:
        return FormField(drafts.NIGHTS, "number")
    return next((field for field in form.fields if field.name == name), None)


def question(field: FormField, say: Say) -> str:
    """Return the question for a field: the owner's, else its name. A choice names its choices."""
    asked = say("ask.nights") if field.name == drafts.NIGHTS else field.ask.get(say.language) or next(iter(field.ask.values()), field.name)
    return f"{asked} ({' / '.join(field.choices)})" if field.choices else asked


def read(field: FormField, heard: Utterance, text: str) -> str | None:
    """Return the visitor's words that answer for a field, None for no answer. "" leaves an optional field out."""
    if not field.required and (heard.refuses or hearing.denies(text)):
        return ""
    if field.kind == "number":
        found = _NUMBER.search(text)
        return found[0] if found else next((word for word in text.split() if words(word)[:1] and words(word)[0] in _COUNTS), None)
    if field.kind == "choice":
        said = set(words(text))
        chosen = [choice for choice in field.choices if said & set(words(choice))]
        return text.strip() if len(chosen) == 1 else None
    if field.kind == "date":
        return text.strip() if heard.day is not None else None
    return text.strip() if words(text) and not heard.question else None
