"""Words as the search sees them: folded, cut, without what Turkish and English hang on to them.

Folding makes one letter of ı, İ, I and i, takes the marks off (ş -> s, é -> e) and cuts at an apostrophe what follows a
name ("İstanbul'da" -> istanbul). People type Turkish without its letters, and so both spellings must meet.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import filterfalse

MAX_CHARACTERS = 4_000  # of a text looked at; a message is no longer than this anyway
MAX_WORDS = 400
MAX_LETTERS = 40  # of a word

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2019\u02bc\u2018`\u00b4\uff07", "'"))
# letters that no decomposition takes apart
_LETTERS = str.maketrans({"ı": "i", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l"})
# Turkish by the short way: all of its letters at once
_TURKISH = str.maketrans("ıİğĞşŞçÇöÖüÜâÂîÎûÛ", "iiggssccoouuaaiiuu")
_CONTRACTIONS = frozenset({"s", "t", "d", "m", "re", "ve", "ll"})


def fold(text: str) -> str:
    """A text in small letters without marks, white space as single blanks; its first MAX_CHARACTERS."""
    text = text[:MAX_CHARACTERS]
    text = text.replace("`", "'") if text.isascii() else text.translate(_TURKISH).translate(_APOSTROPHES)
    if text.isascii():
        return " ".join(text.lower().split())
    # decomposed twice: the parts of a compatibility character may be capitals (as in a squared or circled letter)
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text)[:MAX_CHARACTERS].casefold())[:MAX_CHARACTERS]
    return " ".join("".join(filterfalse(unicodedata.combining, text)).translate(_LETTERS)[:MAX_CHARACTERS].split())


def words(text: str) -> list[str]:
    """The folded words of a text in order, at most MAX_WORDS; a suffix behind an apostrophe is left out."""
    found = [_before(word) if "'" in word else word for word in _WORD.findall(fold(text))]
    return [word[:MAX_LETTERS] for word in found[:MAX_WORDS]]


def _before(word: str) -> str:
    """The word without what follows the apostrophe: "don't" -> "dont", "i'm" -> "i", "ankara'ya" -> "ankara"."""
    head, _, tail = word.partition("'")
    if tail == "t" and head.endswith("n"):
        return head + "t"
    if len(head) == 1 and tail not in _CONTRACTIONS:  # o'clock
        return head + tail
    return head
