"""How sure the search may be that its first hit is right, from 0 to 1, and what follows from it."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

ANSWER = 0.60  # from here on the first hit is the answer
ASK = 0.22  # from here on it is worth asking whether it was meant

# A logistic regression (Newton's method, a little L2) over 22,500 searches: "bots" made of 8, 20, 50 and all 150 intents of
# CLINC150 with 1 to 10 training phrasings an entry, asked by its validation set. A third of the questions had no answer in
# the bot (other intents, and out-of-scope questions of the training and validation sets). Its test set was never looked at.
_BIAS = -5.13
_WEIGHTS = (4.81, 0.86, -0.21, -2.21, 0.62, 0.84, 1.50, 0.06, 2.71, 1.41, 1.45, 0.01, -1.49)  # in the order of Signs


@dataclass(frozen=True, slots=True)
class Signs:
    """What a search shows of its own certainty; each about 0 to 1."""

    score: float  # of the first hit
    coverage: float  # share of what the question's words say that its entry explains
    known: float  # share of it that the index knows at all
    alien: float  # words that the lexicon knows and the index does not: they tell more the smaller it is
    back: float  # share of what its best phrasing says that the question says, too
    margin: float  # distance to the second entry, as a share of the first one's score
    share: float  # of the first hit in all candidates' scores, squared
    letters: float  # likeness to its best phrasing in letter triples
    spelled: float  # share of the question's letter triples that occur in any of its phrasings
    content: float  # of the question, in words that are no stop words
    length: float  # of the question, in words
    entries: float  # of the index, logarithmic
    phrasings: float  # of the first hit, logarithmic


def of(signs: Signs) -> float:
    """The probability that the first hit is right."""
    z = _BIAS + sum(weight * value for weight, value in zip(_WEIGHTS, astuple(signs), strict=True))
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, z))))


def decision(confidence: float) -> str:
    """What to do: "answer", "ask" or "abstain"."""
    if confidence >= ANSWER:
        return "answer"
    return "ask" if confidence >= ASK else "abstain"
