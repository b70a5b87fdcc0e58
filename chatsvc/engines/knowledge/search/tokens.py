"""Stems, letter trigrams and stop words of folded words, and the correction of misspelt ones."""

import heapq
from array import array
from collections.abc import Iterable
from functools import lru_cache

from chatsvc.language.symbols import distance
from chatsvc.language.wordlists import LanguageWords

_FILE = LanguageWords("search.txt")
STOPWORDS = _FILE.words("stop")  # they weigh less but are not dropped: "how much" and "ne zaman" do say something
_LIGHT = STOPWORDS | _FILE.words("light")
_TURKISH_SUFFIXES = _FILE.files["tr"].words("suffixes")
_LONGEST = max(map(len, _TURKISH_SUFFIXES))
_VOWELS = frozenset("aeiou")
_HARD = {"g": "k", "b": "p"}  # what a Turkish word ends in without a suffix
_ENGLISH_SUFFIXES = [(ending, instead) for ending, _, instead in (item.partition("=") for item in _FILE.files["en"].items("suffixes"))]
_SHORTEST = 4  # letters of a word that is corrected; shorter words have too many neighbours
_BUDGET = 2_000  # trigram postings that one look-up may touch
_CLOSEST = 8  # words whose edit distance is computed


@lru_cache(maxsize=8_192)
def is_light(word: str) -> bool:
    """Return whether a folded word says little about what is asked: a stop word, a number, a time, a frequent verb."""
    return word in _LIGHT or word[0].isdigit()


@lru_cache(maxsize=8_192)
def stem(word: str) -> str:
    """Return the approximate stem of a folded word by the rules of both languages."""
    if len(word) <= 4 or word.isdigit():
        return word[:-1] if len(word) == 4 and word.endswith("s") and not word.endswith("ss") else word
    whole = word
    for _ in range(2):  # evlerinizde: -de, then -leriniz
        cut = next((start for start in range(max(4, len(word) - _LONGEST), len(word)) if word[start:] in _TURKISH_SUFFIXES), None)
        if cut is None:
            break
        word = word[:cut]
    for ending, instead in _ENGLISH_SUFFIXES:
        if word.endswith(ending) and len(word) - len(ending) + len(instead) >= 4:
            word = word[: -len(ending)] + instead
            break
    if len(word) > 5 and word[-1] in "aiu":  # fiyat-i, fiyat-a
        word = word[:-1]
    if len(word) > 4 and word[-1] == word[-2]:  # shipp(ing) -> ship
        word = word[:-1]
    if whole[len(word) :][:1] in _VOWELS and word[-2] in _VOWELS:  # köpeğ(im) -> köpek
        word = word[:-1] + _HARD.get(word[-1], word[-1])
    return word


@lru_cache(maxsize=8_192)
def trigrams(word: str) -> tuple[str, ...]:
    """Return the distinct letter trigrams of a word with its edges marked, in order."""
    framed = f"^{word}$"
    return tuple(dict.fromkeys([framed[start : start + 3] for start in range(len(framed) - 2)]))


class Speller:
    """Trigram index of a vocabulary that corrects spelling."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = [word for word in dict.fromkeys(words) if len(word) >= _SHORTEST and not word.isdigit()]
        self._holders: dict[str, array[int]] = {}
        for number, word in enumerate(self._words):
            for gram in trigrams(word):
                self._holders.setdefault(gram, array("I")).append(number)

    def nearest(self, word: str) -> str | None:
        """Return the most similar word with edit distance 1 (2 for a long word) or the same beginning, or None."""
        if len(word) < _SHORTEST or word.isdigit():
            return None
        shared: dict[int, int] = {}
        left = _BUDGET
        for holders in sorted((self._holders[gram] for gram in trigrams(word) if gram in self._holders), key=len):
            for number in holders[:left]:
                shared[number] = shared.get(number, 0) + 1
            left -= len(holders)
            if left <= 0:
                break
        closest = heapq.nsmallest(_CLOSEST, shared, key=lambda number: (-shared[number], number))
        ranked = [(cost, -shared[number], number) for number in closest if (cost := _cost(word, self._words[number])) is not None]
        return self._words[min(ranked)[2]] if ranked else None


def _cost(word: str, known: str) -> int | None:
    allowed = 1 if min(len(word), len(known)) < 8 else 2
    if abs(len(word) - len(known)) <= allowed and (word[0] == known[0] or word[1:3] == known[1:3]):
        slips = distance(word, known, allowed)
        if slips <= allowed:
            return slips
    alike = sum(word[:length] == known[:length] for length in range(1, min(len(word), len(known)) + 1))
    return 3 if alike >= 5 and alike >= 0.7 * min(len(word), len(known)) else None
