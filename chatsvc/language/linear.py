"""Multinomial logistic regression over the features of a clause.

Features are words, pairs of words, letter n-grams and what the bot had asked for. They are hashed into a table
with a row for each bucket and a byte for each label. The same sentences in the same order always give the same table.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import exp
from zlib import crc32

from chatsvc.domain.folding import fold

MOST_WORDS = 40  # of a clause that are looked at
_MOST_CHARACTERS = 1_000
_WORD = re.compile(r"[^\W_]{1,20}@?")
_MAIL = re.compile(r"\S{1,64}@\S{1,64}")
_DIGITS = re.compile(r"\d+")
_GRAMS = (3, 4)  # letters
BUCKETS = 1 << 15
_ROUNDS = 8
_RATE = 0.04  # of learning, at the beginning; it falls to a tenth
_SMALL = 0.005  # an error below this changes nothing
_UNIT = 0.02  # of a weight in the table
_ZERO = 128  # byte of a weight of nothing


def features(text: str, asked: str) -> list[int]:
    """Return the buckets of a clause after a question of the bot ("" for none)."""
    text = text[:_MOST_CHARACTERS]
    said = [_masked(word) for word in _WORD.findall(_MAIL.sub(" mail@ ", fold(text)))[:MOST_WORDS]]
    count = len(said)
    made = {"", f"@{asked}", *said}
    made.update(f"{one[:5]}~{next_[:5]}" for one, next_ in pairwise(said))
    if asked:
        made.update(f"@{asked} {word}" for word in said)
        made.update(f"@ {word}" for word in said)
    if said:
        made.update((f"@{asked} {min(count, 4)}", f"<{count if count < 6 else 6 + count // 4}"))
        made.update(f"{one} {next_}" for one, next_ in pairwise(("<", *said, ">")))
        made.update((f"{said[0]}<", f">{said[-1]}", f"{' '.join(said[:2])}<", f">{' '.join(said[-2:])}", f"{said[0]}...{said[-1]}"))
    made.update(f"{sign}{sign}" for sign in text if not sign.isalnum() and not sign.isspace())
    for word in said:
        padded = f"_{word}_"
        made.add(f"{word[:5]}~")
        for size in _GRAMS:
            made.update(f"{padded[at : at + size]}~~" for at in range(len(padded) - size + 1))
    return sorted({crc32(one.encode("utf-8", "surrogatepass")) % BUCKETS for one in made})


def _masked(word: str) -> str:
    """Return a word without its digits: a number keeps its length, `3pm` becomes `#pm`."""
    return f"#{min(len(word), 5)}" if word.isdigit() else _DIGITS.sub("#", word)


def probabilities(table: bytes, found: Iterable[int], models: Iterable[Sequence[str]]) -> list[dict[str, float]]:
    """Return for each model the probability of each label. Their labels are the columns of the table."""
    models = tuple(models)
    width = sum(map(len, models))
    rows = [table[at * width : (at + 1) * width] for at in found]
    scores = [_UNIT * (sum(column) - _ZERO * len(rows)) for column in zip(*rows, strict=True)]
    made: list[dict[str, float]] = []
    for labels in models:
        made.append(dict(zip(labels, _softmax(scores[: len(labels)]), strict=True)))
        del scores[: len(labels)]
    return made


def train(examples: Iterable[tuple[str, str, str]], labels: Sequence[str]) -> list[list[float]]:
    """Return the weights of each bucket by label. An example is a label, a text and what the bot had asked for."""
    given = [(labels.index(label), features(text, asked)) for label, text, asked in examples]
    weights = [[0.0] * len(labels) for _ in range(BUCKETS)]
    step = next(one for one in (7919, 7907, 7901) if len(given) % one)  # spreads the labels, which stand together in the files
    for round_ in range(_ROUNDS):
        rate = _RATE * (1 - 0.9 * round_ / _ROUNDS)
        for at in range(len(given)):
            right, found = given[(at * step + round_) % len(given)]
            rows = [weights[bucket] for bucket in found]
            errors = _softmax([sum(column) for column in zip(*rows, strict=True)])
            errors[right] -= 1.0
            changes = [(label, rate * error) for label, error in enumerate(errors) if abs(error) >= _SMALL]
            for row in rows:
                for label, change in changes:
                    row[label] -= change
    return weights


def packed(*models: Sequence[Sequence[float]]) -> bytes:
    """Return the table of models that share the features."""
    rows = (weight for bucket in zip(*models, strict=True) for row in bucket for weight in row)
    return bytes(min(max(_ZERO + round(weight / _UNIT), 0), 255) for weight in rows)


def best(told: Mapping[str, float]) -> str:
    """Return the most probable label."""
    return max(told, key=lambda label: told[label])


def _softmax(scores: Sequence[float]) -> list[float]:
    highest = max(scores)
    grown = [exp(score - highest) for score in scores]
    total = sum(grown)
    return [one / total for one in grown]
