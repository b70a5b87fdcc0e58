"""Normalisation of number tokens. Number words become numbers, and numbers that count or label something become unknown."""

import re
from itertools import pairwise

from chatsvc.language import symbols
from chatsvc.language.tokens import VALUES_WITH_DIGITS, Case, Kind, Token

_CURRENCY = frozenset("$£€₺%#~")


def join_numbers(tokens: list[Token]) -> list[Token]:
    """Replace number words by numbers (`on beş`, `twenty-first`). An ambiguous one ("bir", "on") gets a question mark."""
    joined: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.symbol:
            if token.kind is Kind.NUMBER and token.symbol[1:].isdigit() and at + 1 < len(tokens):
                at += _take_loose_suffix(token, tokens[at + 1], joined[-1].text if joined else "")
            joined.append(token)
            at += 1
            continue
        value, case, language, doubtful, used = _number_at(tokens, at)
        symbol = f"{Kind.NUMBER.value}{value}" + ("?" if doubtful else "") + (f"'{case}" if case else "")
        # ten, or the English word: the rules know by the neighbours
        if token.text == "on" and used == 1 and (at + 1 == len(tokens) or tokens[at + 1].text not in symbols.BEHIND_TEN):
            symbol = "on"
        joined.append(Token(symbol, token.text if used == 1 else f"{language} number", token.start, tokens[at + used - 1].end))
        at += used
    return joined


def _take_loose_suffix(number: Token, following: Token, before: str) -> int:
    """Attach a suffix typed apart from its number (`3 te`, `15 inde`). Return the tokens taken."""
    digits = number.symbol[1:]
    wanted = symbols.LOOSE_SUFFIXES.get(int(digits) % 10 or int(digits) % 100, [])
    if following.text in wanted and following.start - number.end <= 1 and not (following.text == "a" and before == "at"):
        number.symbol += "'" + symbols.CASE_OF[following.text]
        number.end = following.end
        return 1
    return 0


def _number_at(tokens: list[Token], at: int) -> tuple[int, str, str, bool, int]:
    """Return (value, case, language, is ambiguous, number of tokens) of the number that begins here."""
    word = tokens[at].text
    value, case, language = _number(word)
    used = 1
    if value in symbols.TENS.get(language, ()) and not case:
        after = at + 1
        if after < len(tokens) and tokens[after].symbol == "-":
            after += 1
        if after < len(tokens) and not tokens[after].symbol:
            unit, unit_case, unit_language = _number(tokens[after].text)
            if unit < symbols.TEN and unit_language == language:
                return value + unit, unit_case, language, False, after - at + 1
    doubtful = word in symbols.AMBIGUOUS_NUMBERS
    if case.startswith("ps") and value < 10:  # beşinde: "in five of them" just as well
        doubtful = True
    return value, case, language, doubtful, used


def _number(word: str) -> tuple[int, str, str]:
    if known := symbols.NUMBER_OF.get(word):
        return known
    for length in (1, 2, 3, 4, 5):  # the token of `üç'te` holds both parts
        if (known := symbols.NUMBER_OF.get(word[:-length])) and word[-length:] in symbols.CASE_OF:
            return known[0], symbols.CASE_OF[word[-length:]], known[2]
    return 0, "", ""


_DAY_CONTEXT = frozenset(
    {"this", "next", "coming", "on", "or", "and", "nextweek", "thisweek", ",", "by", "after", "till", "neg", "for", "at", "to"}
)

_AFTER_DAY = ("#", "clock=", "at", "morning", "afternoon", "evening", "night", "pair")


def doubt_short_days(tokens: list[Token]) -> None:
    """Take `sat`, `sun`, `mon` and `wed` for days only where a neighbour says so."""
    for at, token in enumerate(tokens):
        if token.text in symbols.DOUBTFUL_DAYS and token.kind is Kind.WEEKDAY:
            before = tokens[at - 1].symbol if at else ""
            after = tokens[at + 1].symbol if at + 1 < len(tokens) else ""
            near = (before in _DAY_CONTEXT and before != ",") or after.startswith(_AFTER_DAY)
            near = near or (before in {"-", "/", "to"} and at > 1 and tokens[at - 2].kind is Kind.WEEKDAY)
            near = near or (after in {"-", "/", "to"} and at + 2 < len(tokens) and tokens[at + 2].kind is Kind.WEEKDAY)
            alone = len(tokens) <= 3 and all(one is token or one.symbol in {"ok", "?", ".", "!", ",", "next"} for one in tokens)
            if not near and not alone:
                token.symbol = Kind.UNKNOWN.value


def unname_parts(tokens: list[Token]) -> None:
    """Remove the part of the day from a meal's or event's name. Examples: `öğle menüsü`, `midnight buffet`."""
    for part, following in pairwise(tokens):
        if part.symbol in {"noon", "midnight"} and following.kind is Kind.UNKNOWN and following.text.startswith(symbols.SERVED):
            part.symbol = Kind.UNKNOWN.value


_CLOCK = re.compile(r"\d\d:\d\d")  # but not 1:50, a scale
_COUNTED = frozenset({"unit", "both", "hundred", "%"})
_LABELS = frozenset({"label", "both"})


def block_counts(tokens: list[Token]) -> None:
    """Block numbers with a unit behind them, or a label or currency in front. They are no hours and no days."""
    for at, token in enumerate(tokens):
        if token.kind not in VALUES_WITH_DIGITS:
            continue
        before = tokens[at - 1] if at else None
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        last = tokens[at + 2].symbol if at + 2 < len(tokens) else ""
        if after is not None and after.symbol == "gibi" and last in _COUNTED:  # 20 civarı kişi
            after = tokens[at + 2]
        if token.case in {Case.LOCATIVE, Case.DATIVE, Case.ABLATIVE} or _CLOCK.fullmatch(token.text):  # saat yirmide masa, 20:00 masa
            after = None
        nights = after is not None and after.text == "gece" and "'" not in token.symbol and not _hour_before(before)
        if nights or (after is not None and (after.symbol in _COUNTED or after.symbol in _CURRENCY)) or _labelled(tokens, at, before):
            token.symbol = Kind.UNKNOWN.value
            back = at
            while back >= 2 and tokens[back - 1].symbol in {"-", "and", "to", "or"} and tokens[back - 2].kind in {Kind.NUMBER, Kind.PAIR}:
                tokens[back - 2].symbol = Kind.UNKNOWN.value  # 3-4 kişi, 10 ile 12 yaş
                back -= 2


def _hour_before(before: Token | None) -> bool:
    """Return whether an hour stands before "gece", which is then no number of nights. Examples: `üçü beş geçe`, `saat 11 gece`."""
    return before is not None and (
        before.symbol == "saat"
        or (before.kind is Kind.NUMBER and before.case in {Case.ACCUSATIVE, Case.POSSESSIVE, Case.POSSESSIVE_ACCUSATIVE})
    )


def _labelled(tokens: list[Token], at: int, before: Token | None) -> bool:
    if before is None:
        return False
    if before.symbol in _CURRENCY:
        return True
    if before.symbol in {":", "."} and at >= 2:
        return tokens[at - 2].symbol in _LABELS
    followed_by_clock = at + 1 < len(tokens) and tokens[at + 1].symbol in {"am", "pm", "oclock"}
    return before.symbol in _LABELS and not followed_by_clock and tokens[at].kind is not Kind.CLOCK
