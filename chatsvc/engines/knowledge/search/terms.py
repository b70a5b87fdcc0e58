"""Numbering of the words and features of an index, and the features of each word."""

from array import array
from collections.abc import Sequence

from chatsvc.engines.knowledge.search import features
from chatsvc.engines.knowledge.search.lexicon import Lexicon
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS

_STEM, _ROOT = map(ord, "sr")
NO_STEM = 0xFFFF_FFFF  # stem of an expression's concept, which is stored like one more word


class Terms:
    """Words and features by number, in the order of their first occurrence."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.words: dict[str, int] = {}
        self.features: dict[str, int] = {}
        self.weights = array("f")  # feature -> weight of its kind
        self.weak = bytearray()  # feature -> whether it is the stem of a stop word
        self._kinds = bytearray()  # feature -> first letter of its name
        self.stems = array("I")  # word -> the feature that is its stem, or NO_STEM
        self.of_word: list[tuple[int, ...]] = []  # word -> its features
        self._opens = bytearray()  # word -> whether an expression begins with it

    def row(self, said: Sequence[str]) -> list[int]:
        """Return the word numbers of a phrasing, adding new words. The concepts of its expressions follow."""
        numbers = [self.words[word] if word in self.words else self._add(word) for word in said]
        if any(self._opens[number] for number in numbers):
            numbers.extend(self._add_concept(match.concept) for match in self.lexicon.expressions(said))
        return numbers

    def known(self, feature: str) -> int | None:
        """Return the number of a feature; None for an unknown one."""
        return self.features.get(feature)

    def number(self, feature: str, weight: float) -> int:
        """Return the number of a feature, adding a new one."""
        number = self.features.setdefault(feature, len(self.features))
        if number == len(self.weights):
            self.weights.append(weight)
            self.weak.append(0)
            self._kinds.append(ord(feature[0]))
        return number

    def _add(self, word: str) -> int:
        ((stem, weight),) = features.of_word(word)
        first = self.number(stem, weight)
        self.weak[first] |= word in STOPWORDS
        concepts = ("c" + name for name in self.lexicon.of_word(word))
        others = (self.number(*features.root_of(word)), *(self.number(name, features.CONCEPT) for name in concepts))
        return self._keep(word, first, (first, *others), self.lexicon.opens(word))

    def _add_concept(self, concept: str) -> int:
        name = f"_{concept}"  # no word looks like that
        if name in self.words:
            return self.words[name]
        return self._keep(name, NO_STEM, (self.number("c" + concept, features.CONCEPT),), False)

    def _keep(self, word: str, stem: int, held: tuple[int, ...], opens: bool) -> int:
        self.of_word.append(held)
        self.stems.append(stem)
        self._opens.append(opens)
        return self.words.setdefault(word, len(self.words))

    def names(self) -> list[str]:
        """Return the words by number."""
        return list(self.words)

    def is_weak(self, word: int) -> bool:
        """Return whether a word is a stop word."""
        stem = self.stems[word]
        return stem != NO_STEM and bool(self.weak[stem])

    def is_stem(self, feature: int) -> bool:
        """Return whether a feature is a stem."""
        return self._kinds[feature] == _STEM

    def means(self, feature: int) -> bool:
        """Return whether a feature is a stem or a concept, and not a beginning."""
        return self._kinds[feature] != _ROOT

    def concept(self, feature: int) -> str | None:
        """Return the name of a concept; None for another feature."""
        return next((name[1:] for name, number in self.features.items() if number == feature and name[0] == "c"), None)
