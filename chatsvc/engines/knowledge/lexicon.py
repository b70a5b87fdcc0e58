"""The vocabulary of small businesses and their customers: words of both languages that mean the same thing.

The data is the files in `vocabulary/` beside this one, a concept a line:

    hours: saat kac*a acik | open* opening_hours

A name, then the words of all languages, folded. `*` takes any ending, `_` joins an expression of several words (whose parts
may stand in inflected form), `|` only parts the languages for the reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from chatsvc.engines.knowledge.spelling import Speller
from chatsvc.engines.knowledge.text import fold, stem

_SHORTEST_BEGINNING = 3


@dataclass(frozen=True, slots=True)
class Match:
    """A concept found in `words[start:stop]`."""

    concept: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class _Lexicon:
    words: dict[str, tuple[str, ...]]  # a word or a stem -> its concepts
    beginnings: dict[str, tuple[str, ...]]
    expressions: dict[str, tuple[tuple[tuple[str, ...], str], ...]]  # first stem -> (what follows, as stems or beginnings*; concept)


def find(words: Sequence[str]) -> list[Match]:
    """The concepts of folded words, in the order in which they stand; a word may stand for several."""
    lexicon = _load()
    found: list[Match] = []
    stems = [stem(word) for word in words]
    for at, word in enumerate(words):
        for parts, concept in lexicon.expressions.get(stems[at], ()):
            stop = at + 1 + len(parts)
            if stop <= len(words) and all(map(_fits, parts, words[at + 1 : stop], stems[at + 1 : stop])):
                found.append(Match(concept, at, stop))
        found.extend(Match(concept, at, at + 1) for concept in of_word(word))
    return found


def _fits(part: str, word: str, its_stem: str) -> bool:
    return word.startswith(part[:-1]) if part.endswith("*") else its_stem == part


@lru_cache(maxsize=20_000)
def of_word(word: str) -> tuple[str, ...]:
    """The concepts of one folded word."""
    lexicon = _load()
    concepts = list(lexicon.words.get(word, ())) or list(lexicon.words.get(stem(word), ()))
    for length in range(_SHORTEST_BEGINNING, len(word) + 1):
        concepts.extend(lexicon.beginnings.get(word[:length], ()))
    return tuple(dict.fromkeys(concepts))


@lru_cache(maxsize=1)
def speller() -> Speller:
    """The lexicon's words, for what visitors mistype."""
    lexicon = _load()
    return Speller([*lexicon.words, *lexicon.beginnings])


def names() -> tuple[str, ...]:
    """The concepts, in the data's order."""
    return tuple(name for name, _ in _lines())


def _lines() -> list[tuple[str, list[str]]]:
    files = sorted(resources.files(__package__).joinpath("vocabulary").iterdir(), key=lambda file: file.name)
    lines: list[tuple[str, list[str]]] = []
    for line in (line for file in files for line in file.read_text(encoding="utf-8").splitlines()):
        if line.strip() and not line.startswith("#"):
            name, _, members = line.partition(":")
            lines.append((name.strip(), fold(members.replace("|", " ")).split()))
    return lines


@lru_cache(maxsize=1)
def _load() -> _Lexicon:
    words: dict[str, list[str]] = {}
    beginnings: dict[str, list[str]] = {}
    expressions: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for name, members in _lines():
        for member in members:
            if "_" in member:
                first, *rest = (part if part.endswith("*") else stem(part) for part in member.split("_"))
                expressions.setdefault(first, []).append((tuple(rest), name))
            elif member.endswith("*"):
                beginnings.setdefault(member[:-1], []).append(name)
            else:
                for key in dict.fromkeys((member, stem(member))):
                    words.setdefault(key, []).append(name)
    return _Lexicon(
        {key: tuple(value) for key, value in words.items()},
        {key: tuple(value) for key, value in beginnings.items()},
        {key: tuple(value) for key, value in expressions.items()},
    )
