"""A question in an index's numbers: what it asks for, how much each of its words counts, and what is said beside the point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from chatsvc.engines.knowledge.search import features, lexicon, topics
from chatsvc.engines.knowledge.search.corpus import Corpus, Pair, pairs
from chatsvc.engines.knowledge.search.spelling import Speller
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS, is_light

_NEAR = 0.7  # what a word counts that was read as another one
_MAX_SPELLED = 6  # unknown words looked up a search
_LIGHT = 0.4  # what is left of how much a word informs that says little


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the question. `features` are those that the corpus knows; `alien` is what the lexicon knows and the corpus does not."""

    text: str
    read: str  # the known word it is taken for
    features: tuple[int, ...]
    informs: float  # how much it says about what is asked; 0 of a stop word
    alien: bool
    light: bool  # whether it says little


@dataclass(frozen=True, slots=True)
class Query:
    """`weights` (feature -> weight) and `pairs` together with all that is unknown have the length 1."""

    words: tuple[Word, ...]  # each once
    weights: dict[int, float]
    pairs: dict[Pair, float]
    topics: dict[int, float]  # what it is about; of the length 1


def query_of(asked: Sequence[str], corpus: Corpus, speller: Speller) -> Query:
    """Read a question's folded words."""
    words: list[Word] = []
    weights: dict[int, float] = {}
    unknown = 0.0  # square of the weights of what the corpus has never seen
    expressed = _expressed(asked, corpus)
    readings = _read(asked, corpus, speller)
    for text, (read, certainty) in readings.items():
        word, gains, missed = _word(text, read, certainty, corpus)
        if text in expressed:
            # An expression that is known explains its words, be they known by themselves or not.
            word, missed = replace(word, features=(*word.features, *expressed[text]), alien=False), 0.0
        words.append(word)
        unknown += missed**2
        for number, gain in gains.items():
            weights[number] = max(weights.get(number, 0.0), gain)
    for concept in sorted({concept for concepts in expressed.values() for concept in concepts}):
        weights.setdefault(concept, corpus.gains[concept])
    neighbours = _pairs(asked, corpus)
    length = math.sqrt(unknown + sum(weight * weight for weight in (*weights.values(), *neighbours.values()))) or 1.0
    return Query(
        tuple(words),
        {number: weight / length for number, weight in weights.items()},
        {pair: weight / length for pair, weight in neighbours.items()},
        topics.of_words([readings[word][0] for word in asked], corpus.lexicon),
    )


def _expressed(asked: Sequence[str], corpus: Corpus) -> dict[str, list[int]]:
    """Word -> the concepts of the expressions that it is a part of, as far as the corpus knows them."""
    found: dict[str, list[int]] = {}
    for match in corpus.lexicon.expressions(asked):
        concept = corpus.terms.known("c" + match.concept)
        if concept is not None:
            for word in asked[match.start : match.stop]:
                found.setdefault(word, []).append(concept)
    return found


def _word(text: str, read: str, certainty: float, corpus: Corpus) -> tuple[Word, dict[int, float], float]:
    """One word, the weights of its features, and what it would weigh that has an unknown stem."""
    terms, rarest = corpus.terms, corpus.rarity(0)
    concepts = corpus.lexicon.of_word(read)
    ((stem, weight),) = features.of_word(read)
    gains: dict[int, float] = {}
    for feature in (stem, features.root_of(read)[0], *("c" + name for name in concepts)):
        number = terms.known(feature)
        if number is not None:
            # a word of several meanings counts for each of them a little less
            gains[number] = corpus.gains[number] * certainty / (math.sqrt(len(concepts)) if feature[0] == "c" else 1.0)
    informs = 0.0 if text in STOPWORDS else max((corpus.gains[number] for number in gains), default=rarest)
    light = is_light(text)
    missed = 0.0 if terms.known(stem) is not None else weight * rarest
    alien = bool(concepts) and not light and not any(terms.means(number) for number in gains)
    return Word(text, read, tuple(gains), informs * (_LIGHT if light else 1.0), alien, light), gains, missed


def _pairs(asked: Sequence[str], corpus: Corpus) -> dict[Pair, float]:
    stems = [corpus.terms.known(features.of_word(word)[0][0]) for word in asked]
    known = (pair for pair in pairs([-1 if stem is None else stem for stem in stems]) if -1 not in pair)
    return {pair: corpus.pair_gain(pair) for pair in known if corpus.holders_of_pair(pair)}


def _read(asked: Sequence[str], corpus: Corpus, speller: Speller) -> dict[str, tuple[str, float]]:
    """Word -> the known word it is read as, and what it then counts; slips of the pen are few, and so is what is looked up."""
    readings: dict[str, tuple[str, float]] = {}
    left = _MAX_SPELLED
    for word in dict.fromkeys(asked):
        readings[word] = (word, 1.0)
        if left and not _knows(word, corpus):
            left -= 1
            near = speller.nearest(word) or lexicon.speller().nearest(word)
            if near:
                readings[word] = (near, _NEAR)
    return readings


def _knows(word: str, corpus: Corpus) -> bool:
    if word in STOPWORDS or word in corpus.terms.words or corpus.terms.known(features.of_word(word)[0][0]) is not None:
        return True
    # A word that the lexicon or visitors elsewhere use is no slip, whether or not the bot has anything on it.
    return bool(corpus.lexicon.of_word(word) or topics.shared().row(features.of_word(word)[0][0]))
