"""Index that finds the candidates for a text among the entries: built once in memory, deterministic.

An entry is scored by its stems, beginnings of words, concepts of the lexicon and topics, weighted by frequency in the entry and rarity
in the index. The words of the answer count a little. `rank` collects the candidates from the postings; `answering` judges them.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from sys import intern
from typing import NamedTuple

from chatsvc.domain.language import primary
from chatsvc.domain.models import Entry
from chatsvc.engines.knowledge.search import lexicon
from chatsvc.engines.knowledge.search.corpus import Corpus
from chatsvc.engines.knowledge.search.explanation import why
from chatsvc.engines.knowledge.search.query import Query, query_of
from chatsvc.engines.knowledge.search.spelling import Speller
from chatsvc.language.folding import words
from chatsvc.language.language_detection import guess

_CANDIDATES = 10
_TOPICS, _FEW = 1.3, 10  # weight of topic similarity, divided by the logarithm of the number of entries, of this many at least
_TIES = 1_000  # entries of equal score that are compared
_GIVEN, _GUESSED, _DEFAULT = 0.2, 0.5, 0.7  # factor of an entry in another language than the given, guessed or default one
_ENDS = 350  # characters of either end of a long message that are read
_WORDS = 90  # of them that are read


class RankedEntry(NamedTuple):
    """A candidate. `entry` is its number in the index."""

    entry: int
    foreign: float  # factor for the entry's language
    likeness: float  # topic similarity
    score: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates for a text, best first."""

    language: str
    query: Query
    entries: list[RankedEntry]


class EntryIndex:
    """The entries by their words and topics."""

    def __init__(self, entries: Sequence[Entry], default_language: str = "tr", synonyms: Sequence[Sequence[str]] = ()) -> None:
        """Build the index. About 0.05 ms a phrasing, so build a large one in a thread.

        `synonyms` are groups of words or expressions that mean the same to this bot; they count like concepts of the lexicon.
        """
        self._entries = tuple(entries)
        self._default = default_language
        self._languages = tuple(intern(primary(entry.language)) for entry in self._entries)
        self._spoken = frozenset(self._languages)
        self._lexicon = lexicon.extended(synonyms)
        lexicon.speller()  # built once a process, here rather than in the first search on the event loop
        self._corpus = Corpus(self._entries, self._lexicon)
        own = [] if self._lexicon is lexicon.shared() else self._lexicon.forms()
        self._speller = Speller([*self._corpus.of_word, *own])

    @property
    def entries(self) -> Sequence[Entry]:
        """The entries, as given."""
        return self._entries

    @property
    def lexicon(self) -> lexicon.Lexicon:
        """The lexicon, with the synonyms of the bot."""
        return self._lexicon

    @property
    def languages(self) -> AbstractSet[str]:
        """Primary tags of the entries' languages."""
        return self._spoken

    def number_of(self, identity: str) -> int | None:
        """Return the number of an entry by its id. None for an unknown one."""
        return self._numbers.get(identity)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {entry.id: number for number, entry in enumerate(self._entries)}

    @property
    def default_language(self) -> str:
        """The bot's language."""
        return self._default

    def rank(self, text: str, language: str | None = None, *, spoken: str | None = None) -> Ranking:
        """Return the candidates of a text, best first; ties in the order of the entries.

        `language` is the one that the caller chose, `spoken` that of the dialogue.
        """
        wanted, others = self._wanted(text, language, spoken)
        query = self.query(text)
        scores = self._corpus.postings.accumulate(query.weights.items())
        share = _TOPICS / math.log(max(_FEW, self._corpus.size))
        alike = self._corpus.topics.like(query.topics)
        for entry, likeness in alike.items():
            scores[entry] = scores.get(entry, 0.0) + share * likeness
        # only the best are checked for their language, since checking thousands is slower than finding them
        cut = heapq.nlargest(2 * _CANDIDATES, scores.values())[-1] if scores else 0.0
        factors = {
            entry: others if wanted in self._spoken and self._languages[entry] != wanted else 1.0
            for entry in [entry for entry, score in scores.items() if score >= cut][:_TIES]
        }
        found = [RankedEntry(entry, factor, alike.get(entry, 0.0), factor * scores[entry]) for entry, factor in factors.items()]
        return Ranking(wanted, query, heapq.nsmallest(_CANDIDATES, found, key=lambda one: (-one.score, one.entry)))

    def query(self, text: str) -> Query:
        """Return the query of a text."""
        return query_of(_said(text), self._corpus, self._speller)

    def reasons(self, ranking: Ranking, number: int) -> tuple[str, ...]:
        """Return the matched words of a candidate; see `explanation.why`."""
        return why(ranking.query, self._corpus, number, self._entries[number])

    def _wanted(self, text: str, given: str | None, spoken: str | None) -> tuple[str, float]:
        """Return the language to answer in, and the factor of entries in another one."""
        if given:
            return primary(given), _GIVEN
        guessed = spoken or guess(text)
        if guessed:
            return guessed, _GUESSED
        return primary(self._default), _DEFAULT


def _said(text: str) -> list[str]:
    """Return the words of a text that are read."""
    return words(text if len(text) <= 2 * _ENDS else f"{text[:_ENDS]} {text[-_ENDS:]}")[:_WORDS]
