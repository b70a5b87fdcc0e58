"""Prices in lines of text, and heads of tables."""

import re
from collections.abc import Sequence

_FEWEST_ROWS = 2  # of a table, its heads included
_MOST = 200  # characters of a line
_LONGEST = 80  # characters of a price
_SIGNS, _CODES = "₺$€£", "TL|TRY|lira|USD|EUR|GBP|CHF|euros?|avro|dolar|dollars?|pounds?|sterlin"
_NUMBER = r"(?<!\d)\d[\d.,]{0,15}"  # not from within a row of digits, which would take time
_AMOUNT = rf"(?:[{_SIGNS}]\s?{_NUMBER}|{_NUMBER}\s?(?:[{_SIGNS}]|(?:{_CODES})\b))"
_PRICE = re.compile(rf"(?:(?:from|ab|en az)\s{{1,9}})?(?:{_NUMBER}\s?[-–]\s?)?{_AMOUNT}|(?:free|ücretsiz|bedava)\b", re.IGNORECASE)
_MORE = r"[/(+,*].*|(?:per|each|an?|başla\w*|kişi|adet|saat|gece|and up|ve üzeri|başı)\b.*"  # what may stand behind a price
_ALONE = re.compile(rf"\A(?:{_PRICE.pattern})(?:'\w{{1,4}})?(?:\s*[-–]\s*{_AMOUNT})?\s*(?:{_MORE})?", re.IGNORECASE)


def heads_of(lines: Sequence[str]) -> list[str]:
    """Return the heads of the columns of a table in lines with cells between `|`; none for other lines."""
    if len(lines) < _FEWEST_ROWS or any("|" not in line for line in lines[:_FEWEST_ROWS]) or re.search(_AMOUNT, lines[0]):
        return []
    return [cell.strip(" *_") for cell in lines[0].strip().removeprefix("|").removesuffix("|").split("|")]


def names_price(text: str) -> bool:
    """Tell whether a price stands somewhere in a line."""
    return len(text) <= _MOST and _PRICE.search(text) is not None


def is_price(text: str) -> bool:
    """Report whether a text is a price and no more, such as "from £20 per person"."""
    return len(text) <= _LONGEST and _ALONE.fullmatch(text) is not None
