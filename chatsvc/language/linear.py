"""Linear model of a clause: words, pairs of words, letter n-grams, and what the bot had asked for.

An averaged perceptron: the same sentences in the same order always give the same weights.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import exp

from chatsvc.domain.folding import fold

MOST_WORDS = 40  # of a clause that are looked at
_MOST_CHARACTERS = 1_000
_WORD = re.compile(r"[^\W_]{1,20}")
_GRAMS = (3, 4)  # letters
_ROUNDS = 10
_SCALE = 0.1  # of a score before it becomes a probability


def features(text: str, asked: str) -> list[str]:
    """Return the features of a clause after a question of the bot ("" for none)."""
    said = _WORD.findall(fold(text[:_MOST_CHARACTERS]))[:MOST_WORDS]
    made = [f"@{asked}", f"@{asked} {min(len(said), 4)}", *(f"@{asked} {word}" for word in said if asked)]
    made += ["?" * ("?" in text), f"<{len(said) // 3}", *said, *(f"{one} {next_}" for one, next_ in pairwise(("<", *said, ">")))]
    for word in said:
        padded = f"_{word}_"
        made += {padded[at : at + size] + "~" for size in _GRAMS for at in range(len(padded) - size + 1)}
    return sorted(set(made))


class LinearModel:
    """Weights of each label by feature. `labels` keep their order."""

    def __init__(self, labels: Sequence[str], weights: Mapping[str, Mapping[int, float]]) -> None:
        self.labels = tuple(labels)
        self._weights = weights

    def probabilities(self, text: str, asked: str = "") -> dict[str, float]:
        """Return the probability of each label for a clause."""
        scores = _scores(self._weights, features(text, asked), len(self.labels))
        highest = max(scores)
        grown = [exp(_SCALE * (score - highest)) for score in scores]
        return {label: one / sum(grown) for label, one in zip(self.labels, grown, strict=True)}

    def best(self, text: str, asked: str = "") -> str:
        """Return the most probable label for a clause."""
        scores = _scores(self._weights, features(text, asked), len(self.labels))
        return self.labels[scores.index(max(scores))]


def train(examples: Iterable[tuple[str, str, str]]) -> LinearModel:
    """Train on examples of label, text and what the bot had asked for."""
    given = [(label, features(text, asked)) for label, text, asked in examples]
    labels = sorted({label for label, _ in given})
    place = {label: at for at, label in enumerate(labels)}
    weights: dict[str, dict[int, float]] = {}
    sums: dict[str, dict[int, float]] = {}
    step = 0
    for round_ in range(_ROUNDS):
        for at in range(len(given)):
            label, found = given[(at * 7919 + round_) % len(given)]  # spread over the labels, which stand together in the files
            step += 1
            right = place[label]
            scores = _scores(weights, found, len(labels))
            guessed = max(range(len(labels)), key=lambda one: (scores[one] + (one != right), -one))
            if guessed != right:
                for feature in found:
                    for one, change in ((right, 1.0), (guessed, -1.0)):
                        own, total = weights.setdefault(feature, {}), sums.setdefault(feature, {})
                        own[one] = own.get(one, 0.0) + change
                        total[one] = total.get(one, 0.0) + change * step
    averaged = {feature: {one: weight - sums[feature][one] / step for one, weight in own.items()} for feature, own in weights.items()}
    return LinearModel(labels, averaged)


def _scores(weights: Mapping[str, Mapping[int, float]], found: Iterable[str], count: int) -> list[float]:
    scores = [0.0] * count
    for feature in found:
        for one, weight in weights.get(feature, {}).items():
            scores[one] += weight
    return scores
