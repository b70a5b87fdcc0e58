"""How sure the search may be that its first hit is right, from 0 to 1, and what follows from it."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

ANSWER = 0.64  # from here on the first hit is the answer
ASK = 0.10  # from here on it is worth asking whether it was meant

# A logistic regression over 18,900 searches, which scripts/bench/fit.py repeats: "bots" made of 8, 20, 50 and all 150 intents of
# CLINC150 with 3 to 10 training phrasings an entry, asked by its validation set, and eight small businesses of our own in both
# languages, as questions and as documents, which weigh more. A third of the questions had no answer in the bot. CLINC150's test
# set was never looked at.
_BIAS = -6.46
_WEIGHTS = {  # of each sign, and what the size of the index adds to it
    "score": (-3.04, 5.04),
    "coverage": (3.61, -3.46),
    "known": (0.33, -1.26),
    "alien": (-0.52, -3.64),
    "stray": (-0.87, 1.11),
    "back": (2.02, -1.98),
    "margin": (0.15, 2.96),
    "share": (1.47, 0.39),
    "letters": (-4.44, 8.05),
    "spelled": (0.20, 4.92),
    "topics": (5.75, -7.49),
    "others": (-0.92, 2.13),
    "content": (3.54, -3.26),
    "length": (2.84, -2.15),
    "passage": (0.56, 0.16),
    "entries": (0.34, 0.82),
    "phrasings": (-2.71, 2.85),
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
    passage: float  # 1 where the first hit is a passage of a document, which is found by its sentences
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
