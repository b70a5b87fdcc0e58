"""Number words become numbers, and numbers that count or label something become nothing."""

from __future__ import annotations

import re
from itertools import pairwise

from chatsvc.engines.reading import symbols
from chatsvc.engines.reading.token_line import Token
from chatsvc.engines.reading.vocabulary import DOUBTFUL_NUMBERS, SERVED

_CURRENCY = frozenset("$£€₺%#~")
_TENS = frozenset({10, 20, 30, 40, 50})
_TURKISH_UNITS = frozenset(
    {
        "gun",
        "gunde",
        "gunluk",
        "gune",
        "hafta",
        "haftalik",
        "ay",
        "aylik",
        "yil",
        "dakika",
        "dk",
        "kisi",
        "kisilik",
        "tane",
        "adet",
        "lira",
        "tl",
    }
)


def join_numbers(tokens: list[Token]) -> list[Token]:
    """Number words become numbers: `on beş`, `twenty-first`; a doubtful one ("bir", "on") is marked with a question mark."""
    joined: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.symbol:
            if token.symbol.startswith("#") and "'" not in token.symbol and token.symbol[1:].isdigit() and at + 1 < len(tokens):
                at += _take_loose_suffix(token, tokens[at + 1], joined[-1].text if joined else "")
            joined.append(token)
            at += 1
            continue
        value, case, language, doubtful, used = _number_at(tokens, at)
        symbol = f"#{value}" + ("?" if doubtful else "") + (f"'{case}" if case else "")
        # ten, or the English word: the rules know by the neighbours
        if token.text == "on" and used == 1 and (at + 1 == len(tokens) or tokens[at + 1].text not in _TURKISH_UNITS):
            symbol = "on"
        joined.append(Token(symbol, token.text if used == 1 else f"{language} number", token.start, tokens[at + used - 1].end))
        at += used
    return joined


def _take_loose_suffix(number: Token, following: Token, before: str) -> int:
    """`3 te`, `15 inde`: the suffix typed as a word of its own belongs to the number, where it rhymes with it; 1 if it was taken."""
    digits = number.symbol[1:]
    wanted = _LOOSE.get(int(digits) % 10 or int(digits) % 100, "")
    if following.text in wanted.split() and following.start - number.end <= 1 and not (following.text == "a" and before == "at"):
        number.symbol += "'" + symbols.CASE_OF[following.text]
        number.end = following.end
        return 1
    return 0


# by the last digit; 10, 20 and 30 for themselves
_LOOSE = {
    1: "de e den inde ine i", 2: "de den ye sinde sine", 3: "te e ten unde une", 4: "te e ten unde une", 5: "te e ten inde ine",
    6: "da dan ya sinda sina", 7: "de den ye sinde sine", 8: "de e den inde ine", 9: "da dan unda una a u", 10: "da dan unda una a u",
    20: "de den ye sinde sine", 30: "da dan unda una a u",
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
    if known := symbols.NUMBER_OF.get(word):
        return known
    for length in (1, 2, 3, 4, 5):  # the token of `üç'te` holds both parts
        if (known := symbols.NUMBER_OF.get(word[:-length])) and word[-length:] in symbols.CASE_OF:
            return known[0], symbols.CASE_OF[word[-length:]], known[2]
    return 0, "", ""


_SHORT_DAYS = frozenset(
    {"sat", "sun", "mon", "wed", "sal", "prs", "may", "mar", "ocak", "mart", "sub", "nis", "dec", "sep", "ekim", "march"}
)
_DAY_CONTEXT = frozenset(
    {"this", "next", "coming", "on", "or", "and", "nextweek", "thisweek", ",", "by", "after", "till", "neg", "for", "at", "to"}
)


def doubt_short_days(tokens: list[Token]) -> None:
    """`sat` and `sun` are days only where something near says so."""
    for at, token in enumerate(tokens):
        if token.text in {"sat", "sun", "mon", "wed"} and token.symbol.startswith("De"):
            before = tokens[at - 1].symbol if at else ""
            after = tokens[at + 1].symbol if at + 1 < len(tokens) else ""
            near = (before in _DAY_CONTEXT and before != ",") or after.startswith(
                ("#", "clock=", "at", "morning", "afternoon", "evening", "night", "pair")
            )
            near = near or (after in {"-", "/"} and at + 2 < len(tokens) and tokens[at + 2].symbol.startswith("De"))
            alone = len(tokens) <= 3 and all(one is token or one.symbol in {"ok", "?", ".", "!", ",", "next"} for one in tokens)
            if not near and not alone:
                token.symbol = "x"


_LENGTHS = frozenset({"day", "week", "month", "year", "hour", "minute"})


def unname_parts(tokens: list[Token]) -> None:
    """`öğle menüsü`, `midnight buffet`: no time of day."""
    for part, following in pairwise(tokens):
        if part.symbol in {"noon", "midnight"} and following.symbol == "x" and following.text.startswith(SERVED):
            part.symbol = "x"


def first_of_spans(tokens: list[Token]) -> list[Token]:
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


def block_counts(tokens: list[Token]) -> None:
    """A number with a unit behind it, or a label or a currency in front, is no hour and no day."""
    for at, token in enumerate(tokens):
        if not token.symbol.startswith(("#", "pair=", "clock=")):
            continue
        before = tokens[at - 1] if at else None
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        last = tokens[at + 2].symbol if at + 2 < len(tokens) else ""
        if after is not None and after.symbol == "gibi" and last in _COUNTED:  # 20 civarı kişi
            after = tokens[at + 2]
        if token.symbol.endswith(("'loc", "'dat", "'abl")):  # saat yirmide masa
            after = None
        nights = after is not None and after.text == "gece" and "'" not in token.symbol and not _hour_before(before)
        if nights or (after is not None and (after.symbol in _COUNTED or after.symbol in _CURRENCY)) or _labelled(tokens, at, before):
            token.symbol = "x"
            back = at
            while back >= 2 and tokens[back - 1].symbol in {"-", "and", "to", "or"} and tokens[back - 2].symbol.startswith(("#", "pair=")):
                tokens[back - 2].symbol = "x"  # 3-4 kişi, 10 ile 12 yaş
                back -= 2


def _hour_before(before: Token | None) -> bool:
    """`üçü beş geçe` typed without its letters, `saat 11 gece`: no number of nights."""
    return before is not None and (
        before.symbol == "saat" or (before.symbol[:1] == "#" and before.symbol.endswith(("'acc", "'pos", "'psa")))
    )


def block_fractions(tokens: list[Token]) -> None:
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
