"""Which entries hold a feature, and with what weight: flat arrays, three bytes a posting, for 50,000 entries too."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence

# How many postings one search may touch: about a millisecond. The rare features come first, so that what is left out
# is the words that half of the entries share.
BUDGET = 8_000
_SMALL = 1 << 16  # so many entries have a number of two bytes
_UNIT = 255  # the root of a weight of 1.0; roots are kept as whole numbers, which keeps small weights apart
_WEIGHTS = [(root / _UNIT) ** 2 for root in range(_UNIT + 1)]


class Postings:
    """Feature number -> (entry number, weight). To be filled once, with as many postings a feature as was said."""

    def __init__(self, counts: Sequence[int], entries: int) -> None:
        """Make room for `counts[feature]` postings of so many entries."""
        self._offsets = array("I", [0])
        total = 0
        for count in counts:
            total += count
            self._offsets.append(total)
        self._free = self._offsets[:-1]
        number = array("H" if entries <= _SMALL else "I")
        self._entries = array(number.typecode, bytes(number.itemsize * total))
        self._weights = bytearray(total)

    def put(self, entry: int, weights: Iterable[tuple[int, float]]) -> None:
        """The features of one entry, each with its weight from 0 to 1."""
        for feature, weight in weights:
            place = self._free[feature]
            self._free[feature] = place + 1
            self._entries[place] = entry
            self._weights[place] = int(math.sqrt(weight) * _UNIT + 0.5)

    def filled(self) -> None:
        """Nothing more will be put."""
        self._free = array("I")

    def count(self, feature: int) -> int:
        """How many entries hold the feature."""
        return self._offsets[feature + 1] - self._offsets[feature]

    def holds(self, feature: int, entry: int) -> bool:
        """Whether the entry holds the feature."""
        return entry in self._entries[self._offsets[feature] : self._offsets[feature + 1]]

    def accumulate(self, query: Iterable[tuple[int, float]], budget: int = BUDGET) -> dict[int, float]:
        """Entry number -> sum of weight products over the query's features, within the budget."""
        scores: dict[int, float] = {}
        left = budget
        for feature, weight in sorted(query, key=lambda pair: (self.count(pair[0]), pair[0])):
            start, stop = self._offsets[feature], self._offsets[feature + 1]
            if stop - start > left and scores:
                break
            stop = min(stop, start + budget)
            for entry, value in zip(self._entries[start:stop], self._weights[start:stop], strict=True):
                scores[entry] = scores.get(entry, 0.0) + weight * _WEIGHTS[value]
            left -= stop - start
        return scores
