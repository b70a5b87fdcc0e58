"""Time of every regular expression of the package. Most run on the event loop, on text of strangers."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

import pytest

import chatsvc
from tests.speed import within

LETTERS = 20_000
LONGEST_S = 0.05
DEPTH = 4  # containers within containers
REPEATED = (
    "a", "1", " ", "ab", "a ", "a1", "1 ", ".", "a.", "a@", "-", "a-", "'", "\n", "(", "1.", "1:", "ı", "A", '"', "<",
    "{", "[", "_", "/", "x/", "&", "#", "|", "\t ", "\n ", "a,", "1,", "**", "`", "é",
)  # fmt: skip
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_LITERAL = re.compile(r"[^\W\d_]{1,50}|\d{1,50}")
_MOST_LITERALS = 12


def parts(value: object) -> list[object]:
    """Return what a container, or a class or an object of the package, holds."""
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)[:5_000]
    of_the_package = value.__module__ if isinstance(value, type) else type(value).__module__
    return list(vars(value).values()) if of_the_package.startswith("chatsvc.") and hasattr(value, "__dict__") else []


def patterns() -> dict[str, re.Pattern[Any]]:
    """Return all compiled patterns of the package by module and name."""
    collected: dict[tuple[str | bytes, int], tuple[str, re.Pattern[Any]]] = {}

    def collect(name: str, value: object, depth: int = 0) -> None:
        if isinstance(value, re.Pattern):
            collected.setdefault((value.pattern, value.flags), (f"{name} {len(collected)}", value))
        elif depth < DEPTH:
            for part in parts(value):
                collect(name, part, depth + 1)

    for module in pkgutil.walk_packages(chatsvc.__path__, "chatsvc."):
        if not module.name.endswith("__main__"):
            for name, value in list(vars(importlib.import_module(module.name)).items()):
                collect(f"{module.name}.{name}", value)
    return dict(collected.values())


PATTERNS = patterns()


def texts(pattern: re.Pattern[Any]) -> Iterator[str | bytes]:
    """Yield long texts of one letter, of alternating ones and of the literals of `pattern`."""
    source = pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
    literals = list(dict.fromkeys(_LITERAL.findall(_ESCAPE.sub(" ", source))))[:_MOST_LITERALS]
    own = chain.from_iterable((literal, f"{literal} ", f"{literal}1", f"1{literal}") for literal in literals)
    for repeated in (*REPEATED, *own, " ".join(literals) + " "):
        text = (repeated * (LETTERS // len(repeated) + 1))[: LETTERS - 2] + "!\0"
        yield text.encode() if isinstance(pattern.pattern, bytes) else text


def test_the_patterns_are_found() -> None:
    assert len(PATTERNS) > 100


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_searches_a_long_text_at_once(name: str) -> None:
    pattern = PATTERNS[name]
    for text in texts(pattern):
        assert within(LONGEST_S, partial(pattern.search, text)), text[:20]
