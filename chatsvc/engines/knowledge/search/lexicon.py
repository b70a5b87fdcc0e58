"""Lexicon of concepts. Words of both languages that mean the same to small businesses and their customers.

The data are the files in `vocabulary/`, a concept a line, in the format of `wordlists`:

    hours: saat kac*a acik | open* opening_hours

`*` stands for any ending, `_` joins the words of an expression (whose parts may be inflected), `|` separates the languages for
the reader only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from chatsvc.engines.knowledge.search.spelling import Speller
from chatsvc.engines.knowledge.search.stemming import stem
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS
from chatsvc.language.folding import fold, words
from chatsvc.language.wordlists import WordFile

_SHORTEST_BEGINNING = 3
OWN = "own:"  # begins the concepts of a bot's own synonyms
_EXPRESSION = "_"
_MOST_WORDS, _MOST_TEXTS = 8_192, 512  # whose concepts and expressions are cached


@dataclass(frozen=True, slots=True)
class Match:
    """A concept found in `words[start:stop]`."""

    concept: str
    start: int
    stop: int


class Lexicon:
    """Index of concepts by words; the concepts of `base`, another lexicon, are found first."""

    def __init__(self, concepts: Iterable[tuple[str, Sequence[str]]], base: Lexicon | None = None) -> None:
        self._base = base
        self._words: dict[str, list[str]] = {}  # a word or a stem -> its concepts
        self._beginnings: dict[str, list[str]] = {}
        # expressions by their first two stems, or by their first stem where any ending may follow: (what follows, concept)
        self._expressions: dict[tuple[str, str], list[tuple[tuple[str, ...], str]]] = {}
        self._open: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        self._of_word: dict[str, tuple[str, ...]] = {}  # caches of the look-ups, which a turn repeats
        self._found: dict[tuple[str, ...], tuple[Match, ...]] = {}
        self.names: list[str] = []
        for name, members in concepts:
            self.names.append(name)
            for member in members:
                self._add(name, member)

    def _add(self, name: str, member: str) -> None:
        if _EXPRESSION in member:
            first, second, *rest = (part if part.endswith("*") else stem(part) for part in member.split(_EXPRESSION))
            if second.endswith("*"):
                self._open.setdefault(first, []).append(((second, *rest), name))
            else:
                self._expressions.setdefault((first, second), []).append(((second, *rest), name))
        elif member.endswith("*"):
            self._beginnings.setdefault(member[:-1], []).append(name)
        else:
            for key in dict.fromkeys((member, stem(member))):
                self._words.setdefault(key, []).append(name)

    def find(self, words: Sequence[str]) -> list[Match]:
        """Return the concepts of folded words in their order; a word may have several."""
        found = self.expressions(words)
        found.extend(Match(concept, at, at + 1) for at, word in enumerate(words) for concept in self.of_word(word))
        return sorted(found, key=lambda match: match.start)

    def expressions(self, words: Sequence[str]) -> list[Match]:
        """Return the concepts of expressions of several words."""
        said = tuple(words)
        found = self._found.get(said)
        if found is None:
            if len(self._found) >= _MOST_TEXTS:
                self._found.clear()
            found = self._found[said] = tuple(self._expressions_of(said))
        return list(found)

    def _expressions_of(self, words: Sequence[str]) -> list[Match]:
        found = self._base.expressions(words) if self._base else []
        stems = [stem(word) for word in words]
        for at, two in enumerate(pairwise(stems)):
            for parts, concept in (*self._expressions.get(two, ()), *self._open.get(two[0], ())):
                stop = at + 1 + len(parts)
                if stop <= len(words) and all(map(_fits, parts, words[at + 1 : stop], stems[at + 1 : stop])):
                    found.append(Match(concept, at, stop))
        return found

    def of_word(self, word: str) -> tuple[str, ...]:
        """Return the concepts of one folded word."""
        known = self._of_word.get(word)
        if known is None:
            concepts = list(self._base.of_word(word)) if self._base else []
            concepts.extend(self._own_of(word))
            if len(self._of_word) >= _MOST_WORDS:
                self._of_word.clear()
            known = self._of_word[word] = tuple(dict.fromkeys(concepts))
        return known

    def _own_of(self, word: str) -> list[str]:
        """Look up a word, its stem and its beginnings. Stop words such as "should" and "olur" have no endings."""
        if word in STOPWORDS:
            return self._words.get(word, [])
        concepts = [*self._words.get(word, ()), *self._words.get(stem(word), ())]
        for length in range(_SHORTEST_BEGINNING, len(word) + 1):
            concepts.extend(self._beginnings.get(word[:length], ()))
        return concepts

    def forms(self) -> list[str]:
        """Return the single words, for the correction of spelling."""
        return [*self._words, *self._beginnings]


def _fits(part: str, word: str, its_stem: str) -> bool:
    return word.startswith(part[:-1]) if part.endswith("*") else its_stem == part


def extended(synonyms: Sequence[Sequence[str]]) -> Lexicon:
    """Return the shared lexicon, extended by groups of synonyms (words or expressions)."""
    groups = [[_EXPRESSION.join(words(member)) for member in group] for group in synonyms]
    if not any(groups):
        return shared()
    return Lexicon(((f"{OWN}{number}", [member for member in group if member]) for number, group in enumerate(groups, start=1)), shared())


@lru_cache(maxsize=1)
def shared() -> Lexicon:
    """Return the lexicon of the files."""
    return Lexicon(_lines())


@lru_cache(maxsize=1)
def speller() -> Speller:
    """Return a speller of the shared lexicon's words."""
    return Speller(shared().forms())


def find(words: Sequence[str]) -> list[Match]:
    """Call `Lexicon.find` of the shared lexicon."""
    return shared().find(words)


def of_word(word: str) -> tuple[str, ...]:
    """Call `Lexicon.of_word` of the shared lexicon."""
    return shared().of_word(word)


def names() -> tuple[str, ...]:
    """Return the names of the concepts in the order of the files."""
    return tuple(shared().names)


def _lines() -> list[tuple[str, list[str]]]:
    concepts: dict[str, dict[str, None]] = {}  # several files may add words to one concept
    for path in sorted((Path(__file__).parent / "vocabulary").glob("*.txt")):
        for name, members in WordFile(f"engines/knowledge/search/vocabulary/{path.name}").entries:
            words = fold(members.replace("|", " ").replace("-", _EXPRESSION)).split()
            concepts.setdefault(name, {}).update(dict.fromkeys(words))
    return [(name, list(members)) for name, members in concepts.items()]
