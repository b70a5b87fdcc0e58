"""How sure the search may be that its first hit is right, from 0 to 1, and what follows from it."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

ANSWER = 0.72  # from here on the first hit is the answer
ASK = 0.30  # from here on it is worth asking whether it was meant

_BIAS = -5.0
_WEIGHTS = (4.0, 3.0, 2.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Signs:
    """What a search shows of its own certainty; each about 0 to 1."""

    score: float  # of the first hit
    phrasing: float  # likeness of its best phrasing
    coverage: float  # share of the informative words that it explains
    margin: float  # distance to the second entry, as a share of the first one's score
    letters: float  # letter triples shared with its best phrasing
    agreement: float  # 1 where the entry as a whole and the best phrasing name the same entry
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
