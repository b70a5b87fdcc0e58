"""Catalogue of the bot's sentences: each is said somewhere, and the languages agree."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from chatsvc.language import catalogue

SOURCE = Path(catalogue.__file__).parents[1]
VARIANTS = (".familiar", ".again")  # said by themselves where their key is
BRACES = re.compile(r"\{\w+\}")
KEYS = catalogue.names()


@cache
def literals() -> tuple[frozenset[str], tuple[re.Pattern[str], ...]]:
    """Return the strings of the code, and a pattern for each key with a part that varies."""
    whole, patterns = set(), set()
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                whole.add(node.value)
            elif isinstance(node, ast.JoinedStr):
                parts = [re.escape(str(piece.value)) if isinstance(piece, ast.Constant) else r"[\w.]+" for piece in node.values]
                if re.fullmatch(r"(?:[\w.\\]|\[\\w\.\]\+)*", "".join(parts)) and any(
                    re.search("[a-z]{2}", part) for part in parts if part[0] != "["
                ):
                    patterns.add("".join(parts))
    return frozenset(whole), tuple(map(re.compile, patterns))


def plain(key: str) -> str:
    """Return a key without the endings of its variants."""
    for ending in VARIANTS * 2:
        key = key.removesuffix(ending)
    return key


def test_every_sentence_is_said_somewhere() -> None:
    whole, patterns = literals()
    left = [key for key in KEYS if plain(key) not in whole]
    assert [key for key in left if not any(pattern.fullmatch(plain(key)) for pattern in patterns)] == []


def test_a_sentence_stands_in_each_language_with_the_same_placeholders() -> None:
    for key in (key for key in KEYS if not key.endswith(".familiar")):
        sentences = catalogue.sentences(key)
        assert set(sentences) == set(catalogue.languages()), key
        assert len({frozenset(BRACES.findall(sentence)) for sentence in sentences.values()}) == 1, key


@pytest.mark.parametrize("language", catalogue.languages())
def test_a_familiar_sentence_stands_beside_a_formal_one_with_the_same_placeholders(language: str) -> None:
    lines = (catalogue.FOLDER / language / "messages.txt").read_text(encoding="utf-8").splitlines()
    sentences = dict(line.split(":", 1) for line in lines if ":" in line and line[0] != "#")
    for key in (name for name in sentences if name.endswith(".familiar")):
        formal = sentences[key.removesuffix(".familiar")]
        assert set(BRACES.findall(sentences[key])) == set(BRACES.findall(formal)), key


def test_a_key_that_nothing_says_is_found() -> None:
    _, patterns = literals()
    assert not any(pattern.fullmatch("nothing.at_all") for pattern in patterns)
