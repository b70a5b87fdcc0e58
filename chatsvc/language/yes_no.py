"""Recognition of yes, no and never mind in both languages."""

from __future__ import annotations

import re

from chatsvc.language.folding import folded
from chatsvc.language.wordlists import LanguageWords

_WORD = re.compile(r"[a-z']+")
_FILE = LanguageWords("yes_no.txt")
_YES, _NO, _FILLERS = _FILE.words("yes"), _FILE.words("no"), _FILE.words("fillers")
_YES_PHRASES, _NO_PHRASES, _CANCEL = _FILE.items("yes_phrases"), _FILE.items("no_phrases"), _FILE.items("cancel")
_KEEP = _FILE.items("keep")
_CANCEL_ALONE = _FILE.words("cancel_alone")
_BESIDE_CANCEL = _FILE.words("beside_cancel") | _CANCEL_ALONE | _YES | _NO | _FILLERS
_LENGTH = 8  # words; a longer message is more than a yes or a no


def _words(text: str) -> list[str]:
    return [word.replace("'", "") for word in _WORD.findall(folded(text[:400]))]


def _says(text: str, single: frozenset[str], phrases: list[str]) -> bool:
    words = _words(text)
    if not words or len(words) > _LENGTH:
        return False
    line = f" {' '.join(words)} "
    return (
        words[0] in single
        or any(f" {phrase} " in line for phrase in phrases)
        or next((w for w in words if w not in _FILLERS), "") in single
    )


def is_only_nod(text: str) -> bool:
    """Return whether a text is a yes or a no and nothing else."""
    words = _words(text)
    return (is_yes(text) or is_no(text)) and (_YES | _NO | _FILLERS).issuperset(words)


def is_cancel(text: str) -> bool:
    """Return whether the visitor gives the whole thing up."""
    words = _words(text)
    line = f" {' '.join(words)} "
    return (
        len(words) <= _LENGTH
        and (any(f" {phrase} " in line for phrase in _CANCEL) or (not _CANCEL_ALONE.isdisjoint(words) and _BESIDE_CANCEL.issuperset(words)))
        and not any(f" {phrase}" in line for phrase in _KEEP)
    )


def is_no(text: str) -> bool:
    """Return whether the answer is no; "no problem" is not one."""
    if _says(text, frozenset(), _YES_PHRASES) and not _says(text, frozenset(), _NO_PHRASES):
        return False
    return _says(text, _NO, _NO_PHRASES)


def is_yes(text: str) -> bool:
    """Return whether the answer is yes."""
    return not is_no(text) and not is_cancel(text) and _says(text, _YES, _YES_PHRASES)
