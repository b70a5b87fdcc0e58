"""Tokeniser: it turns folded text into a line of tokens. The rules for dates and times match the symbols of tokens."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from chatsvc.language import symbols
from chatsvc.language.folding import Folded, masked
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
_CURRENCY = frozenset("$£€₺%#~")
_COUNTED = frozenset({"unit", "both", "hundred", "%"})
_LABELS = frozenset({"label", "both"})
_HOUR_OF_DAY = re.compile(r"\d\d:\d\d")  # but not 1:50, a scale
_CASES_OF_HOURS = frozenset({Case.ACCUSATIVE, Case.POSSESSIVE, Case.POSSESSIVE_ACCUSATIVE})
_BEFORE_DAY = frozenset(
    {"this", "next", "coming", "on", "or", "and", "nextweek", "thisweek", "by", "after", "till", "neg", "for", "at", "to"}
)
_AFTER_DAY = ("#", "clock=", "at", "morning", "afternoon", "evening", "night", "pair")
_BETWEEN_DAYS = frozenset({"-", "/", "to"})
_BESIDE_DAY = frozenset({"ok", "?", ".", "!", ",", "next"})


def ends_of(text: str) -> tuple[str, tuple[int, int]]:
    """Remove the middle of a long text. Return the text left, and a pair: offset of the cut, number of characters removed."""
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


def line_of(folded: Folded, spans: Iterable[tuple[int, int]] = (), raw: str = "") -> TokenLine:
    """Tokenise a folded text without its `spans` (e-mail addresses, telephone numbers, IBANs). `raw` is the text as typed."""
    text = _AM_PM.sub(lambda match: match[1] + "m" + " " * (len(match[0]) - 2), folded.text)
    text = masked(_H_CLOCK.sub(r"\1:\2", text), spans)
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text):
        tokens.extend(_tokens(match, text, raw, folded))
        if len(tokens) > MAX_TOKENS:
            break
    stops = {  # of abbreviated days and months: `Nov. 25`, `Pzt. 10:00`
        id(stop)
        for before, stop, after in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if stop.symbol == "." and before.text in symbols.SHORT_FORMS and after.kind in VALUES_WITH_DIGITS
    }
    tokens = _join_numbers(_join_phrases([token for token in tokens if id(token) not in stops]))
    _doubt_short_days(tokens)
    _block_counts(tokens)
    for part, following in pairwise(tokens):  # a part of the day in the name of a meal or an event: `öğle menüsü`
        if part.symbol in {"noon", "midnight"} and following.kind is Kind.UNKNOWN and following.text.startswith(symbols.SERVED):
            part.symbol = Kind.UNKNOWN.value
    return TokenLine(tokens)


def _tokens(match: re.Match[str], text: str, raw: str, folded: Folded) -> Iterator[Token]:
    start, end = match.span()
    if match["line"]:
        yield Token(";", "\n", start, end)
    elif match["sign"]:
        yield Token("at" if match["sign"] == "@" else match["sign"], match["sign"], start, end)
    elif word := match["word"]:
        number = word.removesuffix("ish")
        if number != word and number in symbols.NUMBER_OF:  # fiveish
            yield Token("", number, start, end - 3)
            yield Token("ish", "ish", end - 3, end)
        else:
            yield _word(word, match["suffix"], start, end)
    elif (start and text[start - 1].isalpha()) or (start > 1 and text[start - 1] in ".,:" and text[start - 2].isalnum()):
        yield Token(Kind.UNKNOWN.value, match[0], start, end)  # v2.1, A4, B12
    else:
        hung = match["hung"] or ""
        is_capital = hung in {"a", "b", "c", "d", "e"} and raw and raw[folded.offsets[end - 1]].isupper()
        if hung and not match["mark"] and (is_capital or (hung == "a" and match["number"][-1] in "1234578")):
            yield Token(Kind.UNKNOWN.value, match[0], start, end)  # Daire 3A; the ending would be 3e
        else:
            yield from _numeral(match["number"], hung, start, match.end("number"), end)


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
    """Tokenise a text that begins with a digit: `number`, and the letters that follow it directly (`hung`)."""
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
        texts = tuple(token.text for token in tokens[index : index + symbols.LONGEST_PHRASE])
        lengths = range(len(texts), 1, -1) if texts[0] in symbols.PHRASE_STARTS else ()
        length = next((length for length in lengths if texts[:length] in symbols.PHRASE_OF), 1)  # the longest phrase
        part = tokens[index : index + length]
        if length > 1:
            part = [Token(symbols.PHRASE_OF[texts[:length]], " ".join(texts[:length]), part[0].start, part[-1].end)]
        joined += part
        index += length
    return joined


def _join_numbers(tokens: list[Token]) -> list[Token]:
    """Replace number words by numbers (`on beş`, `twenty-first`). The symbol of an ambiguous one ("bir") ends in a question mark."""
    joined: list[Token] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.symbol:
            following = tokens[index + 1] if index + 1 < len(tokens) else None
            if following and token.kind is Kind.NUMBER and token.symbol[1:].isdigit():  # its suffix, typed apart: `3 te`, `15 inde`
                value, is_of_at = int(token.symbol[1:]), following.text == "a" and bool(joined) and joined[-1].text == "at"
                is_suffix = following.text in symbols.LOOSE_SUFFIXES.get(value % 10 or value % 100, [])
                if is_suffix and following.start - token.end <= 1 and not is_of_at:
                    token.symbol += "'" + symbols.CASE_OF[following.text]
                    token.end = following.end
                    index += 1
            joined.append(token)
            index += 1
            continue
        value, case, language, is_doubtful, used = _number_at(tokens, index)
        symbol = f"{Kind.NUMBER.value}{value}" + ("?" if is_doubtful else "") + (f"'{case}" if case else "")
        # ten, or the English word: the rules know by the neighbours
        if token.text == "on" and used == 1 and (index + 1 == len(tokens) or tokens[index + 1].text not in symbols.BEHIND_TEN):
            symbol = "on"
        joined.append(Token(symbol, token.text if used == 1 else f"{language} number", token.start, tokens[index + used - 1].end))
        index += used
    return joined


def _number_at(tokens: list[Token], index: int) -> tuple[int, str, str, bool, int]:
    """Return (value, case, language, is ambiguous, number of tokens) of the number that begins at `index`."""
    word = tokens[index].text
    value, case, language = _number(word)
    if value in symbols.TENS.get(language, ()) and not case:
        after = index + 1
        if after < len(tokens) and tokens[after].symbol == "-":
            after += 1
        if after < len(tokens) and not tokens[after].symbol:
            unit, unit_case, unit_language = _number(tokens[after].text)
            if unit < symbols.TEN and unit_language == language:
                return value + unit, unit_case, language, False, after - index + 1
    # beşinde: "in five of them" just as well
    return value, case, language, word in symbols.AMBIGUOUS_NUMBERS or (case.startswith("ps") and value < symbols.TEN), 1


def _number(word: str) -> tuple[int, str, str]:
    if known := symbols.NUMBER_OF.get(word):
        return known
    for length in (1, 2, 3, 4, 5):  # the token of `üç'te` holds both parts
        if (known := symbols.NUMBER_OF.get(word[:-length])) and word[-length:] in symbols.CASE_OF:
            return known[0], symbols.CASE_OF[word[-length:]], known[2]
    return 0, "", ""


def _doubt_short_days(tokens: list[Token]) -> None:
    """Treat `sat`, `sun`, `mon` and `wed` as days only if a neighbouring token suggests it, or if they are alone."""
    for index, token in enumerate(tokens):
        if token.text not in symbols.DOUBTFUL_DAYS or token.kind is not Kind.WEEKDAY:
            continue
        (before, far_before), (after, far_after) = _beside(tokens, index, -1), _beside(tokens, index, 1)
        near = before in _BEFORE_DAY or after.startswith(_AFTER_DAY)
        near = near or (before in _BETWEEN_DAYS and far_before is Kind.WEEKDAY) or (after in _BETWEEN_DAYS and far_after is Kind.WEEKDAY)
        alone = len(tokens) <= 3 and all(other is token or other.symbol in _BESIDE_DAY for other in tokens)
        if not near and not alone:
            token.symbol = Kind.UNKNOWN.value


def _beside(tokens: list[Token], index: int, step: int) -> tuple[str, Kind | None]:
    near, far = index + step, index + 2 * step
    return tokens[near].symbol if 0 <= near < len(tokens) else "", tokens[far].kind if 0 <= far < len(tokens) else None


def _block_counts(tokens: list[Token]) -> None:
    """Mark numbers as unknown if a unit follows, or a label or currency precedes. Such numbers are neither hours nor days."""
    for index, token in enumerate(tokens):
        if token.kind not in VALUES_WITH_DIGITS:
            continue
        after, last = (*tokens[index + 1 : index + 3], None, None)[:2]
        if after and after.symbol == "gibi" and last and last.symbol in _COUNTED:  # 20 civarı kişi
            after = last
        if token.case in {Case.LOCATIVE, Case.DATIVE, Case.ABLATIVE} or _HOUR_OF_DAY.fullmatch(token.text):  # saat yirmide masa, 20:00 masa
            after = None
        # Behind an hour "gece" counts no nights: `üçü beş geçe`, `saat 11 gece`.
        before = tokens[index - 1] if index else token
        is_hour = index and (before.symbol == "saat" or (before.kind is Kind.NUMBER and before.case in _CASES_OF_HOURS))
        is_nights = after and after.text == "gece" and "'" not in token.symbol and not is_hour
        if is_nights or (after and (after.symbol in _COUNTED or after.symbol in _CURRENCY)) or _is_labelled(tokens, index):
            token.symbol = Kind.UNKNOWN.value
            back = index
            while back >= 2 and tokens[back - 1].symbol in {"-", "and", "to", "or"} and tokens[back - 2].kind in {Kind.NUMBER, Kind.PAIR}:
                tokens[back - 2].symbol = Kind.UNKNOWN.value  # 3-4 kişi, 10 ile 12 yaş
                back -= 2


def _is_labelled(tokens: list[Token], index: int) -> bool:
    if index == 0:
        return False
    before = tokens[index - 1].symbol
    if before in _CURRENCY:
        return True
    if before in {":", "."} and index >= 2:
        return tokens[index - 2].symbol in _LABELS
    is_clock = tokens[index].kind is Kind.CLOCK or _beside(tokens, index, 1)[0] in {"am", "pm", "oclock"}
    return before in _LABELS and not is_clock
