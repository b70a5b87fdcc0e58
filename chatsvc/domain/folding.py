"""Functions for texts: fold case and accents, check whether a text can be stored or seen, and read language tags (BCP 47)."""

import re
import unicodedata
from collections.abc import Container

# letters that Unicode does not decompose
_LETTERS = {"ı": "i", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l"}
_CACHED = 4_096  # characters


class _Folding(dict[int, str]):
    """Translation table for `str.translate`. Characters are added when they first occur."""

    def __missing__(self, code: int) -> str:
        # decomposed twice: the parts of a compatibility character may be capitals, as in a squared or circled letter
        parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", chr(code)).casefold())
        folded = "".join(_LETTERS.get(part, part) for part in parts if not unicodedata.combining(part))
        if len(self) < _CACHED:
            self[code] = folded
        return folded


_FOLDING = _Folding()


def fold(text: str) -> str:
    """Return a text in lower case without accents: İ and ı become i, ş becomes s. A character may become several, or none."""
    return text.lower() if text.isascii() else text.translate(_FOLDING)


def fold_character(character: str) -> str:
    """Return a character without case and accents, as `fold` does."""
    return _FOLDING[ord(character)]


def is_storable(text: str) -> bool:
    """Return whether a text is valid Unicode without NUL, so that the stores accept it."""
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


LANGUAGE_TAG = (
    r"([A-Za-z]{2,3}(-[A-Za-z]{3}){0,3}|[A-Za-z]{5,8})"  # language
    r"(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?"  # script, region
    r"(-([0-9A-Za-z]{5,8}|[0-9][0-9A-Za-z]{3}))*"  # variants
    r"(-[0-9A-WY-Za-wy-z](-[0-9A-Za-z]{2,8})+)*(-[xX](-[0-9A-Za-z]{1,8})+)?"  # extensions, private use
)
_TAG = re.compile(LANGUAGE_TAG)
MOST_TAG = 128


def is_tag(text: str) -> bool:
    """Return whether `text` is a well-formed language tag: `tr`, `en-GB`, `zh-Hant-TW`. Script, region and variants may be given."""
    return len(text) <= MOST_TAG and _TAG.fullmatch(text) is not None


def primary(tag: str) -> str:
    """Return the language of a tag: `en` of `en-GB`."""
    return tag.split("-", 1)[0].lower()


def among(available: Container[str], *tags: str | None) -> str:
    """Return the first language of `tags` that is in `available`, or "en" if none of them is."""
    return next(filter(available.__contains__, map(primary, filter(None, tags))), "en")
