"""Folding of text, and splitting it into words. Folded text has small letters without accents, also for the letters of Turkish."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from chatsvc.domain import folding
from chatsvc.domain.folding import fold_character

MAX_CHARACTERS = 4_000  # of a text that is folded; a message is no longer
MAX_WORDS = 400
MAX_LETTERS = 40  # of a word

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_APOSTROPHES = dict.fromkeys("\u2019\u02bc\u2018`\u00b4\uff07", "'")
_TO_APOSTROPHE = str.maketrans(_APOSTROPHES)
_SIGNS = _APOSTROPHES | dict.fromkeys("\u2013\u2014\u2212\u2010\u2011", "-") | dict.fromkeys("\u00a0\u202f", " ")
_SIGNS |= dict.fromkeys("\u201c\u201d", '"') | dict.fromkeys("½¼", "~")
_NUMBER = re.compile(r"(\d{1,9})(?:l[iu]k?[a-z]{0,7}|[dt][ae]n?|y?[ae]|[iu]?nc[iu])")  # with a Turkish suffix: "60lik", "10lu bilet", "5te"
_CONTRACTIONS = frozenset({"s", "t", "d", "m", "re", "ve", "ll"})


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text. `offsets[i]` is the offset of its i-th character in the text as typed."""

    text: str
    offsets: list[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        return self.offsets[start], self.offsets[end - 1] + 1


@lru_cache(maxsize=256)
def fold(text: str) -> str:
    """Fold a text and collapse its white space; only its first MAX_CHARACTERS are kept."""
    return " ".join(folding.fold(text[:MAX_CHARACTERS].translate(_TO_APOSTROPHE))[:MAX_CHARACTERS].split())


def fold_with_offsets(text: str) -> Folded:
    """Fold a text character by character. Dashes, quotes, blanks and fractions become one ASCII sign each."""
    if text.isascii():
        return Folded(text.lower().replace("`", "'"), list(range(len(text) + 1)))
    parts = [_SIGNS.get(character) or fold_character(character) for character in text]
    offsets = [index for index, part in enumerate(parts) for _ in part]
    return Folded("".join(parts), [*offsets, len(text)])


def folded(text: str) -> str:
    """Return a text as folded by `fold_with_offsets`, without the offsets."""
    return fold_with_offsets(text).text


def masked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Replace the characters in `spans` by NUL characters. The text keeps its length."""
    for start, end in spans:
        text = text[:start] + "\x00" * (end - start) + text[end:]
    return text


@lru_cache(maxsize=256)
def words(text: str) -> tuple[str, ...]:
    """Return the folded words of a text in order, at most MAX_WORDS. Suffixes behind an apostrophe or a number are left out."""
    tokens = [_without_suffix(word) if "'" in word or word[0].isdigit() else word for word in _WORD.findall(fold(text))]
    return tuple([word[:MAX_LETTERS] for word in tokens[:MAX_WORDS]])


def _without_suffix(word: str) -> str:
    """Cut a word at its apostrophe: "don't" gives "dont", "i'm" gives "i", "ankara'ya" gives "ankara". A number loses its suffix."""
    if (number := _NUMBER.fullmatch(word)) is not None:
        return number[1]
    head, _, tail = word.partition("'")
    if tail == "t" and head.endswith("n"):
        return head + "t"
    if len(head) == 1 and tail not in _CONTRACTIONS:  # o'clock
        return head + tail
    return head
