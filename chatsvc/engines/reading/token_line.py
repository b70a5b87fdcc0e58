"""The symbols of a text as one line, over which the rules are written."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class Token:
    """One word, number or sign; `start` and `end` are places in the folded text."""

    symbol: str
    text: str
    start: int
    end: int


@dataclass(slots=True)
class Line:
    """The tokens of a text and their symbols as one string, each followed by a blank."""

    tokens: list[Token]
    text: str = ""
    _starts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        at = 0
        for token in self.tokens:
            self._starts.append(at)
            at += len(token.symbol) + 1
        self.text = "".join(token.symbol + " " for token in self.tokens)

    def token_at(self, position: int) -> int:
        """The number of the token whose symbol covers this place of the string."""
        return bisect_right(self._starts, position) - 1

    def found(self, rule: re.Pattern[str]) -> Iterator[tuple[re.Match[str], int, int]]:
        """Where a rule fits: the match, its first token, and the one behind its last."""
        for match in rule.finditer(self.text):
            yield match, self.token_at(match.start()), self.token_at(match.end() - 1) + 1

    def replaced(self, spans: Iterable[tuple[int, int, str]]) -> Line:
        """The line with each span of tokens put together under one symbol."""
        inside: dict[int, tuple[int, str]] = {first: (end, symbol) for first, end, symbol in spans}
        tokens: list[Token] = []
        at = 0
        while at < len(self.tokens):
            if at in inside:
                end, symbol = inside[at]
                tokens.append(Token(symbol, "", self.tokens[at].start, self.tokens[end - 1].end))
                at = end
            else:
                tokens.append(self.tokens[at])
                at += 1
        return Line(tokens)


def rule(pattern: str) -> re.Pattern[str]:
    """A rule over the line: it begins with a whole symbol; every symbol in it carries its blank."""
    return re.compile(rf"(?<!\S)(?:{pattern})")
