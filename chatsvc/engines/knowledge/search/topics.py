"""Topic model: relates a question to entries that share no word with it.

"I'm on crutches" and "is there a lift" share no word and no concept, but both belong to the topic of access. `topics.txt` gives
for each stem and concept the topics in which visitors use it; scripts/topics/learn.py learns it from the sentences in
scripts/topics. The topics of a text are the sum of those of its words.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from operator import add, mul
from pathlib import Path

from chatsvc.engines.knowledge.search.lexicon import Lexicon
from chatsvc.engines.knowledge.search.postings import Postings
from chatsvc.engines.knowledge.search.stemming import stem
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS

MOST = 16  # topics kept of a text
DIMENSIONS = 64  # of the space in which topics lie
LEVELS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-"  # letters of a coordinate, from the least to the greatest
HEADER = "# Topics: names; places, a letter a coordinate; then a feature a line, its weight, and pairs of a topic's number and its share."

_DATA = "topics.txt"
_BUDGET = 3_000  # postings that one search may touch; rare topics come first
_ABOUT = 0.03  # least weight of a topic in an explanation

Row = slice
Vector = tuple[float, ...]


def features_of(said: Iterable[str], lexicon: Lexicon) -> list[str]:
    """Return the features of folded words for the topic model. Stems, and concepts of words and expressions, each once."""
    said = list(said)
    found = {"s" + stem(word): None for word in said if word not in STOPWORDS}
    found |= {"c" + match.concept: None for match in lexicon.find(said)}
    return list(found)


def unit(vector: Vector) -> Vector:
    """Return a vector with the length 1; an empty one stays so."""
    length = math.sqrt(sum(map(mul, vector, vector)))
    return tuple(value / length for value in vector) if length else ()


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of two vectors of length 1; 0 for an empty one."""
    return float(sum(map(mul, one, other)))


class EntryTopics:
    """Topic vectors of the entries of an index."""

    def __init__(self) -> None:
        self._topics, self._weights = array("H"), array("f")  # MOST for each entry

    def add(self, about: Mapping[int, float]) -> None:
        """Add the topics of the next entry."""
        left = MOST - len(about)
        self._topics.extend((*about, *repeat(0, left)))
        self._weights.extend((*about.values(), *repeat(0.0, left)))

    def filled(self) -> None:
        """Build the postings; no entry can be added after this."""
        held = Counter(topic for topic, weight in zip(self._topics, self._weights, strict=True) if weight)
        self._postings = Postings([held[topic] for topic in range(len(shared().names))], len(self._topics) // MOST)
        for place, (topic, weight) in enumerate(zip(self._topics, self._weights, strict=True)):
            if weight:
                self._postings.put(place // MOST, ((topic, weight),))
        self._postings.filled()

    def of(self, entry: int) -> dict[int, float]:
        """Return the topic vector of an entry."""
        own = slice(entry * MOST, (entry + 1) * MOST)
        return {topic: weight for topic, weight in zip(self._topics[own], self._weights[own], strict=True) if weight}

    def like(self, about: Mapping[int, float]) -> dict[int, float]:
        """Return the similarity (0 to 1) of each entry that shares a topic."""
        return self._postings.accumulate(about.items(), _BUDGET)

    def shared_with(self, entry: int, about: Mapping[int, float]) -> list[str]:
        """The names of the topics that an entry and a text share, the weightiest first."""
        both = {topic: self._postings.accumulate([(topic, weight)], _BUDGET).get(entry, 0.0) for topic, weight in about.items()}
        names = shared().names
        return [names[topic] for topic in sorted(both, key=lambda topic: (-both[topic], topic)) if both[topic] >= _ABOUT]


class Topics:
    """The topic model: features, their weights and their topics."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Parse the lines of `topics.txt`."""
        names, places, *rows = (line for line in lines if not line.startswith("#"))
        self.names = names.split("\t")
        self._places = [[LEVELS.index(letter) - len(LEVELS) // 2 for letter in place] for place in places.split("\t")]
        self._directions: dict[str, Vector | None] = {}  # cache of `_direction`
        self._rows: dict[str, Row] = {}
        self._topics, self._weights = array("H"), array("f")
        for row in rows:
            feature, weight, *numbers = row.split(" ")
            start = len(self._topics)
            self._topics.extend(map(int, numbers[::2]))
            self._weights.extend(int(weight) * int(share) for share in numbers[1::2])
            self._rows[feature] = slice(start, len(self._topics))

    def row(self, feature: str) -> Row | None:
        """Return the slice of a feature's topics; None for an unknown feature."""
        return self._rows.get(feature)

    def direction(self, said: Iterable[str]) -> Vector:
        """Return where a text lies, from its features: a vector of length 1, near those of texts about related topics."""
        total: Vector = ()
        for feature in said:
            own = self._directions[feature] if feature in self._directions else self._direction(feature)
            if own is not None:
                total = tuple(map(add, total, own)) if total else own
        return unit(total)

    def _direction(self, feature: str) -> Vector | None:
        """Return the place of a feature, weighted: the sum of those of its topics."""
        row = self._rows.get(feature)
        total = [0.0] * DIMENSIONS
        if row is not None:
            for topic, weight in zip(self._topics[row], self._weights[row], strict=True):
                total = [have + weight * more for have, more in zip(total, self._places[topic], strict=True)]
        self._directions[feature] = tuple(total) if row is not None else None
        return self._directions[feature]

    def of(self, said: Iterable[tuple[Row | None, float]]) -> dict[int, float]:
        """Return the topic vector (length 1) of a text from its features' rows and counts."""
        total: dict[int, float] = {}
        for row, count in said:
            if row is not None:
                for topic, weight in zip(self._topics[row], self._weights[row], strict=True):
                    total[topic] = total.get(topic, 0.0) + count * weight
        first = sorted(total.items(), key=lambda item: (-item[1], item[0]))[:MOST]
        length = math.sqrt(sum(weight * weight for _, weight in first)) or 1.0
        return {topic: weight / length for topic, weight in first}


@lru_cache(maxsize=1)
def shared() -> Topics:
    """Return the topic model of `topics.txt`."""
    return Topics(Path(__file__).with_name(_DATA).read_text(encoding="utf-8").splitlines())


def of_words(said: Sequence[str], lexicon: Lexicon) -> Mapping[int, float]:
    """Return the topic vector of folded words; see `Topics.of`."""
    return _of_words(tuple(said), lexicon)


@lru_cache(maxsize=1_024)
def _of_words(said: tuple[str, ...], lexicon: Lexicon) -> Mapping[int, float]:
    known = shared()
    return known.of((known.row(feature), 1.0) for feature in features_of(said, lexicon))
