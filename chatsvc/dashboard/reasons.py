"""Reasons for which a search found an entry, in words of the page's language.

The search gives them as lines: `word = word`, `word ~ word`, `word -> word (concept)`, `word (answer)`, `(about: topics)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from chatsvc.dashboard import catalogue

_FORMS = (
    ("same", re.compile(r"\A(?P<said>.+?) = .+")),
    ("alike", re.compile(r"\A(?P<said>.+?) ~ (?P<found>.+)")),
    ("means", re.compile(r"\A(?P<said>(?:(?! -> ).)+) -> (?P<found>(?:(?! \().)+) \(.*\)")),
    ("in_answer", re.compile(r"\A(?P<said>.+?) \(answer\)")),
    ("topic", re.compile(r"\A\(about: .+\)")),
)


def sentence(language: str, lines: Iterable[str]) -> str:
    """Word the reasons of one hit, with commas between them."""
    return ", ".join(_worded(language, line) for line in lines)


def _worded(language: str, line: str) -> str:
    for name, form in _FORMS:
        if match := form.fullmatch(line):
            return catalogue.text(language, f"reasons.{name}", **match.groupdict())
    return line
