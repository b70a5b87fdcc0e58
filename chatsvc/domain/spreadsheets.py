"""Rows of CSV files that contain no formulas for spreadsheets. All exports as CSV are written by `row`.

A spreadsheet may split a comma-separated file at semicolons or tabs; a new cell then begins behind each of them and each line break, even
inside quotes. So an apostrophe, which marks text in spreadsheets, is put before the first character of a formula there too.
"""

import re

_STARTS = "=+\\-@\uff1d\uff0b\uff0d\uff20"  # what begins a formula; the full-width forms count in East Asian versions
_CELL = r"(?:\A|(?<=[;\t\r\n\"]))"
_FORMULA = re.compile(rf"{_CELL}(?='*[ \xa0]*[{_STARTS}])|\A(?='*[\t\r])")
_MARKED = re.compile(rf"{_CELL}'(?='*[ \xa0]*[{_STARTS}])|\A'(?='*[\t\r])")

_SPECIAL = re.compile(r'[",;\t\r\n]|^\s|\s$')

BYTE_ORDER_MARK = "\ufeff"  # begins a file for people: without it spreadsheets take UTF-8 for another encoding


def row(*cells: str | int | None, separator: str = ",") -> str:
    """Format a row as in RFC 4180; None is an empty cell. Texts with separators, quotes or blanks at the ends are quoted."""
    return separator.join("" if cell is None else _text(cell) if isinstance(cell, str) else str(cell) for cell in cells) + "\r\n"


def _text(cell: str) -> str:
    harmless = without_formulas(cell)
    return '"' + harmless.replace('"', '""') + '"' if _SPECIAL.search(harmless) else harmless


def without_formulas(cell: str) -> str:
    """Put an apostrophe before texts inside a cell that could be read as formulas."""
    return _FORMULA.sub("'", cell)


def with_formulas(cell: str) -> str:
    """Remove the apostrophes that `without_formulas` has added."""
    return _MARKED.sub("", cell)
