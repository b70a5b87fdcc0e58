"""Protection of CSV cells against being read as formulas.

A spreadsheet that splits a comma-separated file at semicolons or tabs takes quotes inside a field as text: a new cell begins behind each
separator and each line break. So an apostrophe, which marks text in spreadsheets, goes before a formula's first character there as well.
"""

from __future__ import annotations

import re

_STARTS = "=+\\-@\uff1d\uff0b\uff0d\uff20"  # what begins a formula; the full-width forms count in East Asian versions
_CELL = r"(?:\A|(?<=[;\t\r\n\"]))"
_FORMULA = re.compile(rf"{_CELL}(?='*[ \xa0]*[{_STARTS}])|\A(?='*[\t\r])")
_MARKED = re.compile(rf"{_CELL}'(?='*[ \xa0]*[{_STARTS}])|\A'(?='*[\t\r])")


def without_formulas(cell: str) -> str:
    """Put an apostrophe before texts inside a cell that could be read as formulas."""
    return _FORMULA.sub("'", cell)


def with_formulas(cell: str) -> str:
    """Take the apostrophes of `without_formulas` away."""
    return _MARKED.sub("", cell)
