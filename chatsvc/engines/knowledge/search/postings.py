"""Postings lists. The entries that hold a feature with their weights, in flat arrays of three bytes a posting."""

import math
from array import array
from collections.abc import Iterable, Sequence

# Postings that one search may touch, about a millisecond. Rare features come first; frequent ones are dropped.
BUDGET = 8_000
_SMALL = 1 << 16  # entry numbers up to this fit in two bytes
_UNIT = 255  # code of the weight 1.0; square roots are stored, which keeps small weights distinct
_WEIGHTS = [(root / _UNIT) ** 2 for root in range(_UNIT + 1)]


class Postings:
    """Map of feature numbers to (entry number, weight). Filled once with the announced number of postings."""

    def __init__(self, counts: Sequence[int], entries: int) -> None:
        """Allocate `counts[feature]` postings for each feature."""
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
        """Add the features of one entry, each with its weight from 0 to 1."""
        for feature, weight in weights:
            place = self._free[feature]
            self._free[feature] = place + 1
            self._entries[place] = entry
            self._weights[place] = int(math.sqrt(weight) * _UNIT + 0.5)

    def filled(self) -> None:
        """Free the bookkeeping of `put`; nothing can be added after this."""
        self._free = array("I")

    def count(self, feature: int) -> int:
        """Return how many entries hold the feature."""
        return self._offsets[feature + 1] - self._offsets[feature]

    def holds(self, feature: int, entry: int) -> bool:
        """Return whether the entry holds the feature."""
        return entry in self._entries[self._offsets[feature] : self._offsets[feature + 1]]

    def accumulate(self, query: Iterable[tuple[int, float]], budget: int = BUDGET) -> dict[int, float]:
        """Return the dot product of the query with each entry, within the budget of postings."""
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
