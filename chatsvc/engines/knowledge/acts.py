"""Classification of a visitor's sentence by its act: a question, a wish to book, a yes.

The classifier is a multinomial logistic regression. Its features are words, pairs of words and letter n-grams, hashed into a table
with a row for each bucket and a byte for each act.
`scripts/train` makes `languages/xx/acts.table` from the sentences of `languages/xx/acts.txt`.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from math import exp
from typing import NamedTuple
from zlib import crc32

from chatsvc.domain.folding import fold
from chatsvc.language.wordlists import FOLDER

ACTS = (
    *("ask", "tell", "book", "give", "move", "cancel", "status", "keep", "yes", "no", "skip", "stop"),
    *("complain", "person", "call", "greet", "thank", "bye", "insult", "identity"),
)
SURE = 0.5  # probability below which a sentence counts as a question
SMALL_TALK = ("greet", "thank", "bye", "identity", "insult", "yes", "no", "skip", "stop")
_WISHES = {"book": 0.6, "call": 0.7, "move": 0.7, "cancel": 0.65, "status": 0.7, "complain": 0.85, "person": 0.7}
_WISHES |= {"insult": 0.8, "identity": 0.75}
# Acts that are alike: the first, the second, and the share of the second from which it is meant.
_DECIDING = (
    ("book", "call", 0.15),
    ("book", "cancel", 0.2),
    ("move", "book", 0.2),
    ("move", "call", 0.15),
    ("person", "call", 0.15),
    ("stop", "cancel", 0.2),
)
REFUSALS = ("no", "skip", "stop")  # acts that may share a sentence, which is a refusal all the same
_ASKED_BOOKING = 0.9  # probability of a wish to book that ends in a question mark
FALLBACK = "en"
DIGEST = 32  # bytes at the head of a table that tell what it was learned from
BUCKETS = 1 << 12
_MOST_WORDS = 40
_MOST_CHARACTERS = 1_000
UNIT, ZERO = 0.02, 128  # of a weight in the table, and the byte of a weight of nothing
_SENTENCE_END = re.compile(r"(?<=[.!?…])(?<!\b\d\.)(?<!\b\d\d\.)\s+|\n+")  # "3. kişi" goes on
_MOST_SENTENCES = 8
_WORD = re.compile(r"[^\W_]{1,20}")
_MAIL = re.compile(r"\S{1,64}@\S{1,64}")
_DIGITS = re.compile(r"\d+")


class Act(NamedTuple):
    """The likeliest act of a sentence with its probability, and the sentence itself."""

    name: str
    probability: float
    text: str


def sentences_of(text: str) -> list[str]:
    """Split a message into sentences. Only the first `_MOST_SENTENCES` of them are returned."""
    return list(filter(None, map(str.strip, _SENTENCE_END.split(text))))[:_MOST_SENTENCES]


def classify(text: str, language: str) -> Act:
    """Return the act of a sentence. If no act is probable enough, the sentence counts as a question ("ask")."""
    table, width = _table(language), len(ACTS)
    rows = [table[bucket * width : (bucket + 1) * width] for bucket in features_of(text)]
    scores = [UNIT * (sum(column) - ZERO * len(rows)) for column in zip(*rows, strict=True)]
    chances = dict(zip(ACTS, softmax(scores), strict=True))
    name = max(chances, key=chances.__getitem__)
    for first, second, share in _DECIDING:
        if name == first and chances[second] >= share:
            name, chances[second] = second, chances[first] + chances[second]
            break
    if name == "cancel":
        chances[name] += chances["stop"]
    if name in REFUSALS:
        chances[name] = sum(chances[act] for act in (*REFUSALS, "keep", "cancel"))
    is_unsure = name in ("tell", "give", "complain", "greet", "thank", "no", "bye") or (name == "book" and chances[name] < _ASKED_BOOKING)
    if "?" in text and is_unsure:
        name = "ask"
    return Act(name if chances[name] >= _WISHES.get(name, SURE) else "ask", chances[name], text)


@cache
def _table(language: str) -> bytes:
    path = FOLDER / language / "acts.table"
    return path.read_bytes()[DIGEST:] if path.is_file() else _table(FALLBACK)


def features_of(text: str) -> list[int]:
    text = text[:_MOST_CHARACTERS]
    given = _WORD.findall(_MAIL.sub(" mail ", fold(text)))[:_MOST_WORDS]
    words = [f"#{min(len(word), 5)}" if word.isdigit() else _DIGITS.sub("#", word) for word in given]  # "3pm" becomes "#pm"
    features = {"", f"<{min(len(words), 6)}", *words, *(sign for sign in text if sign in "?!👍👎🙏")}
    features.update(f"{first[:5]}~{second[:5]}" for first, second in pairwise(("<", *words, ">")))
    features.update(f"{first} {second}" for first, second in pairwise(("<", *words, ">")))
    for word in words:
        padded = f"_{word}_"
        features.add(f"{word[:5]}~")
        features.update(f"{padded[start : start + 4]}~~" for start in range(len(padded) - 3))
    return sorted({crc32(feature.encode("utf-8", "surrogatepass")) % BUCKETS for feature in features})


def softmax(scores: Sequence[float]) -> list[float]:
    highest = max(scores)
    grown = [exp(score - highest) for score in scores]
    total = sum(grown)
    return [value / total for value in grown]
