"""How sure the search may be that its first hit is right, from 0 to 1, and what follows from it."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

ANSWER = 0.64  # from here on the first hit is the answer
ASK = 0.10  # from here on it is worth asking whether it was meant

# A logistic regression over 21,200 searches, which scripts/bench/fit.py repeats: "bots" made of 8, 20, 50 and all 150 intents of
# CLINC150 with 3 to 10 training phrasings an entry, asked by its validation set, and eight small businesses of our own in both
# languages, as they are, without other phrasings and as documents, which weigh more. A third of the questions had no answer in
# the bot. CLINC150's test set was never looked at.
_BIAS = -6.69
_WEIGHTS = {  # of each sign, and what the size of the index adds to it
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
    passage: float  # 1 where the first hit has no other phrasings and is found by its answer's sentences, as passages of documents are
    entries: float  # of the index, logarithmic
    phrasings: float  # of the first hit, logarithmic


def inputs(signs: Signs) -> tuple[float, ...]:
    """The numbers that are weighed: each sign, and each once more times the size of the index."""
    values = astuple(signs)
    return (*values, *(value * signs.entries for value in values))


def of(signs: Signs) -> float:
    """The probability that the first hit is right."""
    weights, with_size = zip(*_WEIGHTS.values(), strict=True)
    z = _BIAS + sum(weight * value for weight, value in zip((*weights, *with_size), inputs(signs), strict=True))
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, z))))


def decision(confidence: float) -> str:
    """What to do: "answer", "ask" or "abstain"."""
    if confidence >= ANSWER:
        return "answer"
    return "ask" if confidence >= ASK else "abstain"
