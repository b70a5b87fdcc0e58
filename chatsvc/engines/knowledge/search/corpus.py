"""Term statistics of a bot's entries: their features by number, document frequencies, postings.

Flat arrays keep fifty thousand entries in about a hundred megabytes with their texts; what is cheap to compute is not stored.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, islice, pairwise
from operator import mul

from chatsvc.domain.models import Entry
from chatsvc.engines.knowledge.search import features, topics
from chatsvc.engines.knowledge.search.lexicon import Lexicon
from chatsvc.engines.knowledge.search.postings import Postings
from chatsvc.engines.knowledge.search.stemming import stem
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS
from chatsvc.language.folding import words

_RARITY = 0.8  # exponent of the inverse document frequency; 1 overrates odd words
_ANSWER = 0.3  # weight of a word that only the answer holds
_ANSWER_WORDS = 40  # stems of an answer looked at
_SENTENCE_ENDS = re.compile(r"(?<=[.!?…:])\s+|\n+")
_PART, _ENDING = 3, 4  # least letters of a part of a compound, and most letters of an ending behind one
_MOST_COMPOUNDS = 20_000  # that are remembered: those of a few hundred entries
_A_SENTENCE, _SENTENCES = 12, 24  # least characters of a sentence, and sentences of a passage that are indexed


def phrasings_of(entry: Entry) -> tuple[str, ...]:
    """Return the texts that are indexed: question and phrasings. Without phrasings, the sentences of the answer."""
    if entry.alt:
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

    def __init__(self, entries: Sequence[Entry], lexicon: Lexicon) -> None:
        self.size = len(entries)
        self.lexicon = lexicon
        self.features: dict[str, int] = {}  # name -> number
        self.of_word: dict[str, tuple[int, ...]] = {}  # word of a phrasing -> its features
        self.compounds = Compounds()
        self._weights = array("f")  # feature -> weight of its kind
        self._rarities: dict[int, float] = {}
        # features of the entries, one after the other, and the number of phrasings with each: 0 for a word of the answer alone
        held, counts = array("I"), array("I")
        starts, phrasings = array("I", [0]), array("I")
        for entry in entries:
            texts = phrasings_of(entry)
            found = self._read(texts, entry.answer)
            held.extend(found)
            counts.extend(found.values())
            starts.append(len(held))
            phrasings.append(len(texts))
        holders = array("I", bytes(4 * len(self._weights)))
        for feature in held:
            holders[feature] += 1
        self.gains = array("f", map(mul, self._weights, map(self.rarity, holders)))
        self.postings = Postings(holders, self.size)
        self.topics = topics.EntryTopics()
        rows = list(map(topics.shared().row, self.features))
        for number, count in enumerate(phrasings):
            own = slice(starts[number], starts[number + 1])
            self._weigh(number, list(zip(held[own], counts[own], strict=True)), count, rows)
        self.postings.filled()
        self.topics.filled()

    def _read(self, texts: Iterable[str], answer: str) -> Counter[int]:
        """Count the phrasings that hold each feature, and add the stems that only the answer holds, with the count 0."""
        found: Counter[int] = Counter()
        for text in texts:
            said = words(text)
            self.compounds.read(said)
            found.update(self._features_of(said))
        said = words(answer)
        self.compounds.read(said)
        for one in list(dict.fromkeys(stem(word) for word in said if len(word) > 2 and word not in STOPWORDS))[:_ANSWER_WORDS]:
            found.setdefault(self._number("s" + one, features.STEM), 0)
        return found

    def _features_of(self, said: Sequence[str]) -> set[int]:
        """Return the features of the words and expressions of a phrasing, numbering new ones."""
        for word in said:
            if word not in self.of_word:
                named = features.of_word(word, self.lexicon.of_word(word))
                self.of_word[word] = tuple([self._number(name, weight) for name, weight in named])
        found = set(chain.from_iterable(map(self.of_word.__getitem__, said)))
        found.update(self._number("c" + match.concept, features.CONCEPT) for match in self.lexicon.expressions(said))
        return found

    def _number(self, feature: str, weight: float) -> int:
        number = self.features.setdefault(feature, len(self.features))
        if number == len(self._weights):
            self._weights.append(weight)
        return number

    def _weigh(self, entry: int, held: Sequence[tuple[int, int]], phrasings: int, rows: Sequence[topics.Row | None]) -> None:
        """Add the postings of an entry. A word of the answer counts as in one phrasing, times _ANSWER, and not in the length."""
        gains = self.gains
        values = [(feature, math.log(1 + count) * gains[feature]) for feature, count in held if count]
        length = math.sqrt(sum([value**2 for _, value in values])) or 1.0
        most = length / math.log(1 + phrasings)
        self.postings.put(entry, ((feature, value / length) for feature, value in values))
        self.postings.put(entry, ((feature, min(1.0, _ANSWER * gains[feature] / most)) for feature, count in held if not count))
        self.topics.add(topics.shared().of((rows[feature], math.log(1 + count) if count else _ANSWER) for feature, count in held))

    def rarity(self, holders: int) -> float:
        """Return the weight of a feature with this document frequency."""
        known = self._rarities.get(holders)
        if known is None:
            known = self._rarities[holders] = float(math.log(1 + (self.size - holders + 0.5) / (holders + 0.5)) ** _RARITY)
        return known
