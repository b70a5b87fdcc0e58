"""Query vector of a question. Features of its words, their weights, and what is unknown to the index."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from chatsvc.engines.knowledge.search import features, lexicon, topics
from chatsvc.engines.knowledge.search.corpus import Corpus
from chatsvc.engines.knowledge.search.spelling import Speller
from chatsvc.engines.knowledge.search.stemming import stem
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


@dataclass(frozen=True, slots=True)
class Query:
    """Vector of a question. `weights` (by feature) have the length 1 together with the unknown words."""

    said: tuple[str, ...]
    words: tuple[QueryWord, ...]  # each once
    weights: dict[int, float]
    topics: Mapping[int, float]  # topic vector of length 1


def query_of(said: Sequence[str], corpus: Corpus, speller: Speller) -> Query:
    """Build the query of a question's folded words."""
    said = corpus.compounds.as_written(said)
    found: list[QueryWord] = []
    weights: dict[int, float] = {}
    unknown = 0.0  # square of the weights of what the corpus has never seen
    expressed = _expressed(said, corpus)
    readings = _readings(said, corpus, speller)
    for text, (read, certainty) in readings.items():
        word, gains, missed = _word(text, read, certainty, corpus)
        if text in expressed:
            # A known expression explains its words, whether or not the corpus knows them.
            word, missed = replace(word, features=(*word.features, *expressed[text]), alien=False), 0.0
        found.append(word)
        unknown += missed**2
        for number, gain in gains.items():
            weights[number] = max(weights.get(number, 0.0), gain)
    for concepts in expressed.values():
        for concept in concepts:
            weights.setdefault(concept, corpus.gains[concept])
    length = math.sqrt(unknown + sum([weight * weight for weight in weights.values()])) or 1.0
    about = topics.of_words([readings[word][0] for word in said], corpus.lexicon)
    return Query(tuple(said), tuple(found), {number: weight / length for number, weight in weights.items()}, about)


def _expressed(said: Sequence[str], corpus: Corpus) -> dict[str, list[int]]:
    """Map each word to the concepts of its expressions that the corpus knows."""
    found: dict[str, list[int]] = {}
    for match in corpus.lexicon.expressions(said):
        concept = corpus.features.get("c" + match.concept)
        if concept is not None:
            for word in said[match.start : match.stop]:
                found.setdefault(word, []).append(concept)
    return found


def _word(text: str, read: str, certainty: float, corpus: Corpus) -> tuple[QueryWord, dict[int, float], float]:
    """Return a word, its feature weights, and its weight if its stem is unknown."""
    rarest = corpus.rarity(0)
    concepts = corpus.lexicon.of_word(read)
    own = features.of_word(read, concepts)
    gains: dict[int, float] = {}
    means = False
    for name, _ in own:
        number = corpus.features.get(name)
        if number is not None:
            # a word with several concepts counts less for each
            gains[number] = corpus.gains[number] * certainty / (math.sqrt(len(concepts)) if name[0] == "c" else 1.0)
            means = means or not features.is_root(name)
    informs = 0.0 if text in STOPWORDS else max((corpus.gains[number] for number in gains), default=rarest)
    light = is_light(text)
    stem_name, weight = own[0]
    missed = 0.0 if stem_name in corpus.features else weight * rarest
    alien = bool(concepts) and not light and not means
    return QueryWord(text, read, tuple(gains), informs * (_LIGHT if light else 1.0), alien, light), gains, missed


def _readings(said: Sequence[str], corpus: Corpus, speller: Speller) -> dict[str, tuple[str, float]]:
    """Map each word to itself or its correction, and to its factor. At most _MAX_SPELLED words are corrected."""
    readings: dict[str, tuple[str, float]] = {}
    left = _MAX_SPELLED
    for word in dict.fromkeys(said):
        readings[word] = (word, 1.0)
        if left and not _knows(word, corpus):
            left -= 1
            near = speller.nearest(word) or lexicon.speller().nearest(word)
            if near:
                readings[word] = (near, _NEAR)
    return readings


def _knows(word: str, corpus: Corpus) -> bool:
    if word in STOPWORDS or word in corpus.of_word or "s" + stem(word) in corpus.features:
        return True
    # A word of the lexicon or of the topic model is no spelling error, even if the corpus lacks it.
    return bool(corpus.lexicon.of_word(word) or topics.shared().row("s" + stem(word)))
