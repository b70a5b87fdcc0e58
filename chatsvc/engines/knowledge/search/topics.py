"""What people are on about when they use a word, where question and entry have none in common: topics of small businesses.

"I'm on crutches" and "is there a lift" share no word and no concept, but people who write the one and people who write the other
want to know how they get in. `topics.txt` beside this module says for each stem and concept in which topics visitors use it; it is
learned from the sentences in scripts/topics, by scripts/topics/learn.py. A text is then as much about a topic as its words are.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from itertools import repeat

from chatsvc.engines.knowledge.search.lexicon import Lexicon
from chatsvc.engines.knowledge.search.postings import Postings
from chatsvc.engines.knowledge.search.stemming import stem
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS

MOST = 16  # topics of a text that are kept

_DATA = "topics.txt"
_BUDGET = 3_000  # postings that one search may touch: of many entries only those that are about what few are
_ABOUT = 0.03  # how much both are about a topic that is told

Row = slice


def features_of(said: Iterable[str], lexicon: Lexicon) -> list[str]:
    """What the topics of a text are told by: the stems of its folded words and the concepts of words and expressions, each once."""
    said = list(said)
    found = {"s" + stem(word): None for word in said if word not in STOPWORDS}
    found |= {"c" + match.concept: None for match in lexicon.find(said)}
    return list(found)


class OfEntries:
    """What the entries of an index are about."""

    def __init__(self) -> None:
        self._topics, self._weights = array("H"), array("f")  # MOST an entry, until all are there

    def add(self, about: Mapping[int, float]) -> None:
        """The next entry's topics."""
        left = MOST - len(about)
        self._topics.extend((*about, *repeat(0, left)))
        self._weights.extend((*about.values(), *repeat(0.0, left)))

    def filled(self) -> None:
        """Nothing more will be added."""
        held = Counter(topic for topic, weight in zip(self._topics, self._weights, strict=True) if weight)
        self._postings = Postings([held[topic] for topic in range(len(shared().names))], len(self._topics) // MOST)
        for place, (topic, weight) in enumerate(zip(self._topics, self._weights, strict=True)):
            if weight:
                self._postings.put(place // MOST, ((topic, weight),))
        self._postings.filled()
        del self._topics, self._weights

    def like(self, about: Mapping[int, float]) -> dict[int, float]:
        """Entry -> how much it is about the same, from 0 to 1, of those that are at all."""
        return self._postings.accumulate(about.items(), _BUDGET)

    def shared_with(self, entry: int, about: Mapping[int, float]) -> list[str]:
        """The names of the topics that an entry and a text are both about, the first that counts most; for people."""
        both = {topic: self._postings.accumulate([(topic, weight)], _BUDGET).get(entry, 0.0) for topic, weight in about.items()}
        names = shared().names
        return [names[topic] for topic in sorted(both, key=lambda topic: (-both[topic], topic)) if both[topic] >= _ABOUT]


class Topics:
    """Read once, then only asked."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Take the first line for the topics' names; each other one is a feature, its weight and its topics with theirs."""
        names, *rows = lines
        self.names = names.split("\t")
        self._rows: dict[str, Row] = {}
        self._topics, self._weights = array("H"), array("f")
        for row in rows:
            feature, weight, *numbers = row.split(" ")
            start = len(self._topics)
            self._topics.extend(map(int, numbers[::2]))
            self._weights.extend(int(weight) * int(share) for share in numbers[1::2])
            self._rows[feature] = slice(start, len(self._topics))

    def row(self, feature: str) -> Row | None:
        """Where the topics stand in which a feature is used; None of one that tells nothing."""
        return self._rows.get(feature)

    def of(self, said: Iterable[tuple[Row | None, float]]) -> dict[int, float]:
        """What a text is about, by the rows of its features and how often it has each: its MOST topics, weights of the length 1."""
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
    """The topics of the data."""
    return Topics(resources.files(__package__).joinpath(_DATA).read_text(encoding="utf-8").splitlines())


def of_words(said: Sequence[str], lexicon: Lexicon) -> dict[int, float]:
    """What folded words are about; see Topics.of."""
    known = shared()
    return known.of((known.row(feature), 1.0) for feature in features_of(said, lexicon))
