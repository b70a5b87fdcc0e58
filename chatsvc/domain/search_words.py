"""Words of texts and queries of the conversation search: "Işık", "isik" and "IŞIK" are the same word."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from string import ascii_lowercase, digits
from typing import NamedTuple

from chatsvc.domain.folding import fold_character

MAX_LETTERS = 32  # of a word; longer ones are cut, in texts and in queries alike
MAX_TERMS = 8  # of a query
NATIONAL_DIGITS = 10  # of a telephone number, without country code and leading zero
_CACHED = 4_096  # characters

_WORD = re.compile(r"[^\W_]+")
_PHONE = re.compile(r"(?<![^\W_])\+?[0-9](?:[ ()-]{0,3}[0-9]){6,14}(?![^\W_])")
_NO_DIGIT = re.compile(r"[^0-9]")


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
    result = {word[:MAX_LETTERS] for word in _WORD.findall(folded)}
    result |= {stripped for word in result if word.startswith("0") and (stripped := _without_zeros(word))}
    for match in _PHONE.findall(folded):
        number = _without_zeros(_NO_DIGIT.sub("", match))
        result |= {number, number[-NATIONAL_DIGITS:]} - {""}
    return result


def first_of(text: str, beginnings: Iterable[str]) -> tuple[int, int] | None:
    """Return where the first word of a text stands that begins with one of these (folded), None without one."""
    wanted = tuple(beginnings)
    return next((match.span() for match in _WORD.finditer(text) if match[0].translate(_FOLDING).startswith(wanted)), None)


def terms(query: str) -> list[Term]:
    """Return the terms of a query; a text that has all of them matches."""
    folded = query.translate(_FOLDING)
    phones = [_without_zeros(_NO_DIGIT.sub("", match))[-NATIONAL_DIGITS:] for match in _PHONE.findall(folded)]
    rest = [term for token in _PHONE.sub(" ", folded).split() for term in _parts(token)]
    unique = dict.fromkeys([*(Term(phone) for phone in phones if phone), *rest])
    return [Term(word[:MAX_LETTERS], exact) for word, exact in unique][:MAX_TERMS]


def user(query: str) -> str | None:
    """Return the user_id that a query may be, as it was typed. Return None for a query that looks like words."""
    typed = query.strip()
    return typed if typed.split() == [typed] and any(map(str.isdigit, typed)) else None


# Mathematical and enclosed letters, as ranges: each single one would cost a comparison with each character of a text.
_BEYOND = "\U0001d400-\U0001d7ff\U0001f100-\U0001f1ff"


class Matcher:
    """Finds the texts that have all terms of a query. To fold a text takes ten times as long as to find that it lacks a term."""

    def __init__(self, terms: Sequence[Term]) -> None:
        self._terms = terms
        self._patterns = [re.compile(_pattern(term.word)) for term in terms if term.word.isascii()]

    def may_match(self, text: str) -> bool:
        """Return whether a text may have all terms, quickly."""
        return all(pattern.search(text) for pattern in self._patterns)

    def matches(self, text: str) -> bool:
        """Return whether a text has all terms."""
        if not self.may_match(text):
            return False
        known = words(text)
        return all(word in known if exact else any(other.startswith(word) for other in known) for word, exact in self._terms)


def _pattern(word: str) -> str:
    """Return an expression that finds all spellings of a folded word, and some other texts. Telephone numbers may be divided."""
    spellings, several, marks = _spellings()
    between, rest = "[ ()-]{0,3}" if word.isdigit() else "", ""
    for letter in reversed(word[1:]):
        rest = f"{between}(?:[{several}{marks}]|[{spellings[letter]}]{rest})"
    # Numbers are found without their leading zeros and their country's code.
    begins = "" if word[0].isdigit() else r"(?<![^\W_].)"
    return f"[{spellings[word[0]]}{several}](?:(?<=[{several}])|{begins}{rest})"


@cache
def _spellings() -> tuple[dict[str, str], str, str]:
    """Return the spellings of each letter and digit, the characters that stand for several letters, and the marks."""
    spellings, several, marks = (
        {letter: letter + letter.upper() for letter in ascii_lowercase} | {digit: digit for digit in digits},
        _BEYOND,
        "",
    )
    for code in chain(range(0x80, 0x3400), range(0xA000, 0xAC00), range(0xF900, 0x10000)):
        folded = fold_character(chr(code))
        if folded in spellings:
            spellings[folded] += chr(code)
        elif not folded:
            marks += chr(code)
        elif len(folded) > 1 and not spellings.keys().isdisjoint(folded):
            several += chr(code)
    return spellings, several, marks


def _parts(token: str) -> list[Term]:
    """Return the terms of a token. Numbers of an id ("first-000007") are whole words, with their zeros."""
    parts = _WORD.findall(token)
    is_id = any(not part.isdigit() for part in parts)
    return [Term(part, exact=True) if is_id and part.isdigit() else Term(_without_zeros(part) or part) for part in parts]


def _without_zeros(word: str) -> str:
    """Cut the leading zeros of a number: with and without them it is found."""
    return word.lstrip("0") if word.isdigit() else word
