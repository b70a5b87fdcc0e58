"""Weak spots that a check of a bot's knowledge finds. Kinds with facts, and their sentences in both languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from chatsvc.domain.wording import Sentence, worded

SENTENCES: dict[str, Sentence] = {  # worst first
    "answers_another": Sentence(
        en="“{phrasing}” of “{question}” finds “{other}” first",
        tr="“{question}” kaydındaki “{phrasing}” sorusu önce “{other}” kaydını buluyor",
    ),
    "duplicate_phrasing": Sentence(
        en="“{phrasing}” is asked by “{question}” and by “{other}”", tr="“{phrasing}” hem “{question}” hem “{other}” kaydında soruluyor"
    ),
    "near_duplicate": Sentence(
        en="“{question}” and “{other}” are nearly the same: make one of them", tr="“{question}” ile “{other}” neredeyse aynı: birleştirin"
    ),
    "overlap": Sentence(
        en="questions made from “{question}” are answered by “{other}”: {questions}",
        tr="“{question}” kaydından türetilen soruları “{other}” yanıtlıyor: {questions}",
    ),
    "foreign_language": Sentence(
        en="“{question}” is marked {language} and seems to be {seems}",
        tr="“{question}” {language} olarak işaretli ama {seems} dilinde görünüyor",
    ),
    "easily_missed": Sentence(
        en="“{question}” is not found by {missed} of {of} questions made from it, such as {questions}: add them as alt: lines",
        tr="“{question}” kaydını ondan türetilen {of} sorudan {missed} tanesi bulamıyor ({questions}): bunları başka söyleniş diye ekleyin",
    ),
    "long_answer": Sentence(en="the answer to “{question}” has {length} characters", tr="“{question}” sorusunun yanıtı {length} karakter"),
}


class LintFinding(NamedTuple):
    """One weak spot: of `entry`, or between it and `other` (both ids)."""

    kind: str
    entry: str
    other: str | None
    facts: Mapping[str, object]

    @property
    def text(self) -> str:
        """The sentence in English."""
        return self.sentence("en")

    def sentence(self, language: str) -> str:
        """Word the finding in "en" or "tr"."""
        return worded(SENTENCES, self.kind, self.facts, language)
