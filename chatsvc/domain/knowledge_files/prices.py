"""Price lists: a line such as "Haircut ......... 450 TL", "Saç kesimi: 450 TL" or a table's row, and what is a price and no more."""

import re
from collections.abc import Sequence
from itertools import starmap, zip_longest

_FEWEST_ROWS = 2  # of a table, its heads included
_MOST = 200  # characters of a line
_NAME = 80  # characters of a name
_SIGNS, _CODES = "₺$€£", "TL|TRY|lira|USD|EUR|GBP|CHF|euros?|avro|dolar|dollars?|pounds?|sterlin"
_NUMBER = r"(?<!\d)\d[\d.,]{0,15}"  # not from within a row of digits, which would take time
_AMOUNT = rf"(?:[{_SIGNS}]\s?{_NUMBER}|{_NUMBER}\s?(?:[{_SIGNS}]|(?:{_CODES})\b))"
_PRICE = re.compile(rf"(?:(?:from|ab|en az)\s{{1,9}})?(?:{_NUMBER}\s?[-–]\s?)?{_AMOUNT}|(?:free|ücretsiz|bedava)\b", re.IGNORECASE)
_MORE = r"[/(+,*].*|(?:per|each|an?|başla\w*|kişi|adet|saat|gece|and up|ve üzeri|başı)\b.*"  # what may stand behind a price
_ALONE = re.compile(rf"\A(?:{_PRICE.pattern})(?:'\w{{1,4}})?(?:\s*[-–]\s*{_AMOUNT})?\s*(?:{_MORE})?", re.IGNORECASE)
_SEPARATOR = re.compile(r"(?:\s*(?:\.{2,}|…+|_{2,}|\||\t|:(?=\s))|\s+[-–—=](?=\s)|\s{2,})[\s.…_|:–—=-]*")
_BULLET = re.compile(r"^\s*(?:[-*+•·|]|\d{1,3}[.)])\s*")
_TOTAL = re.compile(r"(?:sub)?total|toplam|kdv|vat\b|tax\b", re.IGNORECASE)


def heads_of(lines: Sequence[str]) -> list[str]:
    """Return the heads of the columns of a table in lines with cells between `|`; none for other lines."""
    if len(lines) < _FEWEST_ROWS or any("|" not in line for line in lines[:_FEWEST_ROWS]) or re.search(_AMOUNT, lines[0]):
        return []
    return cells_of(lines[0])


def cells_of(line: str) -> list[str]:
    """Return the cells of a table's row, with "|" or tabs between them."""
    line = line.strip() if "|" in line else line.replace("\t", "|")
    return [cell.strip(" *_") for cell in line.removeprefix("|").removesuffix("|").split("|")]


def names_price(text: str) -> bool:
    """Tell whether a price stands somewhere in a line."""
    return len(text) <= _MOST and _PRICE.search(text) is not None


def is_price(text: str) -> bool:
    """Report whether a text is a price and no more, such as "from £20 per person"."""
    return len(text) <= _NAME and _ALONE.fullmatch(text) is not None


def price_of(text: str, heads: Sequence[str] = ()) -> tuple[str, str] | None:
    """Return the name and the price in a line of a list. None for any other line.

    `heads` are those of the table's columns. They stand before the cells where there are several.
    """
    if len(text) > _MOST or not _PRICE.search(text):
        return None
    row = cells_of(text)  # an empty cell in it stays one
    text = _BULLET.sub("", text).strip(" |*_")
    for separator in _SEPARATOR.finditer(text):
        name, rest = text[: separator.start()].strip(" *_"), text[separator.end() :].strip(" |*_")
        in_table = "|" in separator[0] or "\t" in separator[0]
        if not (_PRICE.search(rest) if in_table else _ALONE.fullmatch(rest)):
            continue
        if not any(map(str.isalpha, name)) or len(name) > _NAME or _TOTAL.match(name):
            return None
        cells = row[1:] if heads and in_table else [cell.strip() for cell in re.split(r"[|\t]", rest)]
        told = (
            cells if sum(map(bool, cells)) == 1 else list(starmap(_with_head, zip_longest(cells, heads[1 : len(cells) + 1], fillvalue="")))
        )
        return name, ", ".join(cell for cell in told if cell)
    return None


def _with_head(cell: str, head: str) -> str:
    return f"{head} {cell}".strip() if cell else ""
