"""What a word is found by: its stem, how it begins, and the concepts of the lexicon it stands for.

A feature is a short string whose first letter tells its kind; how much it weighs hangs on the kind and on whether the word
is a stop word, and never on the phrasing it stands in, so that an index keeps one weight a feature.
"""

from __future__ import annotations

from chatsvc.engines.knowledge.search.stemming import stem
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS

# Found by trying on CLINC150's validation set (not its test set) with 5 and 10 phrasings an entry and on the sets of our own that
# tests/answers/judging.py names.
STEM = 1.1
ROOT = 0.8
CONCEPT = 1.3
PAIR = 0.8
STOP = 0.7  # what is left of a stop word's weight
_ROOT_LETTERS = 4


def of_word(word: str) -> tuple[tuple[str, float]]:
    """A word's stem."""
    return (("s" + stem(word), STEM * (STOP if word in STOPWORDS else 1.0)),)


def root_of(word: str) -> tuple[str, float]:
    """How a word begins: many endings of Turkish are more than the stemmer can tell from the word itself."""
    return "r" + word[:_ROOT_LETTERS], ROOT * (STOP if word in STOPWORDS else 1.0)
