"""Which entries hold a feature, and with what weight: flat arrays, a few bytes a posting, for 50,000 entries too."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

# How many postings one search may touch: about a millisecond. The rare features come first, so that what is left out
# is the words that half of the entries share; the ranking of the candidates counts them all the same.
BUDGET = 12_000


class Postings:
    """Feature number -> (entry number, weight), read only."""

    def __init__(self, features: int, starts: Sequence[int], numbers: Sequence[int], weights: Sequence[float]) -> None:
        """Turn rows over: entry i has the features `numbers[starts[i]:starts[i + 1]]` with their `weights`."""
        offsets = array("I", bytes(4 * (features + 1)))
        for number in numbers:
            offsets[number + 1] += 1
        for number in range(features):
            offsets[number + 1] += offsets[number]
        self._offsets = offsets
        self._entries = array("I", bytes(4 * len(numbers)))
        self._weights = array("f", bytes(4 * len(numbers)))
        free = array("I", offsets)
        for entry in range(len(starts) - 1):
            for at in range(starts[entry], starts[entry + 1]):
                place = free[numbers[at]]
                free[numbers[at]] = place + 1
                self._entries[place] = entry
                self._weights[place] = weights[at]

    def count(self, feature: int) -> int:
        """How many entries hold the feature."""
        return self._offsets[feature + 1] - self._offsets[feature]

    def accumulate(self, query: Sequence[tuple[int, float]]) -> dict[int, float]:
        """Entry number -> sum of weight products over the query's features, within BUDGET."""
        scores: dict[int, float] = {}
        left = BUDGET
        for feature, weight in sorted(query, key=lambda pair: (self.count(pair[0]), pair[0])):
            start, stop = self._offsets[feature], self._offsets[feature + 1]
            if stop - start > left and scores:
                break
            stop = min(stop, start + BUDGET)
            for entry, value in zip(self._entries[start:stop], self._weights[start:stop], strict=True):
                scores[entry] = scores.get(entry, 0.0) + weight * value
            left -= stop - start
        return scores
