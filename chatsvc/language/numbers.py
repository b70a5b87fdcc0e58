"""Normalisation of number tokens. Number words become numbers, and numbers that count or label something become unknown."""

import re
from itertools import pairwise

from chatsvc.language import symbols
from chatsvc.language.tokens import VALUES_WITH_DIGITS, Case, Kind, Token

_CURRENCY = frozenset("$£€₺%#~")
_COUNTED = frozenset({"unit", "both", "hundred", "%"})
_LABELS = frozenset({"label", "both"})
_CLOCK = re.compile(r"\d\d:\d\d")  # but not 1:50, a scale
_BEFORE_DAY = frozenset(
    {"this", "next", "coming", "on", "or", "and", "nextweek", "thisweek", "by", "after", "till", "neg", "for", "at", "to"}
)
_AFTER_DAY = ("#", "clock=", "at", "morning", "afternoon", "evening", "night", "pair")
_BETWEEN_DAYS = frozenset({"-", "/", "to"})
_BESIDE_DAY = frozenset({"ok", "?", ".", "!", ",", "next"})


def join_numbers(tokens: list[Token]) -> list[Token]:
    """Replace number words by numbers (`on beş`, `twenty-first`). An ambiguous one ("bir", "on") gets a question mark."""
    joined: list[Token] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.symbol:
            if token.kind is Kind.NUMBER and token.symbol[1:].isdigit() and index + 1 < len(tokens):
                index += _take_loose_suffix(token, tokens[index + 1], joined[-1].text if joined else "")
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


def _take_loose_suffix(number: Token, following: Token, before: str) -> int:
    """Attach a suffix typed apart from its number (`3 te`, `15 inde`). Return the tokens taken."""
    value = int(number.symbol[1:])
    is_suffix = following.text in symbols.LOOSE_SUFFIXES.get(value % 10 or value % 100, [])
    if is_suffix and following.start - number.end <= 1 and not (following.text == "a" and before == "at"):
        number.symbol += "'" + symbols.CASE_OF[following.text]
        number.end = following.end
        return 1
    return 0


def _number_at(tokens: list[Token], index: int) -> tuple[int, str, str, bool, int]:
    """Return (value, case, language, is ambiguous, number of tokens) of the number that begins here."""
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


def doubt_short_days(tokens: list[Token]) -> None:
    """Take `sat`, `sun`, `mon` and `wed` for days only where a neighbour says so."""
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
    """Return the symbol of the token beside one, and the kind of the next but one."""
    near, far = index + step, index + 2 * step
    return tokens[near].symbol if 0 <= near < len(tokens) else "", tokens[far].kind if 0 <= far < len(tokens) else None


def unname_parts(tokens: list[Token]) -> None:
    """Remove the part of the day from a meal's or event's name. Examples: `öğle menüsü`, `midnight buffet`."""
    for part, following in pairwise(tokens):
        if part.symbol in {"noon", "midnight"} and following.kind is Kind.UNKNOWN and following.text.startswith(symbols.SERVED):
            part.symbol = Kind.UNKNOWN.value


def block_counts(tokens: list[Token]) -> None:
    """Block numbers with a unit behind them, or a label or currency in front. They are no hours and no days."""
    for index, token in enumerate(tokens):
        if token.kind not in VALUES_WITH_DIGITS:
            continue
        after, last = (*tokens[index + 1 : index + 3], None, None)[:2]
        if after and after.symbol == "gibi" and last and last.symbol in _COUNTED:  # 20 civarı kişi
            after = last
        if token.case in {Case.LOCATIVE, Case.DATIVE, Case.ABLATIVE} or _CLOCK.fullmatch(token.text):  # saat yirmide masa, 20:00 masa
            after = None
        is_nights = after and after.text == "gece" and "'" not in token.symbol and not _is_hour(tokens[index - 1] if index else None)
        if is_nights or (after and (after.symbol in _COUNTED or after.symbol in _CURRENCY)) or _is_labelled(tokens, index):
            token.symbol = Kind.UNKNOWN.value
            back = index
            while back >= 2 and tokens[back - 1].symbol in {"-", "and", "to", "or"} and tokens[back - 2].kind in {Kind.NUMBER, Kind.PAIR}:
                tokens[back - 2].symbol = Kind.UNKNOWN.value  # 3-4 kişi, 10 ile 12 yaş
                back -= 2


def _is_hour(before: Token | None) -> bool:
    """Return whether an hour stands before "gece", which is then no number of nights. Examples: `üçü beş geçe`, `saat 11 gece`."""
    if before is None or before.symbol == "saat":
        return before is not None
    return before.kind is Kind.NUMBER and before.case in {Case.ACCUSATIVE, Case.POSSESSIVE, Case.POSSESSIVE_ACCUSATIVE}


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
