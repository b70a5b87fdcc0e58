"""Evidence that a fact of an entry answers a question: numeric features, their fitted weights, and a calibrated confidence."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from chatsvc.domain.models import Entry
from chatsvc.engines.knowledge.search import facts, topics
from chatsvc.engines.knowledge.search.facts import ReadFact
from chatsvc.engines.knowledge.search.lexicon import OWN, Lexicon
from chatsvc.engines.knowledge.search.tokens import STOPWORDS, is_light, stem, trigrams
from chatsvc.language.folding import words
from chatsvc.language.wordlists import WordFile

EVIDENCE = (
    "rank",  # score of the entry in the search as a share of the best one's
    "score",
    "topics",  # likeness of the topics of entry and question
    "titled",  # share of the question that the question and phrasings of the entry explain
    "asks",  # nearness of the topics of these
    "covered",  # share of the question that the fact explains with its headings and the entry's question
    "owned",  # ... with its own words alone
    "near",  # nearness of the topics of the fact
    "spelled",  # share of the letters of the question that the fact and its headings have
    "named",  # share of its name, as that of a row or a column, that the question has
    "proper",  # it holds the kind of amount that the question asks for
    "lacking",  # ... it does not
    "spoken",  # share of the subject spoken of before that the fact explains
    "unsaid",  # share of the words that name a thing which the entry does not explain
)
SIGNS = (
    *EVIDENCE,
    "share",  # of the first entry in the weight of all candidates
    "ahead",  # of the second entry by how much
    "alone",  # of the second fact of the same entry by how much
    "terms",  # words of the question that say something, as a share of a few
    "alien",  # words that the lexicon knows and the index does not
    "unknown",  # share of the question's words that nothing knows
)
"""Signs that the first entry answers the question."""
_KINDS = {"hours": "clock", "when": "clock", "duration": "length", "price": "money", "phone": "number", "email": "number"}
_ASKED = 0.8  # strength of a word that asks for a kind of amount which the fact holds
SAME, _MEANT, _GROUP, _LIKE = 1.0, 0.85, 0.7, 0.6  # the same stem, a synonym, a word of its group, the same beginning
_BEGINNING = 5  # letters of the same beginning
_PHRASINGS = 16  # of an entry that are looked at
_AHEAD = 4.0  # score by which the first is clearly ahead
_COMMON = 3  # rows with the same word in their names, which then names none of them
_FEW = 3  # words of a question that say enough

Vocabulary = frozenset[str]


class QuestionTerm(NamedTuple):
    """A content word of a question, with its weight and meanings."""

    word: str
    weight: float
    meant: float  # weight of its rarest concept, by which it counts where only a concept is shared
    kind: str  # of amount that it asks for
    names: bool  # a thing
    keys: tuple[str, ...]  # its stem and beginning, as a vocabulary has them
    meanings: frozenset[str]  # its concepts, likewise


class PreparedPart(NamedTuple):
    """A fact of an entry, with the vocabularies and vectors by which it is judged."""

    part: ReadFact
    own: Vocabulary
    whole: Vocabulary  # with the headings, and the question of the entry
    name: tuple[tuple[str, ...], ...]  # the words of its name that say something, as a vocabulary has them
    near: topics.Vector
    letters: frozenset[str]


@dataclass(frozen=True, slots=True)
class PreparedEntry:
    parts: tuple[PreparedPart, ...]
    title: Vocabulary
    whole: Vocabulary
    asks: topics.Vector


class Question(NamedTuple):
    """An analysed question, with which candidates are compared."""

    terms: tuple[QuestionTerm, ...]
    letters: frozenset[str]
    near: topics.Vector
    kinds: frozenset[str]  # of amounts that it asks for
    subject: tuple[QuestionTerm, ...] = ()
    alien: int = 0
    unknown: float = 0.0


class JudgedEntry(NamedTuple):
    """A candidate with the evidence and the score of each of its facts."""

    number: int
    prepared: PreparedEntry
    evidence: tuple[tuple[float, ...], ...]
    scores: tuple[float, ...]
    score: float  # the highest of them
    best: int  # index of the fact with this score


_FILE = WordFile("languages/weights.txt")
WEIGHTS = tuple(float(_FILE.text(name)) for name in EVIDENCE)
SURE, BIAS = tuple(float(_FILE.text(f"sure {name}")) for name in SIGNS), float(_FILE.text("sure bias"))


def kind_of(concepts: Collection[str]) -> str:
    """Return the kind of amount that a word with these concepts asks for ("money" for "price"), or "" if none."""
    for concept, kind in _KINDS.items():
        if concept in concepts:
            return kind
    return ""


def vocabulary(texts: Iterable[str], lexicon: Lexicon) -> Vocabulary:
    """Return the vocabulary of texts: stems, beginnings of words, and concepts. It explains words of a question."""
    held: set[str] = set()
    for text in texts:
        tokens = words(text)
        for word in tokens:
            held.update(keys_of_word(word))
            held.update("c" + concept for concept in lexicon.of_word(word))
        held.update("c" + match.concept for match in lexicon.expressions(tokens))
    return frozenset(held)


@lru_cache(maxsize=8_192)
def keys_of_word(word: str) -> tuple[str, ...]:
    return ("s" + stem(word), "b" + word[:_BEGINNING]) if len(word) >= _BEGINNING else ("s" + stem(word),)


def keys_of(tokens: Iterable[str]) -> frozenset[str]:
    return frozenset(key for word in tokens for key in keys_of_word(word))


def features(tokens: Sequence[str], lexicon: Lexicon) -> list[str]:
    names = {"s" + stem(word): None for word in tokens if word not in STOPWORDS}
    names |= {"c" + concept: None for word in tokens for concept in lexicon.of_word(word)}
    names |= {"c" + match.concept: None for match in lexicon.expressions(tokens)}
    return list(names)


def prepare(entry: Entry, lexicon: Lexicon) -> PreparedEntry:
    """Read the facts of an entry, and compute the vocabularies and vectors by which they are judged."""
    model, phrasings = topics.shared(), (entry.question, *entry.alt[:_PHRASINGS])
    title = vocabulary(phrasings, lexicon)
    prepared, parts = [], facts.parts_of(entry)
    named = Counter(word for part in parts for word in set(words(part.name)))
    under = {head: title | vocabulary((head,), lexicon) for head in {part.head for part in parts}}
    for part in parts:
        own, tokens = vocabulary((part.own,), lexicon), words(f"{part.head} {part.own}")
        name = tuple(keys_of_word(word) for word in words(part.name) if not is_light(word) and named[word] < _COMMON)
        near = model.direction(features(tokens, lexicon))
        prepared.append(PreparedPart(part, own, under[part.head] | own, name, near, frozenset(chain.from_iterable(map(trigrams, tokens)))))
    asks = [model.direction(features(words(text), lexicon)) for text in phrasings]
    mean = topics.unit(tuple(map(sum, zip(*filter(None, asks), strict=True))))
    return PreparedEntry(tuple(prepared), title, title.union(*(part.own for part in prepared)), mean)


def strength(term: QuestionTerm, held: Vocabulary) -> float:
    """Return how well a vocabulary explains a word of a question, from 0 to 1."""
    own = term.keys
    if own[0] in held:
        return SAME
    if term.meanings.isdisjoint(held):
        return _LIKE if len(own) > 1 and own[1] in held else 0.0
    shared = term.meanings & held
    if any(meaning.startswith(OWN, 1) for meaning in shared):  # the owner says that they mean the same
        return SAME
    return _MEANT if len(shared) > 1 or len(term.meanings) == 1 else _GROUP


def explained(terms: Sequence[QuestionTerm], held: Vocabulary, kinds: frozenset[str] = frozenset()) -> float:
    """Return the weighted share of a question's words that a vocabulary explains. A word that asks for one of `kinds` counts too."""
    total = met = 0.0
    for term in terms:
        total += term.weight
        shown = strength(term, held)
        part = shown * (term.weight if shown == SAME else term.meant) if shown else 0.0
        met += max(term.weight * _ASKED, part) if term.kind in kinds else part
    return met / total if total else 0.0


def of_entry(question: Question, prepared: PreparedEntry, ranked: tuple[float, float, float]) -> tuple[tuple[float, ...], ...]:
    """Return the evidence of each fact of an entry. `ranked` is the entry's share of the best score, score, and topic similarity."""
    given = frozenset(key for term in question.terms for key in term.keys)
    reach = given.union(*(term.meanings for term in question.terms))  # all by which a vocabulary may explain a word
    asked, shares = question.kinds, dict[tuple[Vocabulary, frozenset[str]], float]()

    def share(held: Vocabulary, kinds: frozenset[str] = frozenset()) -> float:  # of the question; facts of an entry hold much alike
        key = held & reach, kinds & asked
        if key not in shares:
            shares[key] = explained(question.terms, *key)
        return shares[key]

    naming = [term for term in question.terms if term.names]
    unsaid = 1 - explained(naming, prepared.whole) if naming else 0.0
    titled, asks = share(prepared.title), topics.dot(question.near, prepared.asks)
    return tuple(
        (
            *ranked,
            titled,
            asks,
            share(part.whole, part.part.kinds),
            share(part.own, part.part.kinds),
            topics.dot(question.near, part.near),
            len(question.letters & part.letters) / (len(question.letters) or 1),
            sum([not given.isdisjoint(keys) for keys in part.name]) / (len(part.name) or 1),
            float(not asked.isdisjoint(part.part.kinds)),
            float(bool(asked) and asked.isdisjoint(part.part.kinds)),
            explained(question.subject, part.whole) if question.subject else 0.0,
            unsaid,
        )
        for part in prepared.parts
    )


def signs(question: Question, judged: Sequence[JudgedEntry]) -> tuple[float, ...]:
    """Return the numeric features that SIGNS names. The confidence in the first candidate is computed from them."""
    first = judged[0]
    grown = [math.exp(min(30.0, entry.score - first.score)) for entry in judged]
    ahead = first.score - judged[1].score if len(judged) > 1 else _AHEAD
    others = sorted(first.scores)[-2:]
    alone = min(_AHEAD, others[-1] - others[0]) / _AHEAD if len(others) > 1 else 1.0
    terms = min(_FEW, len(question.terms)) / _FEW
    shown = first.evidence[first.best]
    return (*shown, 1 / sum(grown), min(ahead, _AHEAD) / _AHEAD, alone, terms, min(2, question.alien) / 2, question.unknown)
