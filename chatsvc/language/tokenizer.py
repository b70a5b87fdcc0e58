"""Tokeniser: folded text becomes a line of tokens. The grammar of dates and times matches their symbols."""

import re
from collections.abc import Iterable, Iterator

from chatsvc.language import symbols
from chatsvc.language.folding import Folded
from chatsvc.language.numbers import block_counts, doubt_short_days, join_numbers, unname_parts
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
    ends = f"{head}\n{tail}"
    return ends, (len(head) + 1, len(text) - len(ends))


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
    tokens = join_numbers(_join_phrases(_without_stops(tokens)))
    doubt_short_days(tokens)
    block_counts(tokens)
    unname_parts(tokens)
    return TokenLine(tokens)


def _without_stops(tokens: list[Token]) -> list[Token]:
    """Drop the full stop of an abbreviated day or month: `Nov. 25`, `Pzt. 10:00`."""
    stops = {
        id(stop)
        for before, stop, after in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if stop.symbol == "." and before.text in symbols.SHORT_FORMS and after.kind in VALUES_WITH_DIGITS
    }
    return [token for token in tokens if id(token) not in stops]


def _tokens(match: re.Match[str], text: str, raw: str, folded: Folded) -> Iterator[Token]:
    start, end = match.span()
    if match["line"]:
        yield Token(";", "\n", start, end)
    elif match["sign"]:
        yield Token("at" if match["sign"] == "@" else match["sign"], match["sign"], start, end)
    elif word := match["word"]:
        number = word.removesuffix("ish")
        if raw and word in symbols.NUMBER_OF and _is_other_word(word, raw[folded.place[start] : folded.place[end]]):
            yield Token(Kind.UNKNOWN.value, word, start, end)
        elif number != word and number in symbols.NUMBER_OF:  # fiveish
            yield Token("", number, start, end - 3)
            yield Token("ish", "ish", end - 3, end)
        else:
            yield _word(word, match["suffix"], start, end)
    elif (start and text[start - 1].isalpha()) or (start > 1 and text[start - 1] in ".,:" and text[start - 2].isalnum()):
        yield Token(Kind.UNKNOWN.value, match[0], start, end)  # v2.1, A4, B12
    else:
        hung = match["hung"] or ""
        is_capital = hung in {"a", "b", "c", "d", "e"} and raw and raw[folded.place[end - 1]].isupper()
        if hung and not match["mark"] and (is_capital or (hung == "a" and match["number"][-1] in "1234578")):
            yield Token(Kind.UNKNOWN.value, match[0], start, end)  # Daire 3A; the ending would be 3e
        else:
            yield from _numeral(match["number"], hung, start, match.end("number"), end)


def _is_other_word(folded: str, typed: str) -> bool:
    """Tell önde from "on" and uçta from "üç" by the letters as typed."""
    return (folded.startswith("on") and typed[0] in "öÖ") or (folded.startswith("uc") and typed[0] in "uU" and typed[1] in "çÇ")


def _word(word: str, suffix: str | None, start: int, end: int) -> Token:
    symbol = symbols.symbol_of(word)
    if not suffix:
        return Token("" if word in symbols.NUMBER_OF else symbol, word, start, end)
    whole = word + suffix
    if whole == "wed":  # we'd
        return Token("ok", whole, start, end)
    is_weekday = suffix == "s" and kind_of(symbol) is Kind.WEEKDAY  # Tuesday's fine
    if (whole in symbols.SYMBOL_OF and not is_weekday) or suffix in {"t", "m", "re", "ve", "ll", "d"}:
        return Token(symbols.symbol_of(whole), whole, start, end)
    if word in symbols.NUMBER_OF:
        return Token("", whole, start, end)
    if "'" not in symbol and (kind_of(symbol) in CALENDAR_NAMES or symbol in {"today", "tomorrow", "obur"}):
        symbol += f"'{Case.GENITIVE if suffix == 's' else symbols.CASE_OF.get(suffix, Case.POSSESSIVE_LOCATIVE)}"
    return Token(symbol, word, start, end)


def _numeral(number: str, hung: str, start: int, middle: int, end: int) -> Iterator[Token]:
    """Tokenise what begins with a digit, with the letters that follow it directly."""
    symbol = _literal(number)
    if symbol is None and "-" in number:  # 10-12, 13:00-15:00
        *parts, last = number.split("-")
        for part in parts:
            yield Token(_literal(part) or Kind.UNKNOWN.value, part, start, start + len(part))
            start += len(part) + 1
            yield Token("-", "-", start - 1, start)
        yield from _numeral(last, hung, start, middle, end)
        return
    symbol, kind = symbol or Kind.UNKNOWN.value, kind_of(symbol or Kind.UNKNOWN.value)
    if number + hung in symbols.SYMBOL_OF:  # 2morrow
        yield Token(symbols.symbol_of(number + hung), number + hung, start, end)
    elif hung in _HANGS_ON_HOUR and hung != "p" and not (hung == "a" and kind is Kind.NUMBER):
        yield Token(symbol, number, start, middle)
        yield Token(_HANGS_ON_HOUR[hung], hung, middle, end)
    elif not hung or kind is Kind.UNKNOWN:
        yield Token(symbol, number, start, end)
    elif case := symbols.CASE_OF.get(hung):
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
        return f"{Kind.DATE.value}{year if len(year) == 4 else f'20{year}'}-{month:0>2}-{day:0>2}"
    if match := _CLOCK.fullmatch(number):
        is_time = int(match[1]) <= 24 and int(match[2]) < 60
        return f"{Kind.CLOCK.value}{match[1]}:{match[2]}" if is_time else Kind.UNKNOWN.value
    if _PAIR.fullmatch(number) and number not in {"24/7", "7/24"}:
        return f"{Kind.PAIR.value}{number}"
    return f"{Kind.NUMBER.value}{number}" if number.isdigit() and len(number) <= 4 else None


def _join_phrases(tokens: list[Token]) -> list[Token]:
    joined: list[Token] = []
    index = 0
    while index < len(tokens):
        length = _phrase_at(tokens, index) if tokens[index].text in symbols.PHRASE_STARTS else 1
        part = tokens[index : index + length]
        if length > 1:
            texts = tuple(token.text for token in part)
            part = [Token(symbols.PHRASE_OF[texts], " ".join(texts), part[0].start, part[-1].end)]
        joined += part
        index += length
    return joined


def _phrase_at(tokens: list[Token], index: int) -> int:
    """Return the number of tokens of the longest phrase that begins here, 1 without any."""
    texts = tuple(token.text for token in tokens[index : index + symbols.LONGEST_PHRASE])
    return next((length for length in range(len(texts), 1, -1) if texts[:length] in symbols.PHRASE_OF), 1)
