"""Tokeniser: folded text becomes a line of tokens. The grammar of dates and times matches their symbols."""

import re
from collections.abc import Iterable, Iterator

from chatsvc.language import symbols
from chatsvc.language.folding import Folded
from chatsvc.language.numbers import (
    block_counts,
    doubt_short_days,
    join_numbers,
    unname_parts,
)
from chatsvc.language.tokens import CALENDAR_NAMES, VALUES_WITH_DIGITS, Case, Kind, Token, TokenLine, kind_of

# Visitors say what they want at the beginning or the end of a long message: of more than this, only the two ends are read.
MAX_CHARACTERS = 800
_WORD_BREAK = 40  # a half is shortened by at most this, so that no word or number is cut in two
MAX_TOKENS = 200  # of anything but hostile text, that many fill both halves

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


def ends_of(text: str) -> tuple[str, tuple[int, int]]:
    """Cut the middle out of a long text. Return the text, where the cut is, and how many characters are missing there."""
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


def line_of(folded: Folded, masked: Iterable[tuple[int, int]] = (), raw: str = "") -> TokenLine:
    """Tokenise a folded text; `masked` spans (e-mail addresses, telephone numbers, IBANs) hold no words. `raw` is the text as typed."""
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
    doubt_short_days(tokens)
    block_counts(tokens)
    unname_parts(tokens)
    return TokenLine(tokens)


def _without_stops(tokens: list[Token]) -> list[Token]:
    """Drop the full stop of an abbreviated day or month: `Nov. 25`, `Pzt. 10:00`."""
    stops = {
        at
        for at in range(1, len(tokens) - 1)
        if tokens[at].symbol == "." and tokens[at - 1].text in symbols.SHORT_FORMS and tokens[at + 1].kind in VALUES_WITH_DIGITS
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
            yield Token(Kind.UNKNOWN.value, match["word"], start, end)
        elif (number := match["word"].removesuffix("ish")) in symbols.NUMBER_OF and number != match["word"]:  # fiveish
            yield Token("", number, start, end - 3)
            yield Token("ish", "ish", end - 3, end)
        else:
            yield _word(match, start, end)
    elif (start and text[start - 1].isalpha()) or (start > 1 and text[start - 1] in ".,:" and text[start - 2].isalnum()):
        yield Token(Kind.UNKNOWN.value, match[0], start, end)  # v2.1, A4, B12
    else:
        hung = match["hung"] or ""
        capital = hung in {"a", "b", "c", "d", "e"} and raw and raw[folded.place[end - 1]].isupper()
        if hung and not match["mark"] and (capital or (hung == "a" and match["number"][-1] in "1234578")):
            yield Token(Kind.UNKNOWN.value, match[0], start, end)  # Daire 3A; the ending would be 3e
        else:
            yield from _numeral(match["number"], hung, start, match.end("number"), end)


def _is_other_word(folded: str, typed: str) -> bool:
    """Tell önde from "on" and uçta from "üç" by the letters as typed."""
    return (folded.startswith("on") and typed[0] in "öÖ") or (folded.startswith("uc") and typed[0] in "uU" and typed[1] in "çÇ")


def _word(match: re.Match[str], start: int, end: int) -> Token:
    word, suffix = match["word"], match["suffix"]
    if suffix:
        whole = word + suffix
        weekday = suffix == "s" and kind_of(symbols.symbol_of(word)) is Kind.WEEKDAY  # Tuesday's fine
        if whole == "wed":  # we'd
            return Token("ok", whole, start, end)
        if (whole in symbols.SYMBOL_OF and not weekday) or suffix in {"t", "m", "re", "ve", "ll", "d"}:
            return Token(symbols.symbol_of(whole), whole, start, end)
        symbol = symbols.symbol_of(word)
        if word in symbols.NUMBER_OF:
            return Token("", word + suffix, start, end)
        case = Case.GENITIVE if suffix == "s" else symbols.CASE_OF.get(suffix, Case.POSSESSIVE_LOCATIVE)
        if "'" in symbol or (kind_of(symbol) not in CALENDAR_NAMES and symbol not in {"today", "tomorrow", "obur"}):
            return Token(symbol, word, start, end)
        return Token(f"{symbol}'{case}", word, start, end)
    return Token("" if word in symbols.NUMBER_OF else symbols.symbol_of(word), word, start, end)


def _numeral(number: str, hung: str, start: int, middle: int, end: int) -> Iterator[Token]:
    """Tokenise what begins with a digit, with the letters that follow it directly."""
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
                yield Token(_literal(part) or Kind.UNKNOWN.value, part, at, at + len(part))
            at += len(part) + 1
        return
    symbol = symbol or Kind.UNKNOWN.value
    if number + hung in symbols.SYMBOL_OF:  # 2morrow
        yield Token(symbols.symbol_of(number + hung), number + hung, start, end)
        return
    if hung in _HANGS_ON_HOUR and not (hung == "a" and kind_of(symbol) is Kind.NUMBER) and hung != "p":
        yield Token(symbol, number, start, middle)
        yield Token(_HANGS_ON_HOUR[hung], hung, middle, end)
        return
    if not hung or kind_of(symbol) is Kind.UNKNOWN:
        yield Token(symbol, number, start, end)
        return
    case = symbols.CASE_OF.get(hung)
    if case:
        yield Token(f"{symbol}'{case}", number, start, end)
    elif hung in symbols.SYMBOL_OF:  # 3gün, 10kisi
        yield Token(symbol, number, start, middle)
        yield Token(symbols.symbol_of(hung), hung, middle, end)
    else:
        yield Token(Kind.UNKNOWN.value, number, start, end)


def _literal(number: str) -> str | None:
    """Return the symbol of a date, a clock time, a pair or a number. None for other digits."""
    if match := _FULL_DATE.fullmatch(number):
        year, _, month, day = match.group(1, 2, 3, 4)
        if not year:
            day, month, year = match.group(5, 7, 8)
        year = year if len(year) == 4 else f"20{year}"
        return f"{Kind.DATE.value}{year}-{month:0>2}-{day:0>2}"
    if match := _CLOCK.fullmatch(number):
        is_time = int(match[1]) <= 24 and int(match[2]) < 60
        return f"{Kind.CLOCK.value}{match[1]}:{match[2]}" if is_time else Kind.UNKNOWN.value
    if (match := _PAIR.fullmatch(number)) and number not in {"24/7", "7/24"}:
        return f"{Kind.PAIR.value}{number}"
    if number.isdigit() and len(number) <= 4:
        return f"{Kind.NUMBER.value}{number}"
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
