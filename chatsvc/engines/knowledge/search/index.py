"""Search index of a bot's knowledge: built once in memory, deterministic.

An entry is scored as a whole (stems, beginnings and bigrams of words, concepts of the lexicon, topics; weighted by frequency in
the entry and rarity in the index) and by its single phrasing that is most similar to the question. The words of the answer count
a little. `search` collects candidates from the postings, then scores the best of them in full.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from sys import intern
from typing import TYPE_CHECKING

from chatsvc.domain.language import primary
from chatsvc.domain.models import Entry
from chatsvc.engines import SearchResult
from chatsvc.engines.knowledge.search import confidence, lexicon, signals
from chatsvc.engines.knowledge.search.corpus import CACHED, PHRASINGS, Corpus, Pair
from chatsvc.engines.knowledge.search.explanation import why
from chatsvc.engines.knowledge.search.query import Query, query_of
from chatsvc.engines.knowledge.search.spelling import Speller
from chatsvc.language.folding import words
from chatsvc.language.language_detection import guess

if TYPE_CHECKING:
    from chatsvc.engines.knowledge.search.answering import FactIndex

_CANDIDATES = 16
_WHOLE = 0.85  # weight of the entry as a whole; the rest is its best phrasing
_TOPICS, _FEW = 1.3, 10  # weight of topic similarity, divided by the logarithm of the number of entries, of this many at least
_TIES = 1_000  # entries of equal score that are compared
_CLOSELY = 250  # phrasings scored one by one in a search
_GIVEN, _GUESSED, _DEFAULT = 0.2, 0.5, 0.7  # factor of an entry in another language than the given, guessed or default one
_ENDS = 350  # characters of either end of a long message that are read
_WORDS = 90  # of them that are read
_ITSELF = 0.999  # trigram similarity of a question that equals a phrasing
_SAME = 0.9  # trigram similarity of a question that is nearly a phrasing
_TOPICAL = 0.2  # topic similarity that stands for a word in common
_EQUAL = 0.6  # least confidence if the question equals a phrasing
_NO_GROUND = 0.075  # greatest confidence if no word of the question is known


@dataclass(frozen=True, slots=True)
class RankedEntry:
    """A candidate. `entry` is its number in the index."""

    entry: int
    best: int  # number of its best phrasing
    foreign: float  # factor for the entry's language
    likeness: float  # topic similarity
    score: float


@dataclass(frozen=True, slots=True)
class _Gathered:
    text: str
    asked: list[str]
    query: Query
    scores: dict[int, float]  # by entry
    alike: dict[int, float]  # topic similarity by entry


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates for a text, best first, and the confidence of the search in the first one."""

    language: str
    asked: list[str]
    query: Query
    entries: list[RankedEntry]
    confidence: float


class KnowledgeIndex:
    """Implementation of `engines.Knowledge`."""

    def __init__(
        self,
        entries: Sequence[Entry],
        default_language: str = "tr",
        synonyms: Sequence[Sequence[str]] = (),
        *,
        cached: int = CACHED,
    ) -> None:
        """Build the index. About 0.05 ms a phrasing, so build a large one in a thread.

        `synonyms` are groups of words or expressions that mean the same to this bot; they count like concepts of the lexicon.
        `cached` phrasings are kept with their features, about 3 KB each.
        """
        self._entries = tuple(entries)
        self._default = default_language
        self._languages = tuple(intern(primary(entry.language)) for entry in self._entries)
        self._spoken = frozenset(self._languages)
        self._last: _Gathered | None = None
        self._lexicon = lexicon.extended(synonyms)
        lexicon.speller()  # built once a process, here rather than in the first search on the event loop
        self._corpus = Corpus(self._entries, self._lexicon, cached)
        own = [] if self._lexicon is lexicon.shared() else self._lexicon.forms()
        self._speller = Speller([*self._corpus.terms.words, *own])

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

    @cached_property
    def facts(self) -> FactIndex:
        """The answers to questions, from the facts of the entries."""
        from chatsvc.engines.knowledge.search.answering import FactIndex

        return FactIndex(self)

    def search(
        self, text: str, language: str | None = None, limit: int = 5, *, spoken: str | None = None, explain: bool = False
    ) -> SearchResult:
        """Implement `Knowledge.search` for any text."""
        return self.facts.search(text, language, limit, spoken=spoken, explain=explain)

    def rank(self, text: str, language: str | None = None, *, spoken: str | None = None) -> Ranking:
        """Return the candidates of a text; see `search`."""
        wanted, others = self._wanted(text, language, spoken)
        gathered = self._gathered(text)
        ranked = self._rank(gathered, wanted, others)
        return Ranking(wanted, gathered.asked, gathered.query, ranked, self._confidence(gathered, ranked) if ranked else 0.0)

    def reasons(self, ranking: Ranking, entry: int) -> tuple[str, ...]:
        """Return the matched words of a candidate; see `explanation.why`."""
        return why(ranking.query, self._corpus, entry)

    def _confidence(self, gathered: _Gathered, ranked: Sequence[RankedEntry]) -> float:
        shown = self._signs(gathered.asked, gathered.query, ranked)
        sure = confidence.of(shown)
        if not shown.coverage and shown.letters < _SAME and (shown.topics < _TOPICAL or not shown.content):
            # Neither an informative word nor the topic is known; what is left ("where are you") stands in any question.
            return min(sure, _NO_GROUND)
        if shown.letters < _SAME and not signals.is_grounded(gathered.query, self._corpus, ranked[0].entry):
            return min(sure, _NO_GROUND)
        return max(sure, _EQUAL) if shown.letters >= _ITSELF else sure

    def _signs(self, asked: Sequence[str], query: Query, ranked: Sequence[RankedEntry]) -> confidence.Signals:
        first = ranked[0]
        # an entry in another language is no rival, and the factor of the language is no evidence
        tongue = self._languages[first.entry]
        same = (found for found in ranked if self._languages[found.entry] == tongue)
        rivals = [signals.Rival(found.score / first.foreign, found.likeness) for found in same]
        entry = self._entries[first.entry]
        return signals.read(asked, query, self._corpus, (first.entry, first.best), entry, rivals)

    def _wanted(self, text: str, given: str | None, spoken: str | None) -> tuple[str, float]:
        """Return the language to answer in, and the factor of entries in another one."""
        if given:
            return primary(given), _GIVEN
        guessed = spoken or guess(text)
        if guessed:
            return guessed, _GUESSED
        return primary(self._default), _DEFAULT

    def _gathered(self, text: str) -> _Gathered:
        """Return query and candidates of a text.

        Those of the last text are cached for a search in another language.
        """
        last = self._last
        if last is not None and last.text == text:
            return last
        said = words(text if len(text) <= 2 * _ENDS else f"{text[:_ENDS]} {text[-_ENDS:]}")[:_WORDS]
        asked = self._corpus.compounds.as_written(said)
        query = query_of(asked, self._corpus, self._speller)
        scores = self._corpus.postings.accumulate(query.weights.items())
        share = _TOPICS / math.log(max(_FEW, self._corpus.size))
        alike = self._corpus.topics.like(query.topics)
        for entry, likeness in alike.items():
            scores[entry] = scores.get(entry, 0.0) + share * likeness
        self._last = _Gathered(text, asked, query, scores, alike)
        return self._last

    def _rank(self, gathered: _Gathered, wanted: str, others: float) -> list[RankedEntry]:
        """Return the ranked entries, best first; ties in the order of the entries."""
        query, scores, alike = gathered.query, gathered.scores, gathered.alike
        if wanted not in self._spoken:
            others = 1.0
        if not scores:
            return []
        # only the best are checked for their language, since checking thousands is slower than finding them
        cut = heapq.nlargest(2 * _CANDIDATES, scores.values())[-1]
        best = [entry for entry, score in scores.items() if score >= cut][:_TIES]
        foreign = {entry: 1.0 if self._languages[entry] == wanted else others for entry in best}
        first = sorted(best, key=lambda entry: (-scores[entry] * foreign[entry], entry))[:_CANDIDATES]
        gains = self._corpus.gains
        products = {number: weight * gains[number] for number, weight in query.weights.items()}
        neighbours = {pair: weight * self._corpus.pair_gain(pair) for pair, weight in query.pairs.items()}
        found: list[RankedEntry] = []
        left = _CLOSELY
        for entry in first:
            looked_at = min(self._corpus.first[entry + 1] - self._corpus.first[entry], PHRASINGS)
            left -= looked_at
            if left < 0 and found:
                break
            likeness, phrasing, together = self._closely(products, neighbours, entry, looked_at)
            score = foreign[entry] * (_WHOLE * (scores[entry] + together) + (1 - _WHOLE) * likeness)
            found.append(RankedEntry(entry, phrasing, foreign[entry], alike.get(entry, 0.0), score))
        return sorted(found, key=lambda candidate: (-candidate.score, candidate.entry))

    def _closely(self, products: dict[int, float], neighbours: dict[Pair, float], entry: int, count: int) -> tuple[float, int, float]:
        """Return similarity and number of an entry's best phrasing, and the entry's bigram score."""
        corpus = self._corpus
        best, number = -1.0, corpus.first[entry]
        asked, pairs_asked = frozenset(products), frozenset(neighbours)
        shared: dict[Pair, int] = {}
        for phrasing in range(number, number + count):
            held, its_pairs = corpus.phrasing(phrasing)
            total = sum([products[feature] for feature in held & asked])
            for pair in its_pairs & pairs_asked:
                total += neighbours[pair]
                shared[pair] = shared.get(pair, 0) + 1
            total /= corpus.lengths[phrasing]
            if total > best:
                best, number = total, phrasing
        return best, number, corpus.units[entry] * sum(neighbours[pair] * math.log(1 + count) for pair, count in sorted(shared.items()))
