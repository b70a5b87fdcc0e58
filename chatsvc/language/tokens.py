"""Tokens of a text, and the string of their symbols. The rules for dates and times are patterns that match this string.

A symbol names what a token means: a word group of `symbols.txt` ("today", "morning"), or a value with its kind in front ("#15",
"clock=14:30"). A case ending follows behind an apostrophe: "cumaya" is `D4'dat`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import lru_cache
from itertools import accumulate
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Kind(Enum):
    """Kinds of symbols; the value is how a symbol of the kind begins."""

    WEEKDAY = "D"  # "Friday", "cumaya": D4, D4'dat
    MONTH = "M"  # "kasımda": M11'psl
    NUMBER = "#"  # "15", "on beş": #15; "bir", which may be no number: #1?
    CLOCK = "clock="  # "14:30": clock=14:30
    PAIR = "pair="  # "14.30", "15/3", day and month or hour and minute: pair=14.30
    DATE = "date="  # "25.11.2026": date=2026-11-25
    UNKNOWN = "x"  # "bisiklet", a word that no group holds: x
    GROUP = ""  # "yarın", a word of a group: tomorrow


CALENDAR_NAMES = frozenset({Kind.WEEKDAY, Kind.MONTH})
VALUES_WITH_DIGITS = frozenset({Kind.NUMBER, Kind.CLOCK, Kind.PAIR})
PARTS_OF_DAY = frozenset({"morning", "noon", "afternoon", "evening", "night"})
SENTENCE_ENDS = frozenset({".", ";", "!", "?"})
_KIND = re.compile(r"(D)\d|(M)\d|(#)|(clock=|pair=|date=)|(x)$")


class Case(StrEnum):
    """Case endings of a token. They follow the apostrophe in its symbol."""

    LOCATIVE = "loc"  # saat 3'te, cumada
    ABLATIVE = "abl"  # 3'ten, cumadan
    DATIVE = "dat"  # 3'e, cumaya
    ACCUSATIVE = "acc"  # 3'ü geçe, cumayı
    POSSESSIVE = "pos"  # ayın 2'si
    GENITIVE = "gen"  # cumanın, Friday's
    POSSESSIVE_LOCATIVE = "psl"  # ayın 15'inde
    POSSESSIVE_DATIVE = "psd"  # ayın 15'ine
    POSSESSIVE_ACCUSATIVE = "psa"  # 3'ünü
    ATTRIBUTIVE = "ki"  # cuma günkü


@lru_cache(maxsize=2_000)
def kind_of(symbol: str) -> Kind:
    match = _KIND.match(symbol)
    return Kind(match[match.lastindex or 0]) if match else Kind.GROUP


@dataclass(slots=True)
class Token:
    """One word, number or sign; `start` and `end` are offsets in the folded text."""

    symbol: str
    text: str
    start: int
    end: int

    @property
    def kind(self) -> Kind:
        return kind_of(self.symbol)

    @property
    def case(self) -> str:
        return self.symbol.partition("'")[2]


class TokenLine:
    """The tokens of a text. `text` is the string of their symbols, each followed by a blank."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.symbols = [token.symbol for token in tokens]
        self.text = "".join([symbol + " " for symbol in self.symbols])
        self._starts = list(accumulate((len(symbol) + 1 for symbol in self.symbols), initial=0))

    def matches(self, rule: re.Pattern[str]) -> Iterator[tuple[re.Match[str], int, int]]:
        """Yield each match of a rule with its first token index and its end index."""
        for match in rule.finditer(self.text):
            yield match, bisect_right(self._starts, match.start()) - 1, bisect_right(self._starts, match.end() - 1)

    def replaced(self, spans: Iterable[tuple[int, int, str]]) -> TokenLine:
        """Return a line in which one token replaces each span: (index of its first token, index after its last, symbol of the new one)."""
        tokens, done = list[Token](), 0
        for first, end, symbol in spans:
            tokens += self.tokens[done:first]
            tokens.append(Token(symbol, "", self.tokens[first].start, self.tokens[end - 1].end))
            done = end
        return TokenLine([*tokens, *self.tokens[done:]])


@dataclass(frozen=True, slots=True)
class Mention(Generic[Value]):
    """A value in a text with its offsets. `explicit` is true if other words introduce the value ("my name is")."""

    value: Value
    start: int
    end: int
    explicit: bool = False


@dataclass(slots=True)
class Expression(Generic[Value]):
    """A day or a time in a line, from the token at `first` up to the token before `end`.

    `value` is None if the expression names no single day ("every Monday"). `explicit` is true for the 15th of March, and false for a
    bare Friday. `clashes` is true for a date beside a weekday that is not its own, and `gone` for a day in the past ("dün").
    """

    first: int
    end: int
    value: Value | None
    explicit: bool = True
    gone: bool = False
    clashes: bool = False


def rule(pattern: str) -> re.Pattern[str]:
    """Compile a rule for the text of a line. A match begins at a whole symbol; the rule has a blank after each symbol."""
    return re.compile(rf"(?<!\S)(?:{pattern})")
