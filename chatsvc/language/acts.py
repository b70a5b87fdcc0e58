"""Acts of a clause, kinds of questions and purposes of wishes.

scripts/train makes the weights from the training sentences.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from chatsvc.language import linear
from chatsvc.language.sentences import ACTS, FOLDER, KINDS, PURPOSES, TrainingSentence

FALLBACK = "en"  # language of the weights where a language has none
_FILE = "acts.weights"
_MODELS = (ACTS, KINDS, PURPOSES)


class ClauseReading(NamedTuple):
    """Probabilities of a clause; each sum to 1. `kinds` hold if it is a question, `purposes` if it is a wish to book."""

    acts: Mapping[str, float]
    kinds: Mapping[str, float]
    purposes: Mapping[str, float]


def classify(text: str, language: str, asked: str = "") -> ClauseReading:
    """Return the probabilities of a clause. `asked` is one of sentences.ASKED, "" where the bot had asked for nothing."""
    return reading(_table(language), text, asked)


def reading(table: bytes, text: str, asked: str) -> ClauseReading:
    """Return the probabilities of a clause by a table of weights."""
    found = linear.features(text, asked)
    return ClauseReading(*linear.probabilities(table, found, _MODELS))


def trained(given: Sequence[TrainingSentence]) -> bytes:
    """Return the content of a file of weights."""
    acts = linear.train(((one.act, one.text, one.asked) for one in given), ACTS)
    kinds = linear.train(((one.kind, one.text, one.asked) for one in given if one.act == "ask"), KINDS)
    purposes = linear.train(((one.kind, one.text, one.asked) for one in given if one.act == "book" and one.kind), PURPOSES)
    return digest(given) + linear.packed(acts, kinds, purposes)


def digest(given: Sequence[TrainingSentence]) -> bytes:
    """Return what the weights depend on as 32 bytes: the sentences, their features and how they are learnt."""
    made = hashlib.sha256(Path(linear.__file__).read_bytes())
    for one in given:
        made.update(f"{one}\n".encode())
    return made.digest()


def path(language: str) -> Path:
    """Return the path of the weights of a language."""
    return FOLDER / language / _FILE


@cache
def _table(language: str) -> bytes:
    file = path(language)
    return file.read_bytes()[32:] if file.is_file() else _table(FALLBACK)
