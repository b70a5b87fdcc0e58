"""What a phrasing is found by: its words, their stems, pairs of neighbours, and the concepts of the lexicon.

A feature is a short string whose first letter tells its kind; how much it weighs hangs on the kind and on whether the word
is a stop word, and never on the phrasing it stands in, so that an index keeps one weight a feature.
"""

from __future__ import annotations

from collections.abc import Sequence

from chatsvc.engines.knowledge import lexicon
from chatsvc.engines.knowledge.stopwords import STOPWORDS
from chatsvc.engines.knowledge.text import stem

# Found by trying on CLINC150's validation set (not its test set) with 2 and 10 phrasings an entry.
WORD = 1.0
STEM = 1.1
PAIR = 0.8
CONCEPT = 1.3
STOP = 0.7  # what is left of a stop word's weight

_EDGE = "^"


def of(words: Sequence[str]) -> dict[str, float]:
    """The features of one phrasing, in the order in which they come up, with their weights."""
    found: dict[str, float] = {}
    for word in words:
        for feature, weight in of_word(word):
            found.setdefault(feature, weight)
    for feature, weight in pairs(words):
        found.setdefault(feature, weight)
    for feature, weight in concepts(words):
        found.setdefault(feature, weight)
    return found


def of_word(word: str) -> tuple[tuple[str, float], tuple[str, float]]:
    """A word as it stands and its stem."""
    kept = STOP if word in STOPWORDS else 1.0
    return ("w" + word, WORD * kept), ("s" + stem(word), STEM * kept)


def concepts_of(word: str) -> list[tuple[str, float]]:
    """What one word stands for."""
    return [("c" + name, CONCEPT) for name in lexicon.of_word(word)]


def concepts(words: Sequence[str]) -> list[tuple[str, float]]:
    """What the words and expressions of a phrasing stand for."""
    return [("c" + match.concept, CONCEPT) for match in lexicon.find(words)]


def pairs(words: Sequence[str]) -> list[tuple[str, float]]:
    """Neighbouring stems; the first and the last word pair with the edge, for how a question opens says much."""
    if not words:
        return []
    found: list[tuple[str, float]] = []
    before, weak = _EDGE, True
    for word in words:
        here, stops = stem(word), word in STOPWORDS
        found.append((f"p{before} {here}", PAIR * (STOP if weak and stops else 1.0)))
        before, weak = here, stops
    found.append((f"p{before} {_EDGE}", PAIR * (STOP if weak else 1.0)))
    return found
