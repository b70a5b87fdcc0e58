"""Lexicon of concepts: words and expressions of both languages that mean the same to small businesses and their customers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from chatsvc.engines.knowledge.search.tokens import STOPWORDS, Speller, stem
from chatsvc.language.folding import words
from chatsvc.language.wordlists import LanguageWords

OWN = "own:"  # begins the concepts of a bot's own synonyms
_SHORTEST_BEGINNING = 3
_EXPRESSION = "_"
_MOST_WORDS = 8_192  # whose concepts are cached


class Match(NamedTuple):
    """A concept found in `words[start:stop]`."""

    concept: str
    start: int
    stop: int


class Lexicon:
    """Index of concepts by words. The concepts of `base`, another lexicon, are returned first."""

    def __init__(self, concepts: Iterable[tuple[str, Iterable[str]]], base: Lexicon | None = None) -> None:
        self._base = base
        self._words: dict[str, list[str]] = {}  # a word or a stem -> its concepts
        self._beginnings: dict[str, list[str]] = {}
        # expressions by their first two stems, or by their first stem if any ending may follow: (what follows, concept)
        self._expressions: dict[tuple[str, str], list[tuple[tuple[str, ...], str]]] = {}
        self._open: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        self.of_word = lru_cache(maxsize=_MOST_WORDS)(self._of_word)
        for name, members in concepts:
            for member in members:
                self._add(name, member)

    def _add(self, name: str, member: str) -> None:
        if _EXPRESSION in member:
            first, second, *rest = (part if part.endswith("*") else stem(part) for part in member.split(_EXPRESSION) if part)
            if second.endswith("*"):
                self._open.setdefault(first, []).append(((second, *rest), name))
            else:
                self._expressions.setdefault((first, second), []).append(((second, *rest), name))
        elif member.endswith("*"):
            self._beginnings.setdefault(member[:-1], []).append(name)
        else:
            for key in dict.fromkeys((member, stem(member))):
                self._words.setdefault(key, []).append(name)

    def expressions(self, words: Sequence[str]) -> list[Match]:
        """Return the concepts of all expressions of several words that occur in a list of folded words."""
        matches = self._base.expressions(words) if self._base else []
        stems = list(map(stem, words))
        for start, two in enumerate(pairwise(stems)):
            for parts, concept in (*self._expressions.get(two, ()), *self._open.get(two[0], ())):
                stop = start + 1 + len(parts)
                behind = zip(parts, words[start + 1 : stop], stems[start + 1 : stop], strict=False)
                if stop <= len(words) and all(
                    word.startswith(part[:-1]) if part[-1] == "*" else root == part for part, word, root in behind
                ):
                    matches.append(Match(concept, start, stop))
        return matches

    def _of_word(self, word: str) -> tuple[str, ...]:
        """Return the concepts of a folded word, of its stem and of its beginnings. For a stop word, leave out its stem and beginnings."""
        concepts = [*(self._base.of_word(word) if self._base else ()), *self._words.get(word, ())]
        if word not in STOPWORDS:
            concepts += self._words.get(stem(word), ())
            for length in range(_SHORTEST_BEGINNING, len(word) + 1):
                concepts += self._beginnings.get(word[:length], ())
        return tuple(dict.fromkeys(concepts))

    def forms(self) -> list[str]:
        return [*self._words, *self._beginnings]


@lru_cache(maxsize=1)
def shared() -> Lexicon:
    return Lexicon((name, value.split()) for name, value in LanguageWords("concepts.txt").entries)


@lru_cache(maxsize=1)
def speller() -> Speller:
    return Speller(shared().forms())


def extended(synonyms: Sequence[Sequence[str]]) -> Lexicon:
    """Return the shared lexicon, extended by groups of synonyms (words or expressions)."""
    groups = [[_EXPRESSION.join(words(member)) for member in group] for group in synonyms]
    if not any(groups):
        return shared()
    return Lexicon(((f"{OWN}{number}", filter(None, group)) for number, group in enumerate(groups, start=1)), shared())
