"""Signals of a search from which its confidence is computed."""

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from chatsvc.domain.models import Entry
from chatsvc.engines.knowledge.search import topics
from chatsvc.engines.knowledge.search.confidence import Signals
from chatsvc.engines.knowledge.search.corpus import PHRASINGS, Corpus, is_passage, phrasings_of
from chatsvc.engines.knowledge.search.query import Query
from chatsvc.engines.knowledge.search.stemming import trigrams
from chatsvc.language.folding import words

_RIVALS = 4  # hits whose topics are compared, the first included
_ALIKE = 2.0  # factor of the topic similarity of a word and an entry; half of the greatest one counts as alike
_UNKNOWN = 0.5  # distance of a word that belongs to no topic
_LETTERS = 2_000  # of an entry's phrasings whose trigrams are compared


@dataclass(frozen=True, slots=True)
class Rival:
    """Score and topic similarity of one of the ranked entries."""

    score: float
    likeness: float


def read(asked: Sequence[str], query: Query, corpus: Corpus, first: tuple[int, int], found: Entry, rivals: Sequence[Rival]) -> Signals:
    """Compute the signals. `first` is (entry number, best phrasing), `found` that entry, `rivals` the ranked entries."""
    entry, best = first
    scores = [rival.score for rival in rivals]
    texts = phrasings_of(found)
    start, stop = corpus.first[entry], corpus.first[entry + 1]
    held = corpus.held(entry)
    asked_for = sum(word.informs for word in query.words) or 1.0
    said = _informing(corpus.tokens(best), corpus)
    letters = _letters(asked)
    closest = _letters(words(texts[best - start]))
    anywhere = _letters(words(" ".join(texts[:PHRASINGS])[:_LETTERS]))
    meant = [[number for number in word.features if corpus.terms.means(number)] for word in query.words if not word.light]
    size = math.log(corpus.size) / 7
    second = scores[1] if len(scores) > 1 else 0.0
    return Signals(
        score=scores[0],
        coverage=sum(word.informs for word in query.words if not held.isdisjoint(word.features)) / asked_for,
        known=sum(word.informs for word in query.words if any(corpus.terms.is_stem(number) for number in word.features)) / asked_for,
        alien=min(1.0, sum(word.alien for word in query.words) / 2) * max(0.0, 1.1 - size),
        stray=min(1.0, sum(bool(numbers) and held.isdisjoint(numbers) for numbers in meant) / 3),
        back=sum(gain for gain, its in said if not query.weights.keys().isdisjoint(its)) / (sum(gain for gain, _ in said) or 1.0),
        margin=(scores[0] - second) / scores[0] if scores[0] > 0 else 0.0,
        share=scores[0] ** 2 / (sum(score**2 for score in scores) or 1.0),
        letters=len(letters & closest) / (math.sqrt(len(letters) * len(closest)) or 1.0),
        spelled=len(letters & anywhere) / (len(letters) or 1),
        topics=rivals[0].likeness,
        others=max((rival.likeness for rival in rivals[1:_RIVALS]), default=0.0),
        content=min(1.0, sum(word.informs > 0 for word in query.words) / 5),
        length=min(1.0, len(asked) / 12),
        passage=float(is_passage(found)),
        entries=min(1.5, size),
        phrasings=min(1.5, math.log(stop - start) / 3),
        apart=_apart(query, corpus, entry, held) / asked_for,
    )


def is_grounded(query: Query, corpus: Corpus, entry: int) -> bool:
    """Return whether an entry shares a word or topic with the question's subject. False if none is named."""
    own = [word for word in query.words if word.informs and (word.expressed or not word.light)]
    if not own:
        return False
    if any(corpus.postings.holds(feature, entry) for word in own for feature in word.features):
        return True
    about = corpus.topics.of(entry)
    return any(topic in about for topic in topics.of_words([word.read for word in own], corpus.lexicon))


def _apart(query: Query, corpus: Corpus, entry: int, held: AbstractSet[int]) -> float:
    """Return the information of the words that the entry lacks. Weighted by the distance of their topics from the entry's."""
    about, total = corpus.topics.of(entry), 0.0
    for word in query.words:
        if word.light or not word.informs or not held.isdisjoint(word.features):
            continue
        if any(corpus.postings.holds(feature, entry) for feature in word.features):
            continue
        own = topics.of_words([word.read], corpus.lexicon)
        likeness = sum(weight * about.get(topic, 0.0) for topic, weight in own.items())
        total += word.informs * (1.0 - min(1.0, _ALIKE * likeness) if own else _UNKNOWN)
    return total


def _informing(row: Sequence[int], corpus: Corpus) -> list[tuple[float, tuple[int, ...]]]:
    """Return weight and features of the words of a phrasing that are no stop words."""
    found = []
    for word in dict.fromkeys(row):
        if not corpus.terms.is_weak(word):
            its = corpus.terms.of_word[word]
            found.append((max(corpus.gains[number] for number in its), its))
    return found


def _letters(said: Sequence[str]) -> set[str]:
    """Return the letter trigrams of all words."""
    return {gram for word in said for gram in trigrams(word)}
