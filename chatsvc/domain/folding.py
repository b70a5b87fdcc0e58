"""Characters: case and accents folded, and whether a text can be stored and a name be seen."""

import unicodedata

# letters that Unicode does not decompose
_LETTERS = {"ı": "i", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l"}
_CACHED = 4_096  # characters


class _Folding(dict[int, str]):
    """Translation table of all characters, filled as they occur."""

    def __missing__(self, code: int) -> str:
        # decomposed twice: the parts of a compatibility character may be capitals, as in a squared or circled letter
        parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", chr(code)).casefold())
        folded = "".join(_LETTERS.get(part, part) for part in parts if not unicodedata.combining(part))
        if len(self) < _CACHED:
            self[code] = folded
        return folded


_FOLDING = _Folding()


def fold(text: str) -> str:
    """Return a text without case and accents: İ and ı give i, ş gives s. One character may give several, or none."""
    return text.lower() if text.isascii() else text.translate(_FOLDING)


def fold_character(character: str) -> str:
    """Return a character without case and accents, as `fold` does."""
    return _FOLDING[ord(character)]


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
