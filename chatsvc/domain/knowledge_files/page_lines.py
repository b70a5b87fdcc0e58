"""Headings, lines and prices of web pages: what they mean is in their place and form more often than in their tags."""

import re
from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from typing import Any

from chatsvc.domain.knowledge_files.documents import ASKING, HEADING, QUESTION, Row, Sections
from chatsvc.domain.knowledge_files.prices import Price, is_price, price_of

_SHORTEST = 3  # characters of a line without a letter that may say something
_LIST_NAME = range(1, 4)  # words of a line that names a list
_NAME_WORDS, _MORE_LINES = 8, 2  # words of a line that names the price below it, and lines about it that follow
_ORNAMENTS = re.compile(r"(?<=\?)[^\w\"'”’»)]{1,40}\Z|\A[^\w¿¡\"'“‘«(₺$€£#%+-]+|[^\w?!.)%\"'”’»₺$€£+…]{1,40}\Z")
_TRAIL = re.compile(r"\A[\w\s.-]{1,40}(?:[>›»→][\w\s.-]{1,60}){1,5}")  # the way to a page, as "Home > Services"
_TITLE = re.compile(r"(?<!\s)\s++(?:[-–—|:·•»]|::)\s++")
_BLANK = ("line", "")


class RecordedSections(Sections):
    """Records headings and lines as plain data, for `replay`."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, Any]] = []

    def heading(self, level: int, text: str) -> None:
        self.calls.append(("heading", [level, text]))

    def asked(self, *, closes: bool) -> None:
        self.calls.append(("asked", closes))

    def question(self, text: str) -> None:
        self.calls.append(("question", text))

    def labelled(self, number: int, text: str) -> bool:  # noqa: ARG002  # `replay` looks at it
        return False

    def line(self, number: int, text: str, *, joined: bool = False) -> None:  # noqa: ARG002  # a page has no code to keep
        self.calls.append(("line", text))


def replay(calls: Sequence[Sequence[Any]], sections: Sections, left_out: Container[str], title: str) -> None:
    """Pass on the headings and lines of a page, without some lines.

    A line that asks, a short one above a list of questions, and the first that is part of the page's title are headings; a question
    that tells a price is a line.
    """
    kept = _kept(calls, left_out)
    named = any(kind == "heading" and value[0] == 1 for kind, value in kept)
    parts = [] if named else [part.strip() for part in _TITLE.split(title)]
    for nth, (kind, value) in enumerate(kept):
        if kind == "heading":
            sections.heading(value[0], _bare(value[1]))
        elif kind == "asked":
            sections.asked(closes=value)
        elif kind == "question" and not price_of(value):
            sections.question(_bare(value))
        elif kind == "line" and (level := _level(kept, nth, parts)):
            parts = parts if level > 1 else []
            sections.heading(level, _bare(value)) if level < QUESTION else sections.question(_bare(value))
        elif not (value and sections.labelled(1, value)):
            sections.line(1, value)


def _kept(calls: Sequence[Sequence[Any]], left_out: Container[str]) -> list[tuple[str, Any]]:
    """Return the calls without lines that say nothing: ornaments, the way to the page, a heading once more, empty lines in a row."""
    kept: list[tuple[str, Any]] = []
    for kind, value in calls:
        if kind == "line" and value:
            repeats = any(value == text[1] for what, text in kept[-2:] if what == "heading")
            is_word = len(value) > _SHORTEST or any(map(str.isalpha, value)) or is_price(value)
            says = is_word and value not in left_out and not repeats and not _TRAIL.fullmatch(value)
        else:
            says = (kind, value) != _BLANK or kept[-1:] != [_BLANK]
        if says:
            kept.append((kind, value))
    return kept


def _bare(heading: str) -> str:
    """Return a heading without the ornaments at its ends."""
    return _ORNAMENTS.sub("", heading) or heading


def _level(calls: Sequence[tuple[str, Any]], at: int, parts: Sequence[str]) -> int:
    """Return the level of a line that is a heading; 0 for any other."""
    text = calls[at][1]
    if text and text in parts:
        return 1
    if _names_list(calls, at):
        return QUESTION - 1
    return QUESTION if _asks(calls, at, _bare(text)) else 0


def _asks(calls: Sequence[tuple[str, Any]], at: int, text: str) -> bool:
    """Tell whether a line asks, alone in its paragraph, above a line that answers it."""
    characters, words = ASKING
    begins = not at or calls[at - 1][0] != "line" or calls[at - 1] == _BLANK
    if not begins or not text.endswith("?") or len(text) > characters or len(text.split()) > words:
        return False
    following = [value for kind, value in calls[at + 1 : at + 3] if kind == "line"]
    return len(following) > 1 and not following[0] and not following[1].endswith("?")


def _names_list(calls: Sequence[tuple[str, Any]], at: int) -> bool:
    """Tell whether a line names the list of questions, or of dishes, that begins below it."""
    text, following = calls[at][1], [call for call in calls[at + 1 : at + 4] if call not in (_BLANK, ("asked", True))]
    return len(text.split()) in _LIST_NAME and text.replace(" ", "").isalpha() and following[:1] == [("asked", False)]


def prices(sections: Sections) -> Iterator[Price]:
    """Yield the prices of a page, also those on a line of their own. The lines below that say more about one belong to it."""
    for path, rows in sections.rows():
        yield from _section_prices(path[-1] if path else "", rows)


def _section_prices(heading: str, rows: Sequence[Row]) -> Iterator[Price]:
    texts = [text.removeprefix("- ") for _, text, _ in rows]
    found: list[tuple[int, int, str, str]] = []  # first and last row, name, price
    for at, text in enumerate(texts):
        if priced := price_of(text, rows[at][2]):
            found.append((at, at, *priced))
        elif is_price(text):
            above = texts[at - 1] if at and (not found or found[-1][1] < at - 1) else ""
            if above and len(above.split()) <= _NAME_WORDS and above[-1] not in ".!:":
                found.append((at - 1, at, above, text))
            elif heading and not found:
                found.append((at, at, heading, text))
    described = len(found) == 1 or any(one[1] + 1 < after[0] for one, after in pairwise(found))
    for nth, (_, last, name, price) in enumerate(found):
        # Behind the last one may stand a remark about all of them.
        is_last = nth + 1 == len(found)
        most = ASKING[0] if not is_last else HEADING[0] if described else 0
        following = texts[last + 1 : last + 2 if is_last else found[nth + 1][0]][:_MORE_LINES]
        more = [text.rstrip(".") for text in following if len(text) <= most and "|" not in text]
        yield Price(rows[last][0], name, ". ".join([price, *more]), "" if name == heading else heading)
