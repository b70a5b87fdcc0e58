"""How well a text explains the words of a question: the same word, another form of it, or one that means the same."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter

from chatsvc.engines.knowledge.search import amounts
from chatsvc.engines.knowledge.search.lexicon import OWN, Lexicon, of_word
from chatsvc.engines.knowledge.search.query import Query
from chatsvc.engines.knowledge.search.stemming import stem
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS
from chatsvc.language.folding import words

EXPLAINED = 0.6  # strength from which a text has a word, one that means the same, or one that begins like it
SAME_WORD = 0.9  # ... the word itself in any form
_SAME, _MEANT, _FORM, _LIKE = 1.0, 0.85, 0.9, 0.6  # strength of the same stem, a synonym, a longer form, the same beginning
_GROUP, _KIND = 0.8, 0.55  # ... of a word of the same group only ("roll", "bread"), and of another of its kind ("cat", "dog")
MEANT = 0.82  # strength from which two words mean the same
_OPENING = 3  # letters that two words have in common at least, where one is like the other
_BEGINNING, _ENDING = 4, 6  # least letters of a word that may begin another one, and most of the ending then
_ALIKE = 5  # letters that two forms have in common at least


@dataclass(frozen=True, slots=True)
class TextVocabulary:
    """Words of a text with their stems, concepts, days and months."""

    words: frozenset[str]
    stems: frozenset[str]
    concepts: frozenset[str]
    days: frozenset[int]
    months: frozenset[int]
    openings: frozenset[str]  # first letters of the words that another one may be like


def joined(vocabularies: Sequence[TextVocabulary]) -> TextVocabulary:
    """Return the vocabulary of several texts together. It explains a word at least as well as each of them."""
    return TextVocabulary(*(frozenset().union(*parts) for parts in zip(*map(_parts, vocabularies), strict=True)))


def vocabulary(texts: Iterable[str], lexicon: Lexicon) -> TextVocabulary:
    """Return the vocabulary of some texts."""
    held: set[str] = set()
    concepts: set[str] = set()
    days: set[int] = set()
    months: set[int] = set()
    for text in texts:
        said = words(text)
        held.update(said)
        held.update("".join(words(part)) for part in text.split() if "-" in part[1:-1])  # "Wi-Fi", which visitors write as one word
        concepts.update(match.concept for match in lexicon.find(said))
        named = amounts.read(text)
        days |= named.days
        months |= named.months
    openings = frozenset(word[:_OPENING] for word in held if len(word) >= _BEGINNING)
    return TextVocabulary(frozenset(held), frozenset(map(stem, held)), frozenset(concepts), frozenset(days), frozenset(months), openings)


_parts = attrgetter("words", "stems", "concepts", "days", "months", "openings")


@dataclass(frozen=True, slots=True)
class QuestionTerm:
    """A word of a question that says something. `names`: it names a thing and does not only ask."""

    text: str
    stem: str
    concepts: frozenset[str]
    days: frozenset[int]
    months: frozenset[int]
    weight: float
    known: bool  # the index or the lexicon knows it
    names: bool
    is_age: bool

    @property
    def is_value(self) -> bool:
        """Whether it is a day, a month or a number, and names no thing."""
        return bool(self.days or self.months) or self.text[:1].isdigit()


def terms(query: Query, lexicon: Lexicon) -> tuple[QuestionTerm, ...]:
    """Return the terms of a question, each once."""
    asked = query.said
    concepts: dict[str, set[str]] = {}
    for match in lexicon.find([word.read for word in query.words]):
        for word in query.words[match.start : match.stop]:
            concepts.setdefault(word.text, set()).add(match.concept)
    marks = dict(zip(asked, amounts.LABELS.marked(asked), strict=True))
    ages = {text for text in asked if text[:1].isdigit()} if "age" in amounts.read(" ".join(asked)).kinds else set()
    found = []
    for word in query.words:
        mark = marks.get(word.text, set())
        if word.text in STOPWORDS or (mark & {"asking", "pointing"}):
            continue
        named = amounts.read(word.text)
        found.append(
            QuestionTerm(
                word.read,
                stem(word.read),
                frozenset(concepts.get(word.text, ())),
                named.days,
                named.months,
                word.informs,
                bool(word.features or concepts.get(word.text)),
                not word.light or bool(named.days or named.months) or "people" in mark,
                word.text in ages,
            )
        )
    return tuple(found)


@lru_cache(maxsize=1_024)
def term_of(word: str) -> QuestionTerm:
    """Return the term of a folded word by itself."""
    named = amounts.read(word)
    return QuestionTerm(word, stem(word), frozenset(of_word(word)), named.days, named.months, 1.0, True, True, False)


def strength(term: QuestionTerm, held: TextVocabulary) -> float:
    """Return from 0 to 1 how well a vocabulary explains a term."""
    if term.stem in held.stems:
        return _SAME
    if term.is_value:
        return _SAME if (term.days and term.days <= held.days) or (term.months and term.months <= held.months) else 0.0
    like = _likeness(term.text, held.words) if term.text[:_OPENING] in held.openings else 0.0
    shared = term.concepts & held.concepts
    if not shared:
        return like
    if any(one.startswith(OWN) for one in shared):  # the owner says that they mean the same
        return _FORM
    return max(like, _KIND if len(shared) < len(term.concepts) else _MEANT if len(shared) > 1 else _GROUP)


@lru_cache(maxsize=16_384)
def _likeness(word: str, held: frozenset[str]) -> float:
    """Return the strength of the word of a text that begins like another one."""
    best = 0.0
    if len(word) < _BEGINNING:
        return best
    for other in held:
        if other[:_OPENING] != word[:_OPENING] or len(other) < _BEGINNING:
            continue
        shorter, longer = sorted((word, other), key=len)
        if longer.startswith(shorter) and len(longer) - len(shorter) <= _ENDING:
            return _FORM
        alike = next((at for at, (one, two) in enumerate(zip(word, other, strict=False)) if one != two), len(shorter))
        if alike >= _ALIKE and alike >= 0.7 * len(shorter):
            best = _LIKE
    return best
