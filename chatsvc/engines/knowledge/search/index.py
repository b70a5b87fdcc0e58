"""A bot's knowledge, ready to be searched: built once from its entries, in memory, the same answer every time.

An entry is found by all of its phrasings together (stems, beginnings and neighbours of words, concepts of the lexicon; those that
many of its phrasings share weigh more, those that many entries share weigh less) and by the single phrasing that is most like the
question. What the answer says counts a little. `search` first collects candidates by the postings, then looks at them closely.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from sys import intern

from chatsvc.domain.entries import PackedEntries
from chatsvc.domain.language import primary
from chatsvc.domain.models import Entry
from chatsvc.engines import Finding, Hit, background
from chatsvc.engines.knowledge.search import confidence, lexicon, signals
from chatsvc.engines.knowledge.search.corpus import PHRASINGS, Corpus, Pair
from chatsvc.engines.knowledge.search.explanation import why
from chatsvc.engines.knowledge.search.query import Query, query_of
from chatsvc.engines.knowledge.search.spelling import Speller
from chatsvc.engines.reading.folding import words
from chatsvc.engines.reading.language_detection import guess

_CANDIDATES = 16
_WHOLE = 0.85  # share of the entry as a whole in its score; the rest is its best phrasing
_TOPICS, _FEW = 1.3, 10  # what being about the same counts beside the words: less the more entries there are, but not below so few
_TIES = 1_000  # entries of the same score that are compared at all
_CLOSELY = 250  # phrasings looked at closely in one search
_GIVEN, _GUESSED, _DEFAULT = 0.2, 0.5, 0.7  # what is left of the score of an entry in another language
_ENDS = 350  # characters looked at from either end of a long message: there the question stands
_WORDS = 90  # of them looked at
_MANY = 3_000  # entries that are better left packed than ready to be looked at
_NOUGHT = repeat(0.0)
_ITSELF = 0.999  # likeness of a question that is one of the entry's phrasings, which its author knew to be answered by it
_SAME = 0.9  # likeness in letter triples from which a question is the phrasing itself
_NO_GROUND = confidence.ASK / 2  # as sure as a search may be that knows no word of the question


@dataclass(frozen=True, slots=True)
class _Candidate:
    entry: int
    best: int  # the phrasing's number
    foreign: float  # what is left of the score for the entry's language
    likeness: float  # how much it is about what the question is about
    score: float


class KnowledgeIndex:
    """Fulfils `engines.Knowledge`."""

    def __init__(self, entries: Sequence[Entry], default_language: str = "tr", synonyms: Sequence[Sequence[str]] = ()) -> None:
        """Build from any number of entries; about 0.05 ms a phrasing, so a big one belongs in a thread.

        `synonyms` are groups of words (or `several words`) that mean the same to this bot; they count like concepts of the lexicon.
        """
        self._entries = entries if isinstance(entries, PackedEntries) and len(entries) >= _MANY else tuple(entries)
        self._default = default_language
        self._languages = tuple(intern(primary(entry.language)) for entry in self._entries)
        self._spoken = frozenset(self._languages)
        self._lexicon = lexicon.extended(synonyms)
        lexicon.speller()  # read and built once a process, here rather than in the first search on the event loop
        with background.considerate():
            self._corpus = Corpus(self._entries, self._lexicon)
            own = [] if self._lexicon is lexicon.shared() else self._lexicon.forms()
            self._speller = Speller([*self._corpus.terms.words, *own])

    @property
    def entries(self) -> Sequence[Entry]:
        """The entries, as given."""
        return self._entries

    def search(
        self, text: str, language: str | None = None, limit: int = 5, *, spoken: str | None = None, explain: bool = False
    ) -> Finding:
        """See Knowledge.search: at most `limit` entries; takes any text."""
        wanted, others = self._wanted(text, language, spoken)
        asked = words(text if len(text) <= 2 * _ENDS else f"{text[:_ENDS]} {text[-_ENDS:]}")[:_WORDS]
        query = query_of(asked, self._corpus, self._speller)
        ranked = self._rank(query, wanted, others)
        if not ranked:
            return Finding(wanted, "abstain", 0.0, ())
        shown = self._signs(asked, query, ranked)
        sure = confidence.of(shown)
        if not shown.coverage and shown.letters < _SAME:
            # Not one word that says something is known: what is left are words like "where are you", which stand in any question.
            sure = min(sure, _NO_GROUND)
        elif shown.letters >= _ITSELF:
            sure = max(sure, confidence.ANSWER)
        hits = []
        for found in ranked[: max(0, limit)]:
            reasons = why(query, self._corpus, found.entry) if explain else ()
            hits.append(Hit(self._entries[found.entry], round(min(1.0, found.score), 4), reasons))
        return Finding(wanted, confidence.decision(sure), round(sure, 4), tuple(hits))

    def _signs(self, asked: Sequence[str], query: Query, ranked: Sequence[_Candidate]) -> confidence.Signs:
        first = ranked[0]
        # the same entry in another language is no rival, and its being in another language says nothing against it
        tongue = self._languages[first.entry]
        same = (found for found in ranked if self._languages[found.entry] == tongue)
        rivals = [signals.Rival(found.score / first.foreign, found.likeness) for found in same]
        entry = self._entries[first.entry]
        return signals.read(asked, query, self._corpus, (first.entry, first.best), entry, rivals)

    def _wanted(self, text: str, given: str | None, spoken: str | None) -> tuple[str, float]:
        """The language to answer in, and what an entry in another one is worth."""
        if given:
            return primary(given), _GIVEN
        guessed = spoken or guess(text)
        if guessed:
            return guessed, _GUESSED
        return primary(self._default), _DEFAULT

    def _rank(self, query: Query, wanted: str, others: float) -> list[_Candidate]:
        """The candidates, best first; entries of the same score in the order in which they were given."""
        if wanted not in self._spoken:
            others = 1.0
        scores = self._corpus.postings.accumulate(query.weights.items())
        share = _TOPICS / math.log(max(_FEW, self._corpus.size))
        alike = self._corpus.topics.like(query.topics)
        for entry, likeness in alike.items():
            scores[entry] = scores.get(entry, 0.0) + share * likeness
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
        found: list[_Candidate] = []
        left = _CLOSELY
        for entry in first:
            looked_at = min(self._corpus.first[entry + 1] - self._corpus.first[entry], PHRASINGS)
            left -= looked_at
            if left < 0 and found:
                break
            likeness, phrasing, together = self._closely(products, neighbours, entry, looked_at)
            score = foreign[entry] * (_WHOLE * (scores[entry] + together) + (1 - _WHOLE) * likeness)
            found.append(_Candidate(entry, phrasing, foreign[entry], alike.get(entry, 0.0), score))
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
