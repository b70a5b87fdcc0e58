"""Index features of a word: its stem, its beginning, and its concepts in the lexicon.

A feature is a short string whose first letter gives its kind. Its weight depends on the kind and on whether the word is a stop
word, never on the phrasing, so that an index keeps one weight for each feature.
"""

from collections.abc import Iterable

from chatsvc.engines.knowledge.search.stemming import stem
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS

# Chosen by grid search on CLINC150's validation set (not its test set) with 5 and 10 phrasings an entry and on the sets of our own that
# tests/answers/judging.py names.
STEM = 1.1
ROOT = 0.8
CONCEPT = 1.3
STOP = 0.7  # factor of a stop word's weight
_ROOT_LETTERS = 4


def of_word(word: str, concepts: Iterable[str]) -> tuple[tuple[str, float], ...]:
    """Return the features of a word with their weights: stem, beginning (for endings that the stemmer does not know), concepts."""
    factor = STOP if word in STOPWORDS else 1.0
    named = (("c" + name, CONCEPT) for name in concepts)
    return ("s" + stem(word), STEM * factor), ("r" + word[:_ROOT_LETTERS], ROOT * factor), *named


def is_root(feature: str) -> bool:
    """Return whether a feature is a beginning, which different words may share."""
    return feature[0] == "r"
