"""A bot's knowledge, ready to be searched: built once from its entries, in memory, the same answer every time.

An entry is found by all of its phrasings together (words, stems, neighbours, concepts of the lexicon; those that many of
its phrasings share weigh more, those that many entries share weigh less) and by the single phrasing that is most like the
question. What the answer says counts a little. `search` first collects candidates by the postings, then looks at them closely.
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import repeat

from chatsvc.domain.language import primary
from chatsvc.domain.models import Entry
from chatsvc.engines import Finding, Hit
from chatsvc.engines.knowledge import confidence, features, lexicon
from chatsvc.engines.knowledge.postings import Postings
from chatsvc.engines.knowledge.spelling import Speller
from chatsvc.engines.knowledge.stopwords import STOPWORDS
from chatsvc.engines.knowledge.text import stem, trigrams, words
from chatsvc.engines.language.detection import guess

_CANDIDATES = 30
_WHOLE = 0.85  # share of the entry as a whole in its score; the rest is its best phrasing
_TIES = 1_000  # entries of the same score that are compared at all
_PHRASINGS = 64  # of one entry looked at closely; all of them count in the entry as a whole
_RARITY = 0.8  # exponent of the inverse document frequency: full strength overrates odd words
_ANSWER = 0.12  # weight of a word that only the answer holds
_ANSWER_WORDS = 40  # stems of an answer looked at
_GIVEN, _GUESSED, _DEFAULT = 0.3, 0.5, 0.7  # what is left of the score of an entry in another language
_ASKED = 60  # words looked at from either end of a long message: there the question stands
_NOUGHT = repeat(0.0)
_NEAR = 0.7  # what a word counts that was read as another one
_SAME = 0.9  # likeness in letter triples from which a question is the phrasing itself
_NO_GROUND = confidence.ASK / 2  # as sure as a search may be that knows no word of the question
_MAX_SPELLED = 6  # unknown words looked up a search


@dataclass(slots=True)
class _Query:
    """A question in the index's numbers."""

    weights: dict[int, float] = field(default_factory=dict)  # feature number -> weight, of length 1 with what is unknown
    informative: list[tuple[float, tuple[int, ...]]] = field(default_factory=list)  # (weight, features that explain it)


@dataclass(frozen=True, slots=True)
class _Candidate:
    entry: int
    best: int  # the phrasing's number
    foreign: float  # what is left of the score for the entry's language
    score: float


class KnowledgeIndex:
    """Fulfils `engines.Knowledge`."""

    def __init__(self, entries: Sequence[Entry], default_language: str = "tr", synonyms: Sequence[Sequence[str]] = ()) -> None:  # noqa: ARG002
        """Build from any number of entries; about 0.1 ms a phrasing, so a big one belongs in a thread.

        `synonyms` are groups of words and expressions that mean the same to this bot.
        """
        self._entries = tuple(entries)
        self._default = default_language
        self._languages = tuple(primary(entry.language) for entry in self._entries)
        self._spoken = frozenset(self._languages)
        self._numbers: dict[str, int] = {}  # feature -> number
        self._gains = array("f")  # feature number -> weight of its kind, then times its rarity
        self._first = array("I", [0])  # entry -> number of its first phrasing
        self._starts = array("I", [0])  # phrasing -> its first feature in _features
        self._features = array("I")
        lexicon.speller()  # read and built once a process, here rather than in the first search on the event loop
        self._build()

    @property
    def entries(self) -> Sequence[Entry]:
        """The entries, as given."""
        return self._entries

    def search(self, text: str, language: str | None = None, limit: int = 5, *, spoken: str | None = None) -> Finding:
        """What the knowledge has on `text`, at most `limit` entries; never raises, whatever the text.

        `language` was asked for; `spoken` is what the conversation is in, which weighs less; without both the text is looked at.
        """
        wanted, others = self._wanted(text, language, spoken)
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

    def _wanted(self, text: str, given: str | None, spoken: str | None) -> tuple[str, float]:
        """The language to answer in, and what an entry in another one is worth."""
        if given:
            return primary(given), _GIVEN
        guessed = spoken or guess(text)
        if guessed:
            return guessed, _GUESSED
        return primary(self._default), _DEFAULT

    # Building

    def _build(self) -> None:
        rows = array("I", [0])  # entry -> its first feature in `held`
        held, values = array("I"), array("f")
        for entry in self._entries:
            counts: dict[int, int] = {}
            for phrasing in (entry.question, *entry.alt):
                numbers = [self._number(feature, weight) for feature, weight in features.of(words(phrasing)).items()]
                self._features.extend(numbers)
                self._starts.append(len(self._features))
                for number in numbers:
                    counts[number] = counts.get(number, 0) + 1
            self._first.append(len(self._starts) - 1)
            most = math.log(2 + len(entry.alt))
            held.extend(counts)
            values.extend(math.log(1 + count) / most for count in counts.values())
            for number in self._answer_features(entry.answer):
                if number not in counts:
                    held.append(number)
                    values.append(-_ANSWER)  # marked: it stays out of the entry's length
            rows.append(len(held))
        self._weigh(rows, held, values)
        self._speller = Speller(feature[1:] for feature in self._numbers if feature[0] == "w")

    def _number(self, feature: str, weight: float) -> int:
        number = self._numbers.setdefault(feature, len(self._numbers))
        if number == len(self._gains):
            self._gains.append(weight)
        return number

    def _answer_features(self, answer: str) -> list[int]:
        stems = dict.fromkeys(stem(word) for word in words(answer) if word not in STOPWORDS and len(word) > 2)
        return [self._number("s" + one, features.STEM) for one in list(stems)[:_ANSWER_WORDS]]

    def _weigh(self, rows: array[int], held: array[int], values: array[float]) -> None:
        """Rarity into the gains, lengths of entries and phrasings, then the postings."""
        holders = array("I", bytes(4 * len(self._numbers)))
        for number, value in zip(held, values, strict=True):
            if value > 0:
                holders[number] += 1
        for number, count in enumerate(holders):
            self._gains[number] *= self._rarity(count)
        for entry in range(len(self._entries)):
            span = range(rows[entry], rows[entry + 1])
            length = math.sqrt(sum((values[at] * self._gains[held[at]]) ** 2 for at in span if values[at] > 0)) or 1.0
            for at in span:
                values[at] = abs(values[at]) * self._gains[held[at]] / length
        self._postings = Postings(len(self._numbers), rows, held, values)
        self._lengths = array("f")  # phrasing -> length of its vector
        for at in range(len(self._starts) - 1):
            span = range(self._starts[at], self._starts[at + 1])
            self._lengths.append(math.sqrt(sum(self._gains[self._features[place]] ** 2 for place in span)) or 1.0)

    def _rarity(self, holders: int) -> float:
        """Weight of a feature that so many entries hold."""
        return float(math.log(1 + (len(self._entries) - holders + 0.5) / (holders + 0.5)) ** _RARITY)

    # Searching

    def _query(self, asked: Sequence[str]) -> _Query:
        query = _Query()
        known: dict[int, float] = {}
        unknown = 0.0  # square of the weights of what the index has never seen
        rarest = self._rarity(0)
        for word, (read, certainty) in self._read(asked).items():
            explained: list[int] = []
            for feature, weight in (*features.of_word(read), *features.concepts_of(read)):
                number = self._numbers.get(feature)
                if number is not None:
                    known[number] = max(known.get(number, 0.0), certainty * self._gains[number])
                    explained.append(number)
                elif feature[0] == "s":
                    unknown += (weight * rarest) ** 2
            if word not in STOPWORDS:
                informs = max((self._gains[number] for number in explained), default=rarest)
                query.informative.append((informs, tuple(explained)))
        for feature, _ in (*features.pairs(asked), *features.concepts(asked)):
            number = self._numbers.get(feature)
            if number is not None:
                known.setdefault(number, self._gains[number])
        length = math.sqrt(unknown + sum(weight * weight for weight in known.values())) or 1.0
        query.weights = {number: weight / length for number, weight in known.items()}
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
        if word in STOPWORDS or "w" + word in self._numbers or "s" + stem(word) in self._numbers:
            return True
        return any("c" + name in self._numbers for name in lexicon.of_word(word))

    def _rank(self, query: _Query, wanted: str, others: float) -> list[_Candidate]:
        """The candidates, best first; entries of the same score in the order in which they were given."""
        if wanted not in self._spoken:
            others = 1.0
        scores = self._postings.accumulate(list(query.weights.items()))
        if not scores:
            return []
        # the language is looked at only for the best: asking it of thousands would take longer than finding them
        cut = heapq.nlargest(2 * _CANDIDATES, scores.values())[-1]
        best = [entry for entry, score in scores.items() if score >= cut][:_TIES]
        foreign = {entry: 1.0 if self._languages[entry] == wanted else others for entry in best}
        first = sorted(best, key=lambda entry: (-scores[entry] * foreign[entry], entry))[:_CANDIDATES]
        products = {number: weight * self._gains[number] for number, weight in query.weights.items()}
        found = []
        for entry in first:
            likeness, phrasing = self._best_phrasing(products, entry)
            score = foreign[entry] * (_WHOLE * scores[entry] + (1 - _WHOLE) * likeness)
            found.append(_Candidate(entry, phrasing, foreign[entry], score))
        return sorted(found, key=lambda candidate: (-candidate.score, candidate.entry))

    def _best_phrasing(self, products: dict[int, float], entry: int) -> tuple[float, int]:
        best, number = -1.0, self._first[entry]
        for phrasing in range(number, min(self._first[entry + 1], number + _PHRASINGS)):
            held = self._features[self._starts[phrasing] : self._starts[phrasing + 1]]
            total = sum(map(products.get, held, _NOUGHT)) / self._lengths[phrasing]
            if total > best:
                best, number = total, phrasing
        return best, number

    def _signs(self, asked: Sequence[str], query: _Query, ranked: Sequence[_Candidate]) -> confidence.Signs:
        first = ranked[0]
        # the same entry in another language is no rival
        rivals = [found.score for found in ranked if self._languages[found.entry] == self._languages[first.entry]]
        second = rivals[1] if len(rivals) > 1 else 0.0
        phrasings = range(self._first[first.entry], self._first[first.entry + 1])
        held = set(self._features[self._starts[phrasings.start] : self._starts[phrasings.stop]])
        weight = sum(one for one, _ in query.informative)
        covered = sum(one for one, numbers in query.informative if not held.isdisjoint(numbers))
        entry = self._entries[first.entry]
        texts = (entry.question, *entry.alt)[:_PHRASINGS]
        letters = _letters(asked)
        closest = _letters(words(texts[first.best - phrasings.start]))
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
            phrasings=min(1.5, math.log(len(phrasings)) / 3),
        )


def _letters(said: Sequence[str]) -> set[str]:
    """The letter triples of all words."""
    return {gram for word in said for gram in trigrams(word)}
