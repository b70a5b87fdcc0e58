"""Escaping of texts for terminals, JSON and spreadsheets.

For terminals, characters are escaped that a terminal would interpret as commands, hide or reorder: the control characters (C0, DEL, C1),
the line and paragraph separators, lone surrogates, and all characters that Unicode calls default ignorable or format: bidirectional marks
and overrides, zero-width characters, tags, variation selectors of the supplement.

All exports as CSV are written by `row`, so that they contain no formulas. A spreadsheet may split a comma-separated file at semicolons or
tabs; a new cell then begins behind each of them and each line break, even inside quotes. So an apostrophe, which marks text in
spreadsheets, is put before the first character of a formula there too.
"""

import json
import re
from typing import Any

_UNSAFE = (  # compiled by `re` at its first use, which most commands never come to
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_LINE_BREAK = r"\r\n|\r|\n"

_STARTS = "=+\\-@\uff1d\uff0b\uff0d\uff20"  # what begins a formula; the full-width forms count in East Asian versions
_CELL = r"(?:\A|(?<=[;\t\r\n\"]))"
_FORMULA = re.compile(rf"{_CELL}(?='*[ \xa0]*[{_STARTS}])|\A(?='*[\t\r])")
_MARKED = re.compile(rf"{_CELL}'(?='*[ \xa0]*[{_STARTS}])|\A'(?='*[\t\r])")

_SPECIAL = re.compile(r'[",;\t\r\n]|^\s|\s$')

BYTE_ORDER_MARK = "\ufeff"  # begins a file for people: without it spreadsheets take UTF-8 for another encoding


def escape(text: str) -> str:
    """Replace unsafe characters by `\\x1b`, `\\u202e` or `\\U000e0001`; line feeds stay."""
    return text if text.replace("\n", "").isprintable() else re.sub(_UNSAFE, _for_people, text)


def to_json(value: object, *, ensure_ascii: bool = False, **options: Any) -> str:
    """Serialise a value. Unsafe characters are replaced by escapes of JSON, which mean the same. `options` are those of json.dumps."""
    text = json.dumps(value, ensure_ascii=ensure_ascii, **options)
    return text if text.replace("\n", "").isprintable() else re.sub(_UNSAFE, _for_json, text)


def one_line(value: object) -> str:
    """Escape a value for one line of output; line breaks and tabs become blanks."""
    text = str(value)
    return text if text.isprintable() else escape(re.sub(_LINE_BREAK, " ", text).replace("\t", " "))


def indented(text: str, indent: str) -> str:
    """Escape a text of several lines. Each line begins with `indent`, so that none can look like a heading."""
    return "\n".join(indent + one_line(line) for line in re.split(_LINE_BREAK, text.replace("\t", "    ")))


def _for_people(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _for_json(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD800 + ((code - 0x10000) >> 10):04x}\\u{0xDC00 + ((code - 0x10000) & 0x3FF):04x}"


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
