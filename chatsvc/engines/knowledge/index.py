"""A bot's knowledge, ready to be searched: built once from its entries, in memory, the same answer every time.

An entry is found by all of its phrasings together (stems, beginnings and neighbours of words, concepts of the lexicon; those that
many of its phrasings share weigh more, those that many entries share weigh less) and by the single phrasing that is most like the
question. What the answer says counts a little. `search` first collects candidates by the postings, then looks at them closely.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import repeat

from chatsvc.domain.language import primary
from chatsvc.domain.models import Entry
from chatsvc.engines import Finding, Hit
from chatsvc.engines.knowledge import confidence, detection, features, lexicon
from chatsvc.engines.knowledge.corpus import EDGE, Corpus, Pair, pairs
from chatsvc.engines.knowledge.spelling import Speller
from chatsvc.engines.knowledge.stopwords import STOPWORDS
from chatsvc.engines.knowledge.text import trigrams, words

_CANDIDATES = 30
_WHOLE = 0.85  # share of the entry as a whole in its score; the rest is its best phrasing
_TIES = 1_000  # entries of the same score that are compared at all
_PHRASINGS = 64  # of one entry looked at closely; all of them count in the entry as a whole
_CLOSELY = 400  # phrasings looked at closely in one search
_GIVEN, _GUESSED, _DEFAULT = 0.3, 0.5, 0.7  # what is left of the score of an entry in another language
_ASKED = 60  # words looked at from either end of a long message: there the question stands
_NOUGHT = repeat(0.0)
_NEAR = 0.7  # what a word counts that was read as another one
_SAME = 0.9  # likeness in letter triples from which a question is the phrasing itself
_NO_GROUND = confidence.ASK / 2  # as sure as a search may be that knows no word of the question
_MAX_SPELLED = 6  # unknown words looked up a search


@dataclass(slots=True)
class _Query:
    """A question in the corpus's numbers."""

    weights: dict[int, float] = field(default_factory=dict)  # feature -> weight, of length 1 with the pairs and what is unknown
    pairs: dict[Pair, float] = field(default_factory=dict)
    informative: list[tuple[float, tuple[int, ...]]] = field(default_factory=list)  # (weight, features that explain it)


@dataclass(frozen=True, slots=True)
class _Candidate:
    entry: int
    best: int  # the phrasing's number
    foreign: float  # what is left of the score for the entry's language
    score: float


class KnowledgeIndex:
    """Fulfils `engines.Knowledge`."""

    def __init__(self, entries: Sequence[Entry], default_language: str = "tr", synonyms: Sequence[Sequence[str]] = ()) -> None:
        """Build from any number of entries; about 0.05 ms a phrasing, so a big one belongs in a thread.

        `synonyms` are groups of words (or `several words`) that mean the same to this bot; they count like concepts of the lexicon.
        """
        self._entries = tuple(entries)
        self._default = default_language
        self._languages = tuple(primary(entry.language) for entry in self._entries)
        self._spoken = frozenset(self._languages)
        self._lexicon = lexicon.extended(synonyms)
        lexicon.speller()  # read and built once a process, here rather than in the first search on the event loop
        self._corpus = Corpus(self._entries, self._lexicon)
        own = [] if self._lexicon is lexicon.shared() else self._lexicon.forms()
        self._speller = Speller([*self._corpus.terms.words, *own])

    @property
    def entries(self) -> Sequence[Entry]:
        """The entries, as given."""
        return self._entries

    def search(self, text: str, language: str | None = None, limit: int = 5) -> Finding:
        """What the knowledge has on `text`, at most `limit` entries; never raises, whatever the text."""
        wanted, others = self._wanted(text, language)
        asked = words(text)
        if len(asked) > 2 * _ASKED:
            asked = asked[:_ASKED] + asked[-_ASKED:]
        query = self._query(asked)
        ranked = self._rank(query, wanted, others)
        if not ranked:
            return Finding(wanted, "abstain", 0.0, ())
        signs = self._signs(asked, query, ranked)
        sure = confidence.of(signs)
        if not signs.coverage and signs.letters < _SAME:
            # Not one word that says something is known: what is left are words like "where are you", which stand in any question.
            sure = min(sure, _NO_GROUND)
        hits = tuple(Hit(self._entries[found.entry], round(min(1.0, found.score), 4)) for found in ranked[: max(0, limit)])
        return Finding(wanted, confidence.decision(sure), round(sure, 4), hits)

    def _wanted(self, text: str, given: str | None) -> tuple[str, float]:
        """The language to answer in, and what an entry in another one is worth."""
        if given:
            return primary(given), _GIVEN
        guessed = detection.guess(text)
        if guessed:
            return guessed, _GUESSED
        return primary(self._default), _DEFAULT

    def _query(self, asked: Sequence[str]) -> _Query:
        query = _Query()
        corpus, terms = self._corpus, self._corpus.terms
        unknown = 0.0  # square of the weights of what the index has never seen
        rarest = corpus.rarity(0)
        stems: list[int] = []
        for word, (read, certainty) in self._read(asked).items():
            explained: list[int] = []
            ((stem, weight),) = features.of_word(read)
            for feature in (stem, features.root_of(read)[0], *("c" + name for name in self._lexicon.of_word(read))):
                number = terms.known(feature)
                if number is not None:
                    query.weights[number] = max(query.weights.get(number, 0.0), certainty * corpus.gains[number])
                    explained.append(number)
                elif feature == stem:
                    unknown += (weight * rarest) ** 2
            if word not in STOPWORDS:
                informs = max((corpus.gains[number] for number in explained), default=rarest)
                query.informative.append((informs, tuple(explained)))
        for match in self._lexicon.expressions(asked):
            number = terms.known("c" + match.concept)
            if number is not None:
                query.weights.setdefault(number, corpus.gains[number])
        stems = [terms.known(features.of_word(word)[0][0]) for word in asked]
        for pair in pairs([-1 if stem is None else stem for stem in stems]):
            if -1 not in pair and corpus.holders_of_pair(pair):
                query.pairs[pair] = corpus.pair_gain(pair)
        squares = sum(weight * weight for weight in (*query.weights.values(), *query.pairs.values()))
        length = math.sqrt(unknown + squares) or 1.0
        query.weights = {number: weight / length for number, weight in query.weights.items()}
        query.pairs = {pair: weight / length for pair, weight in query.pairs.items()}
        return query

    def _read(self, asked: Sequence[str]) -> dict[str, tuple[str, float]]:
        """Word -> the known word it is read as, and what it then counts; slips of the pen are few, and so is what is looked up."""
        readings: dict[str, tuple[str, float]] = {}
        left = _MAX_SPELLED
        for word in dict.fromkeys(asked):
            readings[word] = (word, 1.0)
            if left and not self._knows(word):
                left -= 1
                near = self._speller.nearest(word) or lexicon.speller().nearest(word)
                if near:
                    readings[word] = (near, _NEAR)
        return readings

    def _knows(self, word: str) -> bool:
        terms = self._corpus.terms
        if word in STOPWORDS or word in terms.words or terms.known(features.of_word(word)[0][0]) is not None:
            return True
        return any(terms.known("c" + name) is not None for name in self._lexicon.of_word(word))

    def _rank(self, query: _Query, wanted: str, others: float) -> list[_Candidate]:
        """The candidates, best first; entries of the same score in the order in which they were given."""
        if wanted not in self._spoken:
            others = 1.0
        scores = self._corpus.postings.accumulate(query.weights.items())
        if not scores:
            return []
        # the language is looked at only for the best: asking it of thousands would take longer than finding them
        cut = heapq.nlargest(2 * _CANDIDATES, scores.values())[-1]
        best = [entry for entry, score in scores.items() if score >= cut][:_TIES]
        foreign = {entry: 1.0 if self._languages[entry] == wanted else others for entry in best}
        first = sorted(best, key=lambda entry: (-scores[entry] * foreign[entry], entry))[:_CANDIDATES]
        gains = self._corpus.gains
        products = {number: weight * gains[number] for number, weight in query.weights.items()}
        neighbours = {pair: weight * self._corpus.pair_gain(pair) for pair, weight in query.pairs.items()}
        found = []
        left = _CLOSELY
        for entry in first:
            looked_at = min(self._corpus.first[entry + 1] - self._corpus.first[entry], _PHRASINGS)
            left -= looked_at
            if left < 0 and found:
                break
            likeness, phrasing, together = self._closely(products, neighbours, entry, looked_at)
            score = foreign[entry] * (_WHOLE * (scores[entry] + together) + (1 - _WHOLE) * likeness)
            found.append(_Candidate(entry, phrasing, foreign[entry], score))
        return sorted(found, key=lambda candidate: (-candidate.score, candidate.entry))

    def _closely(self, products: dict[int, float], neighbours: dict[Pair, float], entry: int, count: int) -> tuple[float, int, float]:
        """Likeness and number of the entry's best phrasing, and what the pairs add to the entry as a whole."""
        corpus = self._corpus
        best, number = -1.0, corpus.first[entry]
        shared: dict[Pair, int] = {}
        for phrasing in range(number, number + count):
            held, its_pairs = corpus.phrasing(phrasing)
            total = sum(map(products.get, held, _NOUGHT))
            for pair in its_pairs & neighbours.keys():
                total += neighbours[pair]
                shared[pair] = shared.get(pair, 0) + 1
            total /= corpus.lengths[phrasing]
            if total > best:
                best, number = total, phrasing
        return best, number, corpus.units[entry] * sum(neighbours[pair] * math.log(1 + count) for pair, count in sorted(shared.items()))

    def _signs(self, asked: Sequence[str], query: _Query, ranked: Sequence[_Candidate]) -> confidence.Signs:
        first = ranked[0]
        # the same entry in another language is no rival
        rivals = [found.score for found in ranked if self._languages[found.entry] == self._languages[first.entry]]
        second = rivals[1] if len(rivals) > 1 else 0.0
        start, stop = self._corpus.first[first.entry], self._corpus.first[first.entry + 1]
        held = set[int]().union(*(self._corpus.phrasing(number)[0] for number in range(start, min(stop, start + 256))))
        weight = sum(one for one, _ in query.informative)
        covered = sum(one for one, numbers in query.informative if not held.isdisjoint(numbers))
        entry = self._entries[first.entry]
        texts = (entry.question, *entry.alt)[:_PHRASINGS]
        letters = _letters(asked)
        closest = _letters(words(texts[first.best - start]))
        anywhere = _letters([word for text in texts for word in words(text)])
        return confidence.Signs(
            score=first.score / first.foreign,
            coverage=covered / weight if weight else 0.0,
            margin=(first.score - second) / first.score if first.score > 0 else 0.0,
            share=first.score**2 / (sum(score**2 for score in rivals) or 1.0),
            letters=len(letters & closest) / (math.sqrt(len(letters) * len(closest)) or 1.0),
            spelled=len(letters & anywhere) / (len(letters) or 1),
            length=min(1.0, len(asked) / 12),
            entries=min(1.5, math.log(len(self._entries)) / 7),
            phrasings=min(1.5, math.log(stop - start) / 3),
        )


def _letters(said: Sequence[str]) -> set[str]:
    """The letter triples of all words."""
    return {gram for word in said for gram in trigrams(word)}
