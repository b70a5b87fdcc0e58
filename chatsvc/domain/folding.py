"""Characters: case and accents folded, and whether a text can be stored and a name be seen."""

import re
import unicodedata
from functools import lru_cache

# letters that Unicode does not decompose
_LETTERS = {"ı": "i", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l"}


_MARKS = re.compile("[\u0300-\u036f]")


def fold(text: str) -> str:
    """Return a text without case and accents, quickly; for searches in long texts."""
    return _MARKS.sub("", unicodedata.normalize("NFKD", text)).casefold().replace("ı", "i")


@lru_cache(maxsize=4_096)
def fold_character(character: str) -> str:
    """Return a character without case and accents: İ and ı give i, ş gives s. One character may give several, or none."""
    # decomposed twice: the parts of a compatibility character may be capitals, as in a squared or circled letter
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    return "".join(_LETTERS.get(part, part) for part in parts if not unicodedata.combining(part))


def is_storable(text: str) -> bool:
    """Return whether a text is valid Unicode without NUL, as the stores take it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


_VISIBLE = frozenset("LNPS")  # main categories: letters, numbers, punctuation, symbols; a mark alone shows nothing
_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and a symbol by category, drawn as a blank: Hangul fillers, empty Braille


def is_visible(name: str) -> bool:
    """Return whether a name can be printed and has a character that leaves a mark."""
    return name.isprintable() and any(unicodedata.category(letter)[0] in _VISIBLE and letter not in _FILLERS for letter in name)
