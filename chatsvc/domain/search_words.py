"""Words of texts and queries of the conversation search: "Işık", "isik" and "IŞIK" are the same word."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from chatsvc.domain.folding import fold

MAX_LETTERS = 32  # of a word; longer ones are cut, in texts and in queries alike
MAX_TERMS = 8  # of a query
NATIONAL_DIGITS = 10  # of a telephone number, without country code and leading zero

_WORD = re.compile(r"[^\W_]+")
_PHONE = re.compile(r"(?<![^\W_])\+?[0-9](?:[ ()-]{0,3}[0-9]){6,14}(?![^\W_])")
_NO_DIGIT = re.compile(r"[^0-9]")


class Term(NamedTuple):
    """Term of a query: the beginning of a word, or a whole word if `exact`."""

    word: str
    exact: bool = False


def words(text: str) -> set[str]:
    """Return the folded words of a text, and its telephone numbers as digits."""
    folded = fold(text)
    result = {word[:MAX_LETTERS] for word in _WORD.findall(folded)}
    result |= {stripped for word in result if word.startswith("0") and (stripped := _without_zeros(word))}
    for match in _PHONE.findall(folded):
        number = _without_zeros(_NO_DIGIT.sub("", match))
        result |= {number, number[-NATIONAL_DIGITS:]} - {""}
    return result


def first_of(text: str, beginnings: Iterable[str]) -> tuple[int, int] | None:
    """Return the span of the first word that begins with one of these folded beginnings, or None."""
    wanted = tuple(beginnings)
    return next((match.span() for match in _WORD.finditer(text) if fold(match[0]).startswith(wanted)), None)


def terms(query: str) -> list[Term]:
    """Return the terms of a query; a text that has all of them matches."""
    folded = fold(query)
    phones = [_without_zeros(_NO_DIGIT.sub("", match))[-NATIONAL_DIGITS:] for match in _PHONE.findall(folded)]
    rest = [term for token in _PHONE.sub(" ", folded).split() for term in _parts(token)]
    unique = dict.fromkeys([*(Term(phone) for phone in phones if phone), *rest])
    return [Term(word[:MAX_LETTERS], exact) for word, exact in unique][:MAX_TERMS]


def user(query: str) -> str | None:
    """Return the query itself if it may be a user_id, or None if it looks like words."""
    typed = query.strip()
    return typed if typed.split() == [typed] and any(map(str.isdigit, typed)) else None


class Matcher:
    """Matcher of texts that have all terms of a query."""

    def __init__(self, terms: Sequence[Term]) -> None:
        self._terms = terms

    def may_match(self, text: str) -> bool:
        """Return quickly whether a text may have all terms, without splitting it into words."""
        folded = fold(text)
        return all(word in folded or (word.isdigit() and word in _NO_DIGIT.sub("", folded)) for word, _ in self._terms)

    def matches(self, text: str) -> bool:
        """Return whether a text has all terms."""
        if not self.may_match(text):
            return False
        known = words(text)
        return all(word in known if exact else any(other.startswith(word) for other in known) for word, exact in self._terms)


def _parts(token: str) -> list[Term]:
    """Return the terms of a token. Numbers of an id ("first-000007") are whole words, with their zeros."""
    parts = _WORD.findall(token)
    is_id = any(not part.isdigit() for part in parts)
    return [Term(part, exact=True) if is_id and part.isdigit() else Term(_without_zeros(part) or part) for part in parts]


def _without_zeros(word: str) -> str:
    """Remove the leading zeros of a number, so that it is found with and without them."""
    return word.lstrip("0") if word.isdigit() else word
