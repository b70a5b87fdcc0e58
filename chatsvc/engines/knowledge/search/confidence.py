"""Confidence (0 to 1) that the first hit is right, and the decision that follows from it."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

ANSWER = 0.64  # least confidence of an answer
HEDGE = 0.32  # least confidence of a hedged answer
ASK = 0.15  # least confidence of asking back

# A logistic regression over 21,200 searches, which scripts/bench/fit.py repeats: bots made of 8, 20, 50 and all 150 intents of
# CLINC150 with 3 to 10 training phrasings an entry, asked by its validation set, and eight small businesses of our own in both
# languages, as they are, without other phrasings and as documents, which weigh more. A third of the questions had no answer in
# the bot. CLINC150's test set was never looked at.
_BIAS = -6.69
_WEIGHTS = {  # of each signal, and of its product with the size of the index
    "score": (-3.07, 5.30),
    "coverage": (4.20, -4.10),
    "known": (0.42, -1.50),
    "alien": (-0.66, -3.48),
    "stray": (-1.16, 1.87),
    "back": (1.75, -1.77),
    "margin": (0.37, 2.27),
    "share": (1.13, 0.58),
    "letters": (-2.84, 6.28),
    "spelled": (-0.55, 5.92),
    "topics": (6.27, -7.88),
    "others": (-1.34, 2.12),
    "content": (3.71, -3.30),
    "length": (2.96, -2.75),
    "passage": (1.00, -1.90),
    "entries": (-0.35, 2.87),
    "phrasings": (-1.72, 1.14),
}


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


def inputs(signals: Signals) -> tuple[float, ...]:
    """Return the inputs of the regression: each signal, and each times the size of the index."""
    values = astuple(signals)
    return (*values, *(value * signals.entries for value in values))


def of(signals: Signals) -> float:
    """Return the probability that the first hit is right."""
    weights, with_size = zip(*_WEIGHTS.values(), strict=True)
    z = _BIAS + sum(weight * value for weight, value in zip((*weights, *with_size), inputs(signals), strict=True))
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, z))))


def decision(confidence: float) -> str:
    """Return "answer", "ask" or "abstain"."""
    if confidence >= ANSWER:
        return "answer"
    return "ask" if confidence >= ASK else "abstain"
