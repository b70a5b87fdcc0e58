"""A text as a line of symbols: the rules of `dates` and `times` are regular expressions over that line.

Folding keeps for every letter its place in the text as typed, so that what a rule finds can be cut out of it.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from chatsvc.engines.slots import words
from chatsvc.engines.slots.vocabulary import DOUBTFUL_NUMBERS

MAX_CHARACTERS = 4_000
MAX_TOKENS = 600  # a message this long is no answer to "when?"; what stands behind is not looked at

_LETTERS = {"ı": "i", "ß": "ss", "æ": "ae", "ø": "o", "đ": "d", "ł": "l", "\u2019": "'", "\u2018": "'", "\u02bc": "'", "`": "'", "´": "'"}
_LETTERS |= {"\u2013": "-", "\u2014": "-", "\u2212": "-", "\u2010": "-", "\u2011": "-", "\u00a0": " ", "\u202f": " ", "½": "~", "¼": "~"}
_LETTERS |= {"\u201c": '"', "\u201d": '"'}

_TOKEN = re.compile(
    r"(?P<number>\d+(?:[.,:/-]\d+)*)(?:(?P<mark>')?(?P<hung>[a-z]+(?![a-z']*\d)))?"
    r"|(?P<word>[a-z]+)(?:'(?P<suffix>[a-z]+))?"
    r"|(?P<line>\n)|(?P<sign>[^\s\w])"
)
_FULL_DATE = re.compile(r"(\d{4})([./-])(\d{1,2})\2(\d{1,2})|(\d{1,2})([./-])(\d{1,2})\6(\d{4}|\d{2})")
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::\d\d)?")
_PAIR = re.compile(r"(\d{1,2})([./])(\d{1,2})")
_AM_PM = re.compile(r"(?<![a-z])([ap])\. ?m\b\.?")
_H_CLOCK = re.compile(r"(?<![\w.,:])(\d\d?)h(\d\d)(?!\w)")  # 19h30
_HANGS_ON_HOUR = {"am": "am", "pm": "pm", "a": "am", "p": "pm", "h": "hrs", "hrs": "hrs", "ish": "ish", "hr": "hrs"}
_CURRENCY = frozenset("$£€₺%#~")


@lru_cache(maxsize=2_000)
def _fold_char(char: str) -> str:
    if char in _LETTERS:
        return _LETTERS[char]
    base = unicodedata.normalize("NFKD", char.lower())
    return "".join(_LETTERS.get(c, c) for c in base if not unicodedata.combining(c))


@dataclass(frozen=True, slots=True)
class Folded:
    """A text in small letters without marks; `place[i]` is where its i-th letter stands in the text as typed."""

    text: str
    place: list[int]


def fold(text: str) -> Folded:
    """The text folded letter by letter."""
    text = text[:MAX_CHARACTERS]
    if text.isascii():
        return Folded(text.lower().replace("`", "'"), list(range(len(text) + 1)))
    letters: list[str] = []
    place: list[int] = []
    for at, char in enumerate(text):
        for letter in _fold_char(char):
            letters.append(letter)
            place.append(at)
    place.append(len(text))
    return Folded("".join(letters), place)


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


def line_of(folded: Folded, masked: Iterable[tuple[int, int]] = (), raw: str = "") -> Line:
    """The symbols of a text; what lies in a masked span (an e-mail address, a telephone number, an IBAN) is no word of it."""
    text = _AM_PM.sub(lambda match: match[1] + "m" + " " * (len(match[0]) - 2), folded.text)
    text = _H_CLOCK.sub(r"\1:\2", text)
    for start, end in masked:
        text = text[:start] + "\x00" * (end - start) + text[end:]
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text):
        tokens.extend(_tokens(match, text, raw, folded))
        if len(tokens) > MAX_TOKENS:
            break
    tokens = _join_phrases(tokens)
    tokens = _join_numbers(tokens)
    tokens = _first_of_spans(tokens)
    _doubt_short_days(tokens)
    _block_counts(tokens)
    _block_fractions(tokens)
    return Line(tokens)


def _tokens(match: re.Match[str], text: str, raw: str, folded: Folded) -> Iterator[Token]:
    start, end = match.span()
    if match["line"]:
        yield Token(";", "\n", start, end)
    elif match["sign"]:
        yield Token("at" if match["sign"] == "@" else match["sign"], match["sign"], start, end)
    elif match["word"]:
        yield _word(match, start, end)
    elif (start and text[start - 1].isalpha()) or (start > 1 and text[start - 1] in ".,:" and text[start - 2].isalnum()):
        yield Token("x", match[0], start, end)  # v2.1, A4, B12
    else:
        hung = match["hung"] or ""
        if hung and not match["mark"] and hung in {"a", "b", "c", "d", "e"} and raw and raw[folded.place[end - 1]].isupper():
            yield Token("x", match[0], start, end)  # Daire 3A
        else:
            yield from _numeral(match["number"], hung, start, match.end("number"), end)


def _word(match: re.Match[str], start: int, end: int) -> Token:
    word, suffix = match["word"], match["suffix"]
    if suffix:
        whole = word + suffix
        if whole in words.SYMBOL_OF or suffix in {"t", "m", "re", "ve", "ll", "d"}:
            return Token(words.symbol_of(whole), whole, start, end)
        symbol = words.symbol_of(word)
        if word in words.NUMBER_OF:
            return Token("", word + suffix, start, end)
        case = "gen" if suffix == "s" else words.CASE_OF.get(suffix, "psl")
        if symbol == "x" or "'" in symbol or (symbol[0] not in "DM" and symbol not in {"today", "tomorrow", "obur"}):
            return Token(symbol, word, start, end)
        return Token(f"{symbol}'{case}", word, start, end)
    return Token("" if word in words.NUMBER_OF else words.symbol_of(word), word, start, end)


def _numeral(number: str, hung: str, start: int, middle: int, end: int) -> Iterator[Token]:
    """The tokens of something that begins with a digit, with what hangs on it."""
    symbol = _literal(number)
    if symbol is None and "-" in number:  # 10-12, 13:00-15:00
        at = start
        parts = number.split("-")
        for i, part in enumerate(parts):
            if i:
                yield Token("-", "-", at - 1, at)
            if i == len(parts) - 1:
                yield from _numeral(part, hung, at, middle, end)
            else:
                yield Token(_literal(part) or "x", part, at, at + len(part))
            at += len(part) + 1
        return
    symbol = symbol or "x"
    if number + hung in words.SYMBOL_OF:  # 2morrow
        yield Token(words.symbol_of(number + hung), number + hung, start, end)
        return
    if hung in _HANGS_ON_HOUR and not (hung == "a" and symbol[0] == "#") and hung != "p":
        yield Token(symbol, number, start, middle)
        yield Token(_HANGS_ON_HOUR[hung], hung, middle, end)
        return
    if not hung or symbol == "x":
        yield Token(symbol, number, start, end)
        return
    case = words.CASE_OF.get(hung)
    if case:
        yield Token(f"{symbol}'{case}", number, start, end)
    elif hung in words.SYMBOL_OF:  # 3gün, 10kisi
        yield Token(symbol, number, start, middle)
        yield Token(words.symbol_of(hung), hung, middle, end)
    else:
        yield Token("x", number, start, end)


def _literal(number: str) -> str | None:
    """date=, clock=, pair= or #; None where it is none of these."""
    if match := _FULL_DATE.fullmatch(number):
        year, _, month, day = match.group(1, 2, 3, 4)
        if not year:
            day, month, year = match.group(5, 7, 8)
        year = year if len(year) == 4 else f"20{year}"
        return f"date={year}-{month:0>2}-{day:0>2}"
    if match := _CLOCK.fullmatch(number):
        return f"clock={match[1]}:{match[2]}" if int(match[1]) <= 24 and int(match[2]) < 60 else "x"
    if (match := _PAIR.fullmatch(number)) and number not in {"24/7", "7/24"}:
        return f"pair={number}"
    if number.isdigit() and len(number) <= 4:
        return f"#{number}"
    return None


def _join_phrases(tokens: list[Token]) -> list[Token]:
    joined: list[Token] = []
    at = 0
    while at < len(tokens):
        length = _phrase_at(tokens, at) if tokens[at].text in words.PHRASE_STARTS else 0
        if length:
            part = tokens[at : at + length]
            symbol = words.PHRASE_OF[tuple(token.text for token in part)]
            joined.append(Token(symbol, " ".join(token.text for token in part), part[0].start, part[-1].end))
            at += length
        else:
            joined.append(tokens[at])
            at += 1
    return joined


def _phrase_at(tokens: list[Token], at: int) -> int:
    for length in range(words.LONGEST_PHRASE, 1, -1):
        part = tuple(token.text for token in tokens[at : at + length])
        if len(part) == length and part in words.PHRASE_OF:
            return length
    return 0


_TENS = frozenset({10, 20, 30, 40, 50})


def _join_numbers(tokens: list[Token]) -> list[Token]:
    """Number words become numbers: `on beş`, `twenty-first`; a doubtful one ("bir", "on") is marked with a question mark."""
    joined: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.symbol:
            if token.symbol.startswith("#") and "'" not in token.symbol and token.symbol[1:].isdigit() and at + 1 < len(tokens):
                at += _take_loose_suffix(token, tokens[at + 1])
            joined.append(token)
            at += 1
            continue
        value, case, language, doubtful, used = _number_at(tokens, at)
        symbol = f"#{value}" + ("?" if doubtful else "") + (f"'{case}" if case else "")
        symbol = "on" if token.text == "on" and used == 1 else symbol  # ten, or the English word: the rules know by the neighbours
        joined.append(Token(symbol, token.text if used == 1 else f"{language} number", token.start, tokens[at + used - 1].end))
        at += used
    return joined


def _take_loose_suffix(number: Token, following: Token) -> int:
    """`3 te`, `15 inde`: the suffix typed as a word of its own belongs to the number, where it rhymes with it; 1 if it was taken."""
    digits = number.symbol[1:]
    wanted = _LOOSE.get(int(digits) % 10 or int(digits), "")
    if following.text in wanted.split() and following.start - number.end <= 1:
        number.symbol += "'" + words.CASE_OF[following.text]
        number.end = following.end
        return 1
    return 0


# by the last digit; 10, 20 and 30 for themselves
_LOOSE = {
    1: "de den inde ine", 2: "de den ye sinde sine", 3: "te ten unde une", 4: "te ten unde une", 5: "te ten inde ine",
    6: "da dan ya sinda sina", 7: "de den ye sinde sine", 8: "de den inde ine", 9: "da dan unda una", 10: "da dan unda una",
    20: "de den ye sinde sine", 30: "da dan unda una",
}  # fmt: skip


def _number_at(tokens: list[Token], at: int) -> tuple[int, str, str, bool, int]:
    """value, case, language, doubtful, how many tokens"""
    word = tokens[at].text
    value, case, language = _number(word)
    used = 1
    if value in _TENS and not case:
        after = at + 1
        if language == "en" and after < len(tokens) and tokens[after].symbol == "-":
            after += 1
        if after < len(tokens) and not tokens[after].symbol:
            unit, unit_case, unit_language = _number(tokens[after].text)
            if unit < 10 and unit_language == language and (language == "tr" or value > 10):
                return value + unit, unit_case, language, False, after - at + 1
    doubtful = word in DOUBTFUL_NUMBERS
    if case.startswith("ps") and value < 10:  # beşinde: "in five of them" just as well
        doubtful = True
    return value, case, language, doubtful, used


def _number(word: str) -> tuple[int, str, str]:
    if known := words.NUMBER_OF.get(word):
        return known
    for length in (1, 2, 3, 4, 5):  # the token of `üç'te` holds both parts
        if (known := words.NUMBER_OF.get(word[:-length])) and word[-length:] in words.CASE_OF:
            return known[0], words.CASE_OF[word[-length:]], known[2]
    return 0, "", ""


_SHORT_DAYS = frozenset(
    {"sat", "sun", "mon", "wed", "sal", "prs", "may", "mar", "ocak", "mart", "sub", "nis", "dec", "sep", "ekim", "march"}
)
_DAY_CONTEXT = frozenset(
    {"this", "next", "coming", "on", "or", "and", "nextweek", "thisweek", ",", "by", "after", "till", "neg", "for", "at", "to"}
)


def _doubt_short_days(tokens: list[Token]) -> None:
    """`sat` and `sun` are days only where something near says so."""
    for at, token in enumerate(tokens):
        if token.text in {"sat", "sun", "mon", "wed"} and token.symbol.startswith("De"):
            before = tokens[at - 1].symbol if at else ""
            after = tokens[at + 1].symbol if at + 1 < len(tokens) else ""
            near = (before in _DAY_CONTEXT and before != ",") or after.startswith(
                ("#", "clock=", "at", "morning", "afternoon", "evening", "pair")
            )
            if not near and not (len(tokens) <= 3):
                token.symbol = "x"


_LENGTHS = frozenset({"day", "week", "month", "year", "hour", "minute"})


def _first_of_spans(tokens: list[Token]) -> list[Token]:
    """`in 3-4 days`, `2 ya da 3 hafta sonra`: the first of the two numbers."""
    joined: list[Token] = []
    for at, token in enumerate(tokens):
        counted = at + 1 < len(tokens) and tokens[at + 1].symbol in _LENGTHS and token.symbol.startswith("#")
        if counted and len(joined) > 1 and joined[-1].symbol in {"-", "to", "or"} and re.fullmatch(r"#\d+\??", joined[-2].symbol):
            joined.pop()
            joined[-1].end = token.end
        else:
            joined.append(token)
    return joined


_COUNTED = frozenset({"unit", "both", "hundred", "%"})
_LABELS = frozenset({"label", "both"})


def _block_counts(tokens: list[Token]) -> None:
    """A number with a unit behind it, or a label or a currency in front, is no hour and no day."""
    for at, token in enumerate(tokens):
        if not token.symbol.startswith(("#", "pair=", "clock=")):
            continue
        before = tokens[at - 1] if at else None
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        if (after is not None and (after.symbol in _COUNTED or after.symbol in _CURRENCY)) or _labelled(tokens, at, before):
            token.symbol = "x"
            back = at
            while back >= 2 and tokens[back - 1].symbol in {"-", "and", "to", "or"} and tokens[back - 2].symbol.startswith(("#", "pair=")):
                tokens[back - 2].symbol = "x"  # 3-4 kişi, 10 ile 12 yaş
                back -= 2


def _block_fractions(tokens: list[Token]) -> None:
    """`2'de 1'i`, `üçte biri`: a share of something."""
    for token, following in pairwise(tokens):
        if token.symbol.startswith("#") and token.symbol.endswith("'loc") and re.fullmatch(r"#\d+\??('(acc|pos|ps.))?", following.symbol):
            if following.symbol[-1].isdigit() and len(following.text) > 1:
                continue
            token.symbol = following.symbol = "x"


def _labelled(tokens: list[Token], at: int, before: Token | None) -> bool:
    if before is None:
        return False
    if before.symbol in _CURRENCY:
        return True
    if before.symbol in {":", "."} and at >= 2:
        return tokens[at - 2].symbol in _LABELS
    number = tokens[at].symbol
    followed_by_clock = at + 1 < len(tokens) and tokens[at + 1].symbol in {"am", "pm", "oclock"}
    return before.symbol in _LABELS and not followed_by_clock and not number.startswith("clock=")
