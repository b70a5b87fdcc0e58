"""How sure the search may be that its first hit is right, from 0 to 1, and what follows from it."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

ANSWER = 0.64  # from here on the first hit is the answer
ASK = 0.10  # from here on it is worth asking whether it was meant

# A logistic regression over 17,500 searches, which scripts/bench/fit.py repeats: "bots" made of 8, 20, 50 and all 150 intents of
# CLINC150 with 3 to 10 training phrasings an entry, asked by its validation set, and eight small businesses of our own in both
# languages, which weigh more. A third of the questions had no answer in the bot. CLINC150's test set was never looked at.
_BIAS = -5.50
_WEIGHTS = (-2.14, 3.42, 0.08, -1.01, -1.12, 1.93, 0.29, 1.21, -5.11, 0.21, 5.71, -0.90, 2.99, 2.82, -0.76, -2.64)  # in the order of Signs
# what the size of the index adds to each of them
_WITH_SIZE = (3.93, -3.25, -0.86, -2.32, 1.55, -1.87, 2.90, 0.64, 9.22, 4.90, -7.48, 2.00, -2.47, -2.27, 0.48, 2.65)


@dataclass(frozen=True, slots=True)
class Signs:
    """What a search shows of its own certainty; each about 0 to 1."""

    score: float  # of the first hit
    coverage: float  # share of what the question's words say that its entry explains
    known: float  # share of it that the index knows at all
    alien: float  # words that the lexicon knows and the index does not: they tell more the smaller it is
    stray: float  # words that only other entries explain
    back: float  # share of what its best phrasing says that the question says, too
    margin: float  # distance to the second entry, as a share of the first one's score
    share: float  # of the first hit in all candidates' scores, squared
    letters: float  # likeness to its best phrasing in letter triples
    spelled: float  # share of the question's letter triples that occur in any of its phrasings
    topics: float  # how much its first hit is about what the question is about
    others: float  # how much the one of its rivals is that is so most
    content: float  # of the question, in words that are no stop words
    length: float  # of the question, in words
    entries: float  # of the index, logarithmic
    phrasings: float  # of the first hit, logarithmic


def inputs(signs: Signs) -> tuple[float, ...]:
    """The numbers that are weighed: each sign, and each once more times the size of the index."""
    values = astuple(signs)
    return (*values, *(value * signs.entries for value in values))


def of(signs: Signs) -> float:
    """The probability that the first hit is right."""
    z = _BIAS + sum(weight * value for weight, value in zip((*_WEIGHTS, *_WITH_SIZE), inputs(signs), strict=True))
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, z))))


def decision(confidence: float) -> str:
    """What to do: "answer", "ask" or "abstain"."""
    if confidence >= ANSWER:
        return "answer"
    return "ask" if confidence >= ASK else "abstain"
