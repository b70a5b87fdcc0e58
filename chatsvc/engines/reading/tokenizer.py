"""A text as a line of symbols: the rules of `dates` and `times` are regular expressions over that line.

Folding keeps for every letter its place in the text as typed, so that what a rule finds can be cut out of it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from chatsvc.engines.reading import symbols
from chatsvc.engines.reading import vocabulary as v
from chatsvc.engines.reading.numbers import block_counts, block_fractions, doubt_short_days, first_of_spans, join_numbers, unname_parts
from chatsvc.engines.reading.token_line import Line, Token

# What a visitor wants stands at the beginning of a long message or at its end: of more than this, the two halves there are read.
MAX_CHARACTERS = 800
_WORD_BREAK = 40  # so far a half is shortened in order not to cut a word or a number in two
MAX_TOKENS = 200  # of anything but hostile text, that many fill both halves

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


def ends_of(text: str) -> tuple[str, tuple[int, int]]:
    """A text without its middle, where it is long; and where the middle was and how much longer it was than what replaces it."""
    if len(text) <= MAX_CHARACTERS:
        return text, (0, 0)
    half = MAX_CHARACTERS // 2
    head, tail = text[:half], text[-half:]
    if (blank := head.rfind(" ", half - _WORD_BREAK)) > 0:
        head = head[:blank]
    if (blank := tail.find(" ", 0, _WORD_BREAK)) >= 0:
        tail = tail[blank + 1 :]
    kept = f"{head}\n{tail}"
    return kept, (len(head) + 1, len(text) - len(kept))


def fold(text: str) -> Folded:
    """The text folded letter by letter."""
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
    tokens = _join_phrases(_without_stops(tokens))
    tokens = join_numbers(tokens)
    tokens = first_of_spans(tokens)
    doubt_short_days(tokens)
    block_counts(tokens)
    block_fractions(tokens)
    unname_parts(tokens)
    return Line(tokens)


def _without_stops(tokens: list[Token]) -> list[Token]:
    """Without the full stop of `Nov. 25`, `Pzt. 10:00`."""
    stops = {
        at
        for at in range(1, len(tokens) - 1)
        if tokens[at].symbol == "." and tokens[at - 1].text in v.SHORT_FORMS and tokens[at + 1].symbol.startswith(("#", "clock=", "pair="))
    }
    return [token for at, token in enumerate(tokens) if at not in stops] if stops else tokens


def _tokens(match: re.Match[str], text: str, raw: str, folded: Folded) -> Iterator[Token]:
    start, end = match.span()
    if match["line"]:
        yield Token(";", "\n", start, end)
    elif match["sign"]:
        yield Token("at" if match["sign"] == "@" else match["sign"], match["sign"], start, end)
    elif match["word"]:
        if raw and match["word"] in symbols.NUMBER_OF and _is_other_word(match["word"], raw[folded.place[start] : folded.place[end]]):
            yield Token("x", match["word"], start, end)
        elif (number := match["word"].removesuffix("ish")) in symbols.NUMBER_OF and number != match["word"]:  # fiveish
            yield Token("", number, start, end - 3)
            yield Token("ish", "ish", end - 3, end)
        else:
            yield _word(match, start, end)
    elif (start and text[start - 1].isalpha()) or (start > 1 and text[start - 1] in ".,:" and text[start - 2].isalnum()):
        yield Token("x", match[0], start, end)  # v2.1, A4, B12
    else:
        hung = match["hung"] or ""
        capital = hung in {"a", "b", "c", "d", "e"} and raw and raw[folded.place[end - 1]].isupper()
        if hung and not match["mark"] and (capital or (hung == "a" and match["number"][-1] in "1234578")):
            yield Token("x", match[0], start, end)  # Daire 3A; the ending would be 3e
        else:
            yield from _numeral(match["number"], hung, start, match.end("number"), end)


def _is_other_word(folded: str, typed: str) -> bool:
    """önde is not on, uçta not üç, where the letters that tell them apart were typed."""
    return (folded.startswith("on") and typed[0] in "öÖ") or (folded.startswith("uc") and typed[0] in "uU" and typed[1] in "çÇ")


def _word(match: re.Match[str], start: int, end: int) -> Token:
    word, suffix = match["word"], match["suffix"]
    if suffix:
        whole = word + suffix
        weekday = suffix == "s" and symbols.symbol_of(word).startswith("De")  # Tuesday's fine
        if whole == "wed":  # we'd
            return Token("ok", whole, start, end)
        if (whole in symbols.SYMBOL_OF and not weekday) or suffix in {"t", "m", "re", "ve", "ll", "d"}:
            return Token(symbols.symbol_of(whole), whole, start, end)
        symbol = symbols.symbol_of(word)
        if word in symbols.NUMBER_OF:
            return Token("", word + suffix, start, end)
        case = "gen" if suffix == "s" else symbols.CASE_OF.get(suffix, "psl")
        if symbol == "x" or "'" in symbol or (symbol[0] not in "DM" and symbol not in {"today", "tomorrow", "obur"}):
            return Token(symbol, word, start, end)
        return Token(f"{symbol}'{case}", word, start, end)
    return Token("" if word in symbols.NUMBER_OF else symbols.symbol_of(word), word, start, end)


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
    if number + hung in symbols.SYMBOL_OF:  # 2morrow
        yield Token(symbols.symbol_of(number + hung), number + hung, start, end)
        return
    if hung in _HANGS_ON_HOUR and not (hung == "a" and symbol[0] == "#") and hung != "p":
        yield Token(symbol, number, start, middle)
        yield Token(_HANGS_ON_HOUR[hung], hung, middle, end)
        return
    if not hung or symbol == "x":
        yield Token(symbol, number, start, end)
        return
    case = symbols.CASE_OF.get(hung)
    if case:
        yield Token(f"{symbol}'{case}", number, start, end)
    elif hung in symbols.SYMBOL_OF:  # 3gün, 10kisi
        yield Token(symbol, number, start, middle)
        yield Token(symbols.symbol_of(hung), hung, middle, end)
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
        length = _phrase_at(tokens, at) if tokens[at].text in symbols.PHRASE_STARTS else 0
        if length:
            part = tokens[at : at + length]
            symbol = symbols.PHRASE_OF[tuple(token.text for token in part)]
            joined.append(Token(symbol, " ".join(token.text for token in part), part[0].start, part[-1].end))
            at += length
        else:
            joined.append(tokens[at])
            at += 1
    return joined


def _phrase_at(tokens: list[Token], at: int) -> int:
    for length in range(symbols.LONGEST_PHRASE, 1, -1):
        part = tuple(token.text for token in tokens[at : at + length])
        if len(part) == length and part in symbols.PHRASE_OF:
            return length
    return 0
