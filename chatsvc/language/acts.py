"""Acts of a clause, kinds of questions and purposes of wishes.

scripts/train makes the weights from the training sentences.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from chatsvc.language import linear
from chatsvc.language.folding import words
from chatsvc.language.sentences import ACTS, FOLDER, KINDS, PURPOSES, TrainingSentence
from chatsvc.language.wordlists import WordFile

FALLBACK = "en"  # language of the weights where a language has none
_FILE, _CARRIERS = "acts.weights", "carriers.txt"
_STEM = 5  # letters of a word without its suffixes
_OFTEN, _FEWEST = 0.01, 2  # share and number of an act's sentences with a word that carries it
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
    kinds = linear.train(((one.kind, one.text, one.asked) for one in given if one.act == "ask" and one.kind), KINDS)
    purposes = linear.train(((one.kind, one.text, one.asked) for one in given if one.act == "book" and one.kind), PURPOSES)
    return digest(given) + linear.packed(acts, kinds, purposes)


def digest(given: Sequence[TrainingSentence]) -> bytes:
    """Return what the weights depend on as 32 bytes: the sentences, their features and how they are learnt."""
    made = hashlib.sha256(Path(linear.__file__).read_bytes())
    for one in given:
        made.update(f"{one}\n".encode())
    return made.digest()


def carriers(given: Sequence[TrainingSentence]) -> str:
    """Return the content of a file of the words that carry acts: those that many sentences of an act have."""
    texts = {act: [set(words(one.text)) for one in given if one.act == act] for act in ACTS}
    counts = {act: Counter(word for said in texts[act] for word in said) for act in ACTS}
    found = {act: sorted(word for word, count in counts[act].items() if count >= max(_FEWEST, _OFTEN * len(texts[act]))) for act in ACTS}
    lines = (f"{act}: {' '.join(found[act])}".strip() for act in ACTS)
    return "\n".join(("# Words that carry an act, and say nothing of its matter. Made by scripts/train.", *lines)) + "\n"


def is_carrier(word: str, act: str, language: str) -> bool:
    """Return whether a folded word carries an act, and says nothing of what the act is about."""
    return word[:_STEM] in _carried(language).get(act, ())


@cache
def _carried(language: str) -> Mapping[str, frozenset[str]]:
    if not path(language).is_file():
        return _carried(FALLBACK)
    file = WordFile(f"languages/{language}/{_CARRIERS}")
    return {act: frozenset(word[:_STEM] for word in file.words(act)) for act in ACTS}


def path(language: str, name: str = _FILE) -> Path:
    """Return the path of a trained file of a language: its weights, or the words that carry acts."""
    return FOLDER / language / name


def write(language: str, given: Sequence[TrainingSentence]) -> None:
    """Write the trained files of a language."""
    path(language).write_bytes(trained(given))
    path(language, _CARRIERS).write_text(carriers(given), encoding="utf-8")


@cache
def _table(language: str) -> bytes:
    file = path(language)
    return file.read_bytes()[32:] if file.is_file() else _table(FALLBACK)
