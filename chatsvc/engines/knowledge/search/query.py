"""Query vector of a question. Features of its words, their weights, and what is unknown to the index."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from chatsvc.engines.knowledge.search import features, lexicon, topics
from chatsvc.engines.knowledge.search.corpus import Corpus, Pair, pairs
from chatsvc.engines.knowledge.search.spelling import Speller
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS, is_light

_NEAR = 0.7  # factor of a corrected word
_MAX_SPELLED = 6  # unknown words that are corrected in one search
_LIGHT = 0.4  # factor of the information of a word that says little


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of the question. `features` are known to the corpus, `alien` words only to the lexicon."""

    text: str
    read: str  # the word itself, or its correction
    features: tuple[int, ...]
    informs: float  # its information; 0 for a stop word
    alien: bool
    light: bool  # says little about what is asked
    expressed: bool = False  # belongs to an expression that the corpus knows: "how old"


@dataclass(frozen=True, slots=True)
class Query:
    """Vector of a question. `weights` (by feature) and `pairs` have the length 1 together with the unknown words."""

    words: tuple[QueryWord, ...]  # each once
    weights: dict[int, float]
    pairs: dict[Pair, float]
    topics: Mapping[int, float]  # topic vector of length 1


def query_of(asked: Sequence[str], corpus: Corpus, speller: Speller) -> Query:
    """Build the query of a question's folded words."""
    words: list[QueryWord] = []
    weights: dict[int, float] = {}
    unknown = 0.0  # square of the weights of what the corpus has never seen
    expressed = _expressed(asked, corpus)
    readings = _read(asked, corpus, speller)
    for text, (read, certainty) in readings.items():
        word, gains, missed = _word(text, read, certainty, corpus)
        if text in expressed:
            # A known expression explains its words, whether or not the corpus knows them.
            word, missed = replace(word, features=(*word.features, *expressed[text]), alien=False, expressed=True), 0.0
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
    """Map each word to the concepts of its expressions that the corpus knows."""
    found: dict[str, list[int]] = {}
    for match in corpus.lexicon.expressions(asked):
        concept = corpus.terms.known("c" + match.concept)
        if concept is not None:
            for word in asked[match.start : match.stop]:
                found.setdefault(word, []).append(concept)
    return found


def _word(text: str, read: str, certainty: float, corpus: Corpus) -> tuple[QueryWord, dict[int, float], float]:
    """Return a word, its feature weights, and its weight if its stem is unknown."""
    terms, rarest = corpus.terms, corpus.rarity(0)
    concepts = corpus.lexicon.of_word(read)
    ((stem, weight),) = features.of_word(read)
    gains: dict[int, float] = {}
    for feature in (stem, features.root_of(read)[0], *("c" + name for name in concepts)):
        number = terms.known(feature)
        if number is not None:
            # a word with several concepts counts less for each
            gains[number] = corpus.gains[number] * certainty / (math.sqrt(len(concepts)) if feature[0] == "c" else 1.0)
    informs = 0.0 if text in STOPWORDS else max((corpus.gains[number] for number in gains), default=rarest)
    light = is_light(text)
    missed = 0.0 if terms.known(stem) is not None else weight * rarest
    alien = bool(concepts) and not light and not any(terms.means(number) for number in gains)
    return QueryWord(text, read, tuple(gains), informs * (_LIGHT if light else 1.0), alien, light), gains, missed


def _pairs(asked: Sequence[str], corpus: Corpus) -> dict[Pair, float]:
    stems = [corpus.terms.known(features.of_word(word)[0][0]) for word in asked]
    known = (pair for pair in pairs([-1 if stem is None else stem for stem in stems]) if -1 not in pair)
    return {pair: corpus.pair_gain(pair) for pair in known if corpus.holders_of_pair(pair)}


def _read(asked: Sequence[str], corpus: Corpus, speller: Speller) -> dict[str, tuple[str, float]]:
    """Map each word to itself or its correction, and to its factor. At most _MAX_SPELLED words are corrected."""
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
    # A word of the lexicon or of the topic model is no spelling error, even if the corpus lacks it.
    return bool(corpus.lexicon.of_word(word) or topics.shared().row(features.of_word(word)[0][0]))
