"""Words of texts and queries of the conversation search. "Işık", "isik" and "IŞIK" are one; contact data are whole words."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from chatsvc.domain.folding import fold_character

MAX_LETTERS = 32  # of a word; longer ones are cut, in texts and in queries alike
MAX_TERMS = 8  # of a query
NATIONAL_DIGITS = 10  # of a telephone number, without country code and leading zero
_CACHED = 4_096  # characters

_WORD = re.compile(r"[^\W_]+")
_PHONE = re.compile(r"(?<![^\W_])\+?[0-9](?:[ ()-]{0,3}[0-9]){6,14}(?![^\W_])")
_NO_DIGIT = re.compile(r"[^0-9]")

# Words with a prefix that no word of a text has: whole values, words of captured data, and the mark of a conversation with a capture.
EMAIL, PHONE, USER, IN_CAPTURE, CAPTURED = "e:", "p:", "u:", "r:", "c:"


class _Folding(dict[int, str]):
    """Translation table of all characters, filled as they occur."""

    def __missing__(self, code: int) -> str:
        folded = fold_character(chr(code))
        if len(self) < _CACHED:
            self[code] = folded
        return folded


_FOLDING = _Folding()


class Term(NamedTuple):
    """Term of a query: the beginning of a word, or a whole word if `exact`."""

    word: str
    exact: bool = False


def words(text: str) -> set[str]:
    """Return the folded words of a text, and its telephone numbers as digits."""
    folded = text.translate(_FOLDING)
    found = {word[:MAX_LETTERS] for word in _WORD.findall(folded)}
    found |= {stripped for word in found if word.startswith("0") and (stripped := _without_zeros(word))}
    for match in _PHONE.findall(folded):
        digits = _without_zeros(_NO_DIGIT.sub("", match))
        found |= {digits, digits[-NATIONAL_DIGITS:]} - {""}
    return found


def first_of(text: str, beginnings: Iterable[str]) -> tuple[int, int] | None:
    """Return where the first word of a text stands that begins with one of these (folded), None without one."""
    wanted = tuple(beginnings)
    return next((match.span() for match in _WORD.finditer(text) if match[0].translate(_FOLDING).startswith(wanted)), None)


def values(*, user_id: str, emails: Iterable[str | None] = (), phones: Iterable[str | None] = ()) -> set[str]:
    """Return the words that stand for user_id, e-mail addresses and telephone numbers. Each stands for the whole."""
    return {
        USER + user_id,
        *(EMAIL + email.casefold() for email in emails if email),
        *(PHONE + phone for phone in phones if phone),
    }


def terms(query: str, prefix: str = "") -> list[Term]:
    """Return the terms of a query; a text that has all of them matches. `prefix` restricts them to IN_CAPTURE words."""
    folded = query.translate(_FOLDING)
    phones = [_without_zeros(_NO_DIGIT.sub("", match))[-NATIONAL_DIGITS:] for match in _PHONE.findall(folded)]
    rest = [term for token in _PHONE.sub(" ", folded).split() for term in _parts(token)]
    found = [*(Term(phone) for phone in phones if phone), *rest]
    return [Term(prefix + word[:MAX_LETTERS], exact) for word, exact in dict.fromkeys(found)][:MAX_TERMS]


def user(query: str) -> Term | None:
    """Return the term for a user_id, typed as it is. None for a query that looks like words."""
    typed = query.strip()
    return Term(USER + typed, exact=True) if typed.split() == [typed] and any(map(str.isdigit, typed)) else None


def _parts(token: str) -> list[Term]:
    """Return the terms of a token. Numbers of an id ("first-000007") are whole words, with their zeros."""
    parts = _WORD.findall(token)
    is_id = any(not part.isdigit() for part in parts)
    return [Term(part, exact=True) if is_id and part.isdigit() else Term(_without_zeros(part) or part) for part in parts]


def _without_zeros(word: str) -> str:
    """Cut the leading zeros of a number: with and without them it is found."""
    return word.lstrip("0") if word.isdigit() else word
