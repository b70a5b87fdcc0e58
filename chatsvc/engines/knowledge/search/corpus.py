"""Term statistics of a bot's entries: words of each phrasing, document frequencies, postings.

Flat arrays keep fifty thousand entries in about a hundred megabytes with their texts; what is cheap to compute is not stored.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice, pairwise

from chatsvc.domain.models import Entry
from chatsvc.engines.knowledge.search import features, topics
from chatsvc.engines.knowledge.search.lexicon import Lexicon
from chatsvc.engines.knowledge.search.postings import Postings
from chatsvc.engines.knowledge.search.stemming import stem
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS
from chatsvc.engines.knowledge.search.terms import NO_STEM, Terms
from chatsvc.language.folding import words

Pair = tuple[int, int]

EDGE = NO_STEM - 1  # sentinel before the first and behind the last word, since the first words of a question say much
_RARITY = 0.8  # exponent of the inverse document frequency; 1 overrates odd words
_ANSWER = 0.3  # weight of a word that only the answer holds
_ANSWER_WORDS = 40  # stems of an answer looked at
_NARROW = 1 << 16  # word numbers up to this fit in two bytes
_MOST_PAIRS = 1 << 19  # hashed counters of bigrams; a collision only makes a bigram look less rare
_SENTENCE_ENDS = re.compile(r"(?<=[.!?…:])\s+|\n+")
_PART, _ENDING = 3, 4  # least letters of a part of a compound, and most letters of an ending behind one
_MOST_COMPOUNDS = 20_000  # that are remembered: those of a few hundred entries
_A_SENTENCE, _SENTENCES = 12, 24  # least characters of a sentence, and sentences of a passage that are indexed
CACHED = 4_096  # phrasings whose features are cached, about 3 KB each
PHRASINGS = 64  # of an entry that are scored one by one; all of them count in its sum


def is_passage(entry: Entry) -> bool:
    """Return whether an entry has no other phrasings, like a passage of a document."""
    return not entry.alt


def phrasings_of(entry: Entry) -> tuple[str, ...]:
    """Return the texts that are indexed: question and phrasings. Without phrasings, the sentences of the answer."""
    if not is_passage(entry):
        return entry.question, *entry.alt
    sentences = (sentence for sentence in _SENTENCE_ENDS.split(entry.answer) if len(sentence) > _A_SENTENCE)
    return entry.question, *islice(sentences, _SENTENCES)


class Compounds:
    """Words that stand side by side in the entries, which visitors write as one, and the other way about: "daycare", "day care"."""

    def __init__(self) -> None:
        self._single: set[str] = set()
        self._parts: dict[str, tuple[str, str]] = {}

    def read(self, said: Sequence[str]) -> None:
        """Remember the words of a text."""
        self._single.update(said)
        if len(self._parts) < _MOST_COMPOUNDS:
            pairs = [pair for pair in pairwise(said) if min(map(len, pair)) >= _PART]
            if len(self._parts) + len(pairs) <= _MOST_COMPOUNDS:
                self._parts.update(("".join(pair), pair) for pair in pairs)

    def as_written(self, said: Sequence[str]) -> list[str]:
        """Return the words of a question as the entries write them."""
        found: list[str] = []
        for word in said:
            if found and found[-1] + word in self._single and not {found[-1], word} <= self._single:
                found[-1] += word
            else:
                found.extend((word,) if word in self._single else self._split(word))
        return found

    def _split(self, word: str) -> tuple[str, ...]:
        """Return the parts of a word that the entries write apart, with its ending at the last one: "pitbulls"."""
        for end in range(len(word), max(len(word) - _ENDING, 2 * _PART) - 1, -1):
            if parts := self._parts.get(word[:end]):
                return parts[0], parts[1] + word[end:]
        return (word,)


class Corpus:
    """Immutable term statistics of the entries of an index."""

    def __init__(self, entries: Sequence[Entry], lexicon: Lexicon, cached: int = CACHED) -> None:
        self.size = len(entries)
        self.lexicon = lexicon
        self.compounds = Compounds()
        self._rarities: dict[int, float] = {}
        self._cached = cached
        self._recent: dict[int, tuple[set[int], set[Pair]]] = {}  # cache of `phrasing`
        self.terms = Terms(lexicon)
        self.first = array("I", [0])  # entry -> number of its first phrasing
        self.starts = array("I", [0])  # phrasing -> its first word in `_tokens`
        self._tokens = array("H")  # wider as soon as there are more words
        self._holders = array("I")  # feature -> entries that hold it
        pairs = 16 * sum(1 + len(entry.alt) for entry in entries)
        self._pairs = array("I", bytes(4 * min(_MOST_PAIRS, 1 << max(6, pairs.bit_length()))))  # hash of a pair -> entries that hold it
        answers, answer_starts = array("I"), array("I", [0])
        for number, entry in enumerate(entries):
            self._read(entry)
            answers.extend(self._answer_features(entry.answer, number))
            answer_starts.append(len(answers))
        self.gains = array("f", map(float.__mul__, self.terms.weights, map(self.rarity, self._holders)))
        self._weigh(answers, answer_starts)

    def _read(self, entry: Entry) -> None:
        """First pass: number the words and count document frequencies."""
        held: set[int] = set()
        pairs: set[Pair] = set()
        for phrasing in phrasings_of(entry):
            said = words(phrasing)
            self.compounds.read(said)
            row = self.terms.row(said)
            if len(self.terms.words) > _NARROW and self._tokens.typecode == "H":
                self._tokens = array("I", self._tokens)
            self._tokens.extend(row)
            self.starts.append(len(self._tokens))
            held.update(*map(self.terms.of_word.__getitem__, row))
            pairs.update(self._pairs_of(row))
        self.first.append(len(self.starts) - 1)
        self._holders.extend(bytes(len(self.terms.weights) - len(self._holders)))
        for feature in held:
            self._holders[feature] += 1
        for pair in pairs:
            self._pairs[hash(pair) % len(self._pairs)] += 1

    def _answer_features(self, answer: str, entry: int) -> list[int]:
        """Return the stems that only the answer holds."""
        said = words(answer)
        self.compounds.read(said)
        stems = list(dict.fromkeys(stem(word) for word in said if len(word) > 2 and word not in STOPWORDS))[:_ANSWER_WORDS]
        numbers = [self.terms.number("s" + one, features.STEM) for one in stems]
        self._holders.extend(bytes(len(self.terms.weights) - len(self._holders)))
        held = set(chain.from_iterable(map(self.terms.of_word.__getitem__, self._tokens[self.starts[self.first[entry]] :])))
        return [number for number in numbers if number not in held]

    def _weigh(self, answers: array[int], answer_starts: array[int]) -> None:
        """Second pass: compute vector lengths and postings."""
        counts = array("I", self._holders)
        for feature in answers:
            counts[feature] += 1
        self.postings = Postings(counts, self.size)
        self.lengths = array("f")  # phrasing -> length of its vector
        self.units = array("f")  # entry -> factor that makes its vector length 1
        self.topics = topics.EntryTopics()
        rows = list(map(topics.shared().row, self.terms.features))
        gains = self.gains
        for entry in range(self.size):
            both = [self.phrasing(phrasing) for phrasing in range(self.first[entry], self.first[entry + 1])]
            held = Counter(chain.from_iterable(its for its, _ in both))
            pairs = Counter(chain.from_iterable(neighbours for _, neighbours in both))
            pair_gains = {pair: self.pair_gain(pair) for pair in pairs}
            for its, neighbours in both:
                squares = sum([gains[feature] ** 2 for feature in its]) + sum([pair_gains[pair] ** 2 for pair in neighbours])
                self.lengths.append(math.sqrt(squares) or 1.0)
            values = [(feature, math.log(1 + count) * gains[feature]) for feature, count in held.items()]
            squares = sum([value**2 for _, value in values])
            squares += sum([(math.log(1 + count) * pair_gains[pair]) ** 2 for pair, count in pairs.items()])
            length = math.sqrt(squares) or 1.0
            self.units.append(1 / length)
            self.postings.put(entry, ((feature, value / length) for feature, value in values))
            # a word of the answer counts as in one phrasing, times _ANSWER, and not in the length
            most = length / math.log(2 + self.first[entry + 1] - self.first[entry] - 1)
            only = answers[answer_starts[entry] : answer_starts[entry + 1]]
            self.postings.put(entry, ((feature, min(1.0, _ANSWER * gains[feature] / most)) for feature in only))
            said = ((rows[feature], math.log(1 + count)) for feature, count in held.items())
            self.topics.add(topics.shared().of(chain(said, ((rows[feature], _ANSWER) for feature in only))))
        self.postings.filled()
        self.topics.filled()

    def tokens(self, phrasing: int) -> array[int]:
        """Return the word numbers of a phrasing."""
        return self._tokens[self.starts[phrasing] : self.starts[phrasing + 1]]

    def phrasing(self, phrasing: int) -> tuple[set[int], set[Pair]]:
        """Return the features of a phrasing's words, and its stem bigrams."""
        known = self._recent.get(phrasing)
        if known is None:
            row = self.tokens(phrasing)
            known = set(chain.from_iterable(map(self.terms.of_word.__getitem__, row))), set(self._pairs_of(row))
            if len(self._recent) >= self._cached:
                del self._recent[next(iter(self._recent))]
            self._recent[phrasing] = known
        return known

    def held(self, entry: int) -> set[int]:
        """Return the features of an entry's phrasings."""
        start, stop = self.first[entry], min(self.first[entry + 1], self.first[entry] + PHRASINGS)
        row = self._tokens[self.starts[start] : self.starts[stop]]
        return set(chain.from_iterable(map(self.terms.of_word.__getitem__, row)))

    def _pairs_of(self, row: Sequence[int]) -> Iterator[Pair]:
        return pairs([stem for stem in map(self.terms.stems.__getitem__, row) if stem != NO_STEM])

    def holders_of_pair(self, pair: Pair) -> int:
        """Return about how many entries hold a bigram; 0 is exact."""
        return self._pairs[hash(pair) % len(self._pairs)]

    def pair_gain(self, pair: Pair) -> float:
        """Return the weight of a stem bigram."""
        weak = all(stem == EDGE or self.terms.weak[stem] for stem in pair)
        return features.PAIR * (features.STOP if weak else 1.0) * self.rarity(self.holders_of_pair(pair))

    def rarity(self, holders: int) -> float:
        """Return the weight of a feature with this document frequency."""
        known = self._rarities.get(holders)
        if known is None:
            count = min(holders, self.size)  # bigrams that share a counter may exceed the size
            known = self._rarities[holders] = float(math.log(1 + (self.size - count + 0.5) / (count + 0.5)) ** _RARITY)
        return known


def pairs(stems: Sequence[int]) -> Iterator[Pair]:
    """Yield the stem bigrams, including those with the edges."""
    return zip((EDGE, *stems), (*stems, EDGE), strict=True) if stems else iter(())
