"""Headings, lines and prices of web pages, recognised by position and form. Their tags often do not show what they are."""

import re
from collections.abc import Container, Sequence
from typing import Any

from chatsvc.domain.knowledge_files.documents import ASKING, QUESTION, Sections, is_price, names_price

_SHORTEST = 3  # characters of a line without a letter that may say something
_LIST_NAME = range(1, 4)  # words of a line that names a list
_NAME_WORDS = 8  # of a line that names the price below it
_ORNAMENTS = re.compile(r"(?<=\?)[^\w\"'”’»)]{1,40}\Z|\A[^\w¿¡\"'“‘«(₺$€£#%+-]+|[^\w?!.)%\"'”’»₺$€£+…]{1,40}\Z")
_TRAIL = re.compile(r"\A[\w\s.-]{1,40}(?:[>›»→][\w\s.-]{1,60}){1,5}")  # the way to a page, as "Home > Services"
_TITLE = re.compile(r"(?<!\s)\s++(?:[-–—|:·•»]|::)\s++")
_BLANK = ("line", "")


def replay(calls: Sequence[Sequence[Any]], sections: Sections, left_out: Container[str], title: str) -> None:
    """Add the elements of a page (`calls`: kind and value) to `sections`, without the lines in `left_out`.

    These lines become headings: a question, a short line above a list of questions, and the first line that is part of the page's
    title. A question with a price becomes a line.
    """
    lines = _with_prices(_without_ornaments(calls, left_out))
    named = any(kind == "heading" and value[0] == 1 for kind, value in lines)
    parts = [] if named else [part.strip() for part in _TITLE.split(title)]
    for nth, (kind, value) in enumerate(lines):
        level, text = value if kind == "heading" else (_level(lines, nth, parts) if kind == "line" else 0, value)
        if kind == "question":
            level = QUESTION if value.endswith("?") or not names_price(value) else 0
        elif kind == "line" and level == 1:
            parts = []
        if level:
            sections.heading(level, _bare(text))
        else:
            sections.take(kind if kind == "asked" else "line", value)


def _without_ornaments(calls: Sequence[Sequence[Any]], left_out: Container[str]) -> list[tuple[str, Any]]:
    """Remove lines without information: ornaments, breadcrumbs, repeated headings, and repeated empty lines."""
    lines: list[tuple[str, Any]] = []
    for kind, value in calls:
        if kind == "line" and value:
            repeats = any(value == text[1] for what, text in lines[-2:] if what == "heading")
            is_word = len(value) > _SHORTEST or any(map(str.isalpha, value)) or is_price(value)
            is_telling = is_word and value not in left_out and not repeats and not _TRAIL.fullmatch(value)
        else:
            is_telling = (kind, value) != _BLANK or lines[-1:] != [_BLANK]
        if is_telling:
            lines.append((kind, value))
    return lines


def _with_prices(calls: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Join each price that is alone on its line with the name in the line above."""
    joined: list[tuple[str, Any]] = []
    for kind, value in calls:
        position = -2 if joined[-1:] == [_BLANK] else -1
        above = joined[position] if len(joined) >= -position else _BLANK
        if kind == "line" and value and is_price(value) and above[0] == "line" and _is_name(above[1]):
            joined[position:] = [("line", f"{above[1]}: {value}")]
        else:
            joined.append((kind, value))
    return joined


def _is_name(text: str) -> bool:
    """Return whether a line may name a product or service whose price is in the next line."""
    return 0 < len(text.split()) <= _NAME_WORDS and text[-1] not in ".!:" and "|" not in text and not names_price(text)


def _bare(heading: str) -> str:
    return _ORNAMENTS.sub("", heading) or heading


def _level(calls: Sequence[tuple[str, Any]], index: int, parts: Sequence[str]) -> int:
    """Return the level of a line that is a heading or names the list below it. Return 0 for any other line."""
    text, following = calls[index][1], [call for call in calls[index + 1 : index + 4] if call not in (_BLANK, ("asked", True))]
    if text and text in parts:
        return 1
    if len(text.split()) in _LIST_NAME and text.replace(" ", "").isalpha() and following[:1] == [("asked", False)]:
        return QUESTION - 1
    return QUESTION if _asks(calls, index, _bare(text)) else 0


def _asks(calls: Sequence[tuple[str, Any]], index: int, text: str) -> bool:
    """Return whether a line is a question, the only line of its paragraph, with an answer below it."""
    characters, words = ASKING
    begins = not index or calls[index - 1][0] != "line" or calls[index - 1] == _BLANK
    if not begins or not text.endswith("?") or len(text) > characters or len(text.split()) > words:
        return False
    following = [value for kind, value in calls[index + 1 : index + 3] if kind == "line"]
    return len(following) > 1 and not following[0] and not following[1].endswith("?")
