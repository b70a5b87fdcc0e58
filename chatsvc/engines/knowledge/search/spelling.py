"""Spelling correction: the known word that is nearest to a mistyped or inflected one."""

import heapq
from array import array
from collections.abc import Iterable

from chatsvc.engines.knowledge.search.stemming import trigrams
from chatsvc.language.edits import distance

_SHORTEST = 4  # letters; shorter words have too many neighbours
_BUDGET = 2_000  # trigram postings that one look-up may touch
_CLOSEST = 8  # words whose edit distance is computed


class Speller:
    """Trigram index of a vocabulary."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = [word for word in dict.fromkeys(words) if len(word) >= _SHORTEST and not word.isdigit()]
        self._holders: dict[str, array[int]] = {}
        for number, word in enumerate(self._words):
            for gram in trigrams(word):
                self._holders.setdefault(gram, array("I")).append(number)

    def nearest(self, word: str) -> str | None:
        """Return the word within edit distance 1 (2 for a long one), else None. One with the same beginning counts as well."""
        if len(word) < _SHORTEST or word.isdigit():
            return None
        shared: dict[int, int] = {}
        left = _BUDGET
        grams = [self._holders[gram] for gram in trigrams(word) if gram in self._holders]
        for holders in sorted(grams, key=len):
            for number in holders[:left]:
                shared[number] = shared.get(number, 0) + 1
            left -= len(holders)
            if left <= 0:
                break
        closest = heapq.nsmallest(_CLOSEST, shared, key=lambda number: (-shared[number], number))
        ranked = [(cost, -shared[number], number) for number in closest if (cost := _cost(word, self._words[number])) is not None]
        return self._words[min(ranked)[2]] if ranked else None


def _cost(word: str, known: str) -> int | None:
    """Return the distance of two words; None if they are different words."""
    allowed = 1 if min(len(word), len(known)) < 8 else 2
    if abs(len(word) - len(known)) <= allowed and (word[0] == known[0] or word[1:3] == known[1:3]):
        slips = distance(word, known, allowed)
        if slips <= allowed:
            return slips
    alike = 0
    for ours, theirs in zip(word, known, strict=False):
        if ours != theirs:
            break
        alike += 1
    return 3 if alike >= 5 and alike >= 0.7 * min(len(word), len(known)) else None
