"""Rule for names of accounts, bots, operators and keys: they can be seen."""

import unicodedata

_VISIBLE = frozenset("LNPS")  # main categories: letters, numbers, punctuation, symbols; a mark alone shows nothing
_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and a symbol by category, drawn as a blank: Hangul fillers, empty Braille


def is_visible(name: str) -> bool:
    """Return whether a name can be printed and has a character that leaves a mark."""
    return name.isprintable() and any(unicodedata.category(one)[0] in _VISIBLE and one not in _FILLERS for one in name)
