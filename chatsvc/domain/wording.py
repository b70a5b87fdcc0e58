"""Sentences in both languages for faults that several front ends show."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple


class Sentence(NamedTuple):
    """A template with its facts in braces, in English and in Turkish."""

    en: str
    tr: str

    def of(self, language: str) -> str:
        """Return the template in "tr", or in English for any other language."""
        return self.tr if language == "tr" else self.en


def worded(sentences: Mapping[str, Sentence], code: str, facts: Mapping[str, object], language: str, *, places: Container[str] = ()) -> str:
    """Word a fault; numbers get the language's separators, except those of `places`. An unknown code is its own sentence."""
    if code not in sentences:
        return f"{code} {dict(facts)}" if facts else code
    shown = {name: _shown(value, language, separated=name not in places) for name, value in facts.items()}
    return sentences[code].of(language).format(**shown)


def _shown(value: object, language: str, *, separated: bool) -> object:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, int) and separated:
        grouped = f"{value:,}"
        return grouped.replace(",", ".") if language == "tr" else grouped
    return value
