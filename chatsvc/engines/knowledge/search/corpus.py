"""Term statistics of a bot's entries: the number of each feature, document frequencies, postings of words and of topics.

A feature is a short string whose first letter gives its kind: "s" a stem, "r" the beginning of a word, "c" a concept of the lexicon.
Flat arrays are used, so that 50,000 entries with their texts need about 100 MB.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, islice, pairwise

from chatsvc.domain.models import Entry
from chatsvc.engines.knowledge.search import facts, topics
from chatsvc.engines.knowledge.search.lexicon import Lexicon
from chatsvc.engines.knowledge.search.tokens import STOPWORDS, stem
from chatsvc.language.folding import words

# Weights by kind of feature and the exponent of rarity, chosen by grid search on CLINC150's validation set and on our own tuning sets.
WEIGHTS = {"s": 1.1, "r": 0.8, "c": 1.3}
_STOP = 0.7  # factor of a stop word
_RARITY = 0.8  # exponent of the inverse document frequency; 1 overrates odd words
_ROOT_LETTERS = 4
_ANSWER = 0.3  # weight of a word that only the answer holds
_ANSWER_WORDS = 60  # stems of an answer that are read
TOPICS_BUDGET = 3_000  # postings of topics that one search may touch; rare topics come first
_SENTENCE, _SENTENCES = 12, 30  # least characters of a sentence, and sentences of a section that are indexed
_MOST_PAIRS = 20_000  # words side by side that are remembered: those of a few hundred entries
_BUDGET = 8_000  # postings that one search may touch, about a millisecond; rare features come first, frequent ones are dropped
_SMALL = 1 << 16  # entry numbers up to this fit in two bytes
_UNIT = 255  # code of the weight 1.0; square roots are stored, which keeps small weights distinct
_WEIGHTS = [(root / _UNIT) ** 2 for root in range(_UNIT + 1)]


def features_of(word: str, concepts: Iterable[str]) -> list[tuple[str, float]]:
    """Return the features of a word with their weights: stem, beginning (for endings that the stemmer does not know), concepts."""
    factor = _STOP if word in STOPWORDS else 1.0
    own = ("s" + stem(word), WEIGHTS["s"] * factor), ("r" + word[:_ROOT_LETTERS], WEIGHTS["r"] * factor)
    return [*own, *(("c" + name, WEIGHTS["c"]) for name in concepts)]


class Postings:
    """Inverted index: for the number of each feature, the numbers of the entries that have it, with weights."""

    def __init__(self, entries: int) -> None:
        self._type = "H" if entries <= _SMALL else "I"
        self._holders: dict[int, tuple[array[int], bytearray]] = {}

    def put(self, entry: int, weights: Iterable[tuple[int, float]]) -> None:
        """Add the features of one entry, each with its weight from 0 to 1."""
        for feature, weight in weights:
            if feature not in self._holders:
                self._holders[feature] = array(self._type), bytearray()
            entries, roots = self._holders[feature]
            entries.append(entry)
            roots.append(int(math.sqrt(weight) * _UNIT + 0.5))

    def accumulate(self, query: Iterable[tuple[int, float]], budget: int = _BUDGET) -> dict[int, float]:
        """Return the dot product of the query with each entry. At most `budget` postings are read, those of rare features first."""
        scores: dict[int, float] = {}
        left, known = budget, [(len(self._holders[feature][0]), feature, weight) for feature, weight in query if feature in self._holders]
        for _, feature, weight in sorted(known):
            entries, roots = self._holders[feature]
            if len(entries) > left and scores:
                break
            for entry, root in zip(entries[:budget], roots[:budget], strict=True):
                scores[entry] = scores.get(entry, 0.0) + weight * _WEIGHTS[root]
            left -= len(entries)
        return scores


class Corpus:
    """Immutable term statistics of the entries of an index."""

    def __init__(self, entries: Sequence[Entry], lexicon: Lexicon) -> None:
        self.size = len(entries)
        self.lexicon = lexicon
        self.numbers: dict[str, int] = {}  # feature -> number
        self.of_word: dict[str, tuple[int, ...]] = {}  # word of a phrasing -> its features
        self._pairs: dict[str, tuple[str, ...]] = {}  # words that stand side by side, as visitors may write them: "daycare"
        self._weights = array("f")  # feature -> weight of its kind
        read = [self._read(entry) for entry in entries]
        holders = Counter(chain.from_iterable(counts for counts, _ in read))
        self.gains = array("f", (weight * self._rarity(holders[number]) for number, weight in enumerate(self._weights)))
        self.unknown = WEIGHTS["s"] * self._rarity(0)
        self.postings, self.topics = Postings(self.size), Postings(self.size)
        names, model = list(self.numbers), topics.shared()
        for number, (counts, phrasings) in enumerate(read):
            values = {feature: math.log(1 + count) * self.gains[feature] for feature, count in counts.items() if count}
            length = math.sqrt(sum([value * value for value in values.values()])) or 1.0
            most = length / math.log(1 + phrasings)
            self.postings.put(number, ((feature, value / length) for feature, value in values.items()))
            extra = ((feature, min(1.0, _ANSWER * self.gains[feature] / most)) for feature, count in counts.items() if not count)
            self.postings.put(number, extra)
            about = model.of((names[feature], math.log(1 + count) if count else _ANSWER) for feature, count in counts.items())
            self.topics.put(number, about.items())

    def apart(self, word: str) -> tuple[str, ...]:
        """Return the word in a tuple. If the entries only have its two parts, return these ("day", "care" for "daycare")."""
        return (word,) if "s" + stem(word) in self.numbers else self._pairs.get(word, (word,))

    def _read(self, entry: Entry) -> tuple[Counter[int], int]:
        """Return by feature how many phrasings of an entry have it, and the number of phrasings. Features of the answer alone count 0."""
        counts: Counter[int] = Counter()
        texts = [entry.question, *entry.alt]
        if not entry.alt or facts.heading_of(entry):  # of a section the sentences of the answer are phrasings too
            texts += islice((part for part in facts.sentences(entry.answer) if len(part) > _SENTENCE), _SENTENCES)
        for text in texts:
            tokens = words(text)
            for word in tokens:
                if word not in self.of_word:
                    self.of_word[word] = tuple([self._number(*feature) for feature in features_of(word, self.lexicon.of_word(word))])
            held = set(chain.from_iterable(map(self.of_word.__getitem__, tokens)))
            held.update(self._number("c" + match.concept, WEIGHTS["c"]) for match in self.lexicon.expressions(tokens))
            counts.update(held)
        tokens = words(entry.answer)
        if len(self._pairs) < _MOST_PAIRS:
            self._pairs.update(("".join(pair), pair) for text in (*texts, entry.answer) for pair in pairwise(words(text)))
        for root in list(dict.fromkeys(stem(word) for word in tokens if len(word) > 2 and word not in STOPWORDS))[:_ANSWER_WORDS]:
            counts.setdefault(self._number("s" + root, WEIGHTS["s"]), 0)
        return counts, len(texts)

    def _number(self, feature: str, weight: float) -> int:
        number = self.numbers.setdefault(feature, len(self.numbers))
        if number == len(self._weights):
            self._weights.append(weight)
        return number

    def _rarity(self, holders: int) -> float:
        return float(math.log(1.0 + (self.size - holders + 0.5) / (holders + 0.5)) ** _RARITY)
