"""Confidence (0 to 1) of a search in its first hit: one of the signs from which the answer's own is computed.

The confidence is the sum of gradient-boosted decision trees over the signals of a search. scripts/bench/fit.py fits the trees and
writes them to `confidence.txt`: a tree has the same depth everywhere, and its line holds the splits level by level, then the leaves.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from operator import attrgetter

from chatsvc.language.wordlists import WordFile


@dataclass(frozen=True, slots=True)
class Signals:
    """Inputs of the confidence, each about 0 to 1."""

    score: float  # of the first hit
    coverage: float  # share of the question's information that the entry explains
    known: float  # share of it that the index knows
    alien: float  # words that the lexicon knows and the index does not, weighted by the size of the index
    stray: float  # words that only other entries explain
    back: float  # share of the best phrasing's information that the question holds
    margin: float  # distance to the second entry, as a share of the first one's score
    share: float  # of the first hit in all candidates' scores, squared
    letters: float  # cosine of letter trigrams with the best phrasing
    spelled: float  # share of the question's letter trigrams that occur in any of its phrasings
    topics: float  # topic similarity of the first hit
    others: float  # greatest topic similarity of a rival
    content: float  # of the question, in words that are no stop words
    length: float  # of the question, in words
    passage: float  # 1 where the first hit has no other phrasings and is found by its answer's sentences, as passages of documents are
    entries: float  # of the index, logarithmic
    phrasings: float  # of the first hit, logarithmic
    apart: float  # share of the question's information in words that the entry lacks and that belong to other topics


NAMES = tuple(field.name for field in fields(Signals))
_values = attrgetter(*NAMES)  # `astuple` copies and takes ten times as long
_FILE = WordFile("engines/knowledge/search/confidence.txt")


@dataclass(frozen=True, slots=True)
class Tree:
    """A complete binary decision tree. A split is (number of the signal, greatest value that goes left)."""

    splits: tuple[tuple[int, float], ...]
    leaves: tuple[float, ...]

    def value(self, values: Sequence[float]) -> float:
        """Return the leaf that the values lead to."""
        at, inner = 0, len(self.splits)
        while at < inner:
            signal, most = self.splits[at]
            at = 2 * at + 1 + (values[signal] > most)
        return self.leaves[at - inner]


def tree_of(line: str) -> Tree:
    """Parse a tree: splits as `coverage<0.5`, then the leaves."""
    items = line.split()
    named = [item.partition("<") for item in items if "<" in item]
    splits = tuple((NAMES.index(name), float(most)) for name, _, most in named)
    return Tree(splits, tuple(map(float, items[len(splits) :])))


_BIAS = float(_FILE.text("bias"))
_TREES = tuple(tree_of(line) for name, line in _FILE.entries if name == "tree")


def of(signals: Signals) -> float:
    """Return the probability that the first hit is right."""
    return probability(signals, _BIAS, _TREES)


def probability(signals: Signals, bias: float, trees: Sequence[Tree]) -> float:
    """Return the probability according to these trees."""
    values = _values(signals)
    z = bias + sum(tree.value(values) for tree in trees)
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, z))))
