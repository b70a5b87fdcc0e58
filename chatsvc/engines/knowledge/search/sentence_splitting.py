"""Splitting of answers into sentences. A full stop behind an abbreviation, an initial or an ordinal ends none."""

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from chatsvc.language.folding import fold, words

_END = re.compile(r"(?<=[.!?…])\s+(?=[\"“(]?[\dA-ZÇĞİÖŞÜ€$£₺])|\n+")
_NEXT = 20  # characters in which the word after a full stop is looked for


@dataclass(frozen=True, slots=True)
class SentenceSplitter:
    """Splits texts into sentences and lines.

    All words are folded: abbreviations, those that count before a number only, and words that follow an ordinal.
    """

    abbreviations: AbstractSet[str]
    before_numbers: AbstractSet[str]
    after_ordinals: AbstractSet[str]

    def split(self, text: str) -> list[str]:
        """Split a text into sentences and lines, each as it stands there."""
        found: list[str] = []
        start = 0
        for end in _END.finditer(text):
            if "\n" in end[0] or not self._is_abbreviated(text[start : end.start()], text[end.end() :]):
                found.append(text[start : end.start()])
                start = end.end()
        found.append(text[start:])
        return [one for one in found if one.strip()]

    def _is_abbreviated(self, before: str, after: str) -> bool:
        """Return whether the full stop ending `before` belongs to an abbreviation, initial or ordinal."""
        last = fold(before.rpartition(" ")[2].rpartition("\n")[2].lstrip("(/-"))
        if not last.endswith(".") or last.endswith(".."):
            return False
        last = last[:-1]
        if last.isdigit():
            return (words(after[:_NEXT]) or [""])[0] in self.after_ordinals
        if after[:1].isdigit():
            return last in self.before_numbers or last in self.abbreviations
        return last in self.abbreviations or (len(last) == 1 and last.isalpha() and last != "i")
