"""Topic model: relates a question to entries that share no word with it.

"I'm on crutches" and "is there a lift" share no word and no concept, but both belong to the topic of access. `languages/topics.txt`
gives for each stem and concept the topics in which visitors use it. The topics of a text are the sum of its words' topics.
"""

import math
from array import array
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import repeat
from operator import add, mul, truediv
from pathlib import Path

from chatsvc.language import wordlists

MOST = 16  # topics kept of a text
DIMENSIONS = 64  # of the space in which topics lie
LEVELS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"  # digits of a number, from the least to the greatest
ZERO = 31  # the digit of the coordinate 0

Vector = tuple[float, ...]


def unit(vector: Vector) -> Vector:
    length = math.sqrt(sum(map(mul, vector, vector)))
    return tuple(map(truediv, vector, repeat(length))) if length else ()


def dot(vector: Sequence[float], other: Sequence[float]) -> float:
    """Return the dot product of two vectors, which is the cosine of their angle if both have length 1."""
    return float(sum(map(mul, vector, other)))


class Topics:
    """The topic model: features, their weights and their topics."""

    def __init__(self, lines: Iterable[str]) -> None:
        names, coordinates, *rows = (line for line in lines if not line.startswith("#"))
        value_of = {digit: value for value, digit in enumerate(LEVELS)}
        self.names = names.split("\t")
        self._coordinates = [[float(LEVELS.index(letter) - ZERO) for letter in digits] for digits in coordinates.split("\t")]
        self._direction = cache(self._sum)
        self._rows: dict[str, slice] = {}
        self._topics, self._weights = array("H"), array("f")
        for row in rows:
            feature, weight, digits = row.split(" ")
            start, values = len(self._topics), [value_of[digit] for digit in digits]
            self._topics.extend(len(LEVELS) * high + low for high, low in zip(values[::3], values[1::3], strict=True))
            self._weights.extend(int(weight) * root * root for root in values[2::3])
            self._rows[feature] = slice(start, len(self._topics))

    def __contains__(self, feature: str) -> bool:
        return feature in self._rows

    def of(self, counted: Iterable[tuple[str, float]]) -> dict[int, float]:
        """Return the topics of a text from its features and their counts: a sparse vector of length 1."""
        total: dict[int, float] = {}
        for feature, count in counted:
            if (row := self._rows.get(feature)) is not None:
                for topic, weight in zip(self._topics[row], self._weights[row], strict=True):
                    total[topic] = total.get(topic, 0.0) + count * weight
        first = sorted(total.items(), key=lambda item: (-item[1], item[0]))[:MOST]
        weights = dict(first).values()
        length = math.sqrt(sum(map(mul, weights, weights))) or 1.0
        return {topic: weight / length for topic, weight in first}

    def direction(self, features: Iterable[str]) -> Vector:
        """Return the vector of a text from its features. It has length 1; texts about related topics have similar vectors."""
        total: Vector = ()
        for feature in features:
            if feature in self._rows:
                own = self._direction(feature)
                total = tuple(map(add, total, own)) if total else own
        return unit(total)

    def _sum(self, feature: str) -> Vector:
        row, total = self._rows[feature], [0.0] * DIMENSIONS
        for topic, weight in zip(self._topics[row], self._weights[row], strict=True):
            total = [have + weight * more for have, more in zip(total, self._coordinates[topic], strict=True)]
        return tuple(total)


@cache
def shared() -> Topics:
    return Topics(Path(wordlists.FOLDER, "topics.txt").read_text(encoding="utf-8").splitlines())
