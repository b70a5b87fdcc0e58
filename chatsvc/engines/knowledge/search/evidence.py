"""Evidence that an entry answers a question, and that one of its facts does: figures, their fitted weights, and the confidence.

A question that leaves its subject out is looked for like any other. What was spoken of before is evidence too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from operator import mul
from typing import NamedTuple

from chatsvc.domain.language import primary
from chatsvc.engines.knowledge.search import amounts, matching, topics
from chatsvc.engines.knowledge.search.candidates import RankedEntry
from chatsvc.engines.knowledge.search.lexicon import Lexicon
from chatsvc.engines.knowledge.search.matching import QuestionTerm
from chatsvc.engines.knowledge.search.prepared import Prepared
from chatsvc.engines.knowledge.search.query import Query
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS
from chatsvc.language.wordlists import WordFile

OF_ENTRY = (
    "rank",  # score of the search as a share of the first one's
    "score",
    "topics",
    "titled",  # share of the question that the question and phrasings of the entry explain
    "within",  # ... that the entry explains
    "asks",  # nearness of the topics of the phrasings
    "tells",  # ... of the answer
    "kind",  # cosine of the kinds of question of the visitor and of the entry
    "unsaid",  # share of the question's own words that the entry does not explain
    "spoken",  # it was spoken of before: 1 for the last one
    "spoken held",  # ... times the share of the things that the question names which the entry explains
    "pointed",  # ... if the question refers to it: "it"
)
OF_FACT = (
    "covered",  # share of the question that the fact and the question of its entry explain
    "owned",  # ... that the fact explains
    "near",  # nearness of its topics, or of those of the phrasings
    "fits",  # it holds what the question asks for, or something that may stand for it, or the question asks for nothing of the kind
    "proper",  # it holds just what the question asks for
    "clear",  # the fact and the question of its entry have all words of the question, and it holds what the question asks for
    "spelled",  # share of the letters of the question that the fact has
    "around",  # share of the words spoken of before that the fact and the question of its entry explain
    "business",  # share of the words for the address or the hours of a business, where the question asks for these
)
EVIDENCE = (*OF_ENTRY, *OF_FACT)
SIGNS = (
    *EVIDENCE,
    "share",  # of the first one in the weight of all candidates
    "ahead",  # of the second one by how much
    "terms",  # length of the question in terms
    "content",  # ... in words that are no stop words
    "common",  # share of these that the lexicon knows
    "alien",  # words that the lexicon knows and the index does not
    "left",  # nearness of the topics of the words that the entry lacks
)
"""Signs that the first entry answers the question."""
_FILE = WordFile("engines/knowledge/search/weights.txt")


class Weights(NamedTuple):
    """Fitted weights for one form of questions, and the bias of the confidence."""

    entry: tuple[float, ...]
    fact: tuple[float, ...]
    sure: tuple[float, ...]
    bias: float


def _read(form: str) -> Weights:
    entry, fact, sure = (tuple(float(_FILE.text(f"{form} {name}")) for name in names) for names in (OF_ENTRY, OF_FACT, SURE))
    return Weights(entry, fact, sure, float(_FILE.text(f"{form} bias")))


FORMS = ("named", "bare")
"""Forms of questions: those that name a thing, and those that leave out what was spoken of, or the business."""
SURE = tuple(f"sure {name}" for name in SIGNS)
WEIGHTS = {form: _read(form) for form in FORMS}
_TONGUE = 2.0  # weight of the logarithm of the factor of the search for an entry in another language
_NOTHING_LEFT = 0.5  # nearness of the words that an entry lacks, where there are none
_HEAD = 0.7  # strength of a word that the heading of a fact explains
_AGE = frozenset({"age"})
_OWN_SUBJECT = frozenset({"where", "open", "contact", "who"})  # kinds of questions
_AHEAD, _MOST_AHEAD = 4.0, 30.0  # score by which the first one is clearly ahead, and what an exponential can take
_MANY, _ALIENS = 6, 2  # words of a long question, and strange ones that tell as much as more of them
_AROUND = tuple(map(OF_FACT.index, ("around", "business")))
_PARTLY = 0.4  # least share of the words spoken of that a fact about them has
_FITS, _PROPER = map(OF_FACT.index, ("fits", "proper"))


@dataclass(frozen=True, slots=True)
class Asking:
    """A question as its candidates are judged by it.

    `things` are the terms that name something; `around` those of what was spoken of before, `business` those of the address or the hours
    of a business where the question asks for these. `told` are the numbers of the entries spoken of, with 1 for the last one and less for
    one before.
    """

    terms: tuple[QuestionTerm, ...]
    weights: tuple[float, ...]  # of the terms, 1 together
    things: tuple[QuestionTerm, ...]
    kind: str
    kinds: Mapping[str, float]
    lies: topics.Vector  # where it lies among the topics
    letters: frozenset[str]
    languages: tuple[str, str]  # of the answer, and of the question
    around: tuple[QuestionTerm, ...] = ()
    business: tuple[QuestionTerm, ...] = ()
    told: Mapping[int, float] = field(default_factory=dict)
    points: bool = False  # refers to something spoken of: "it"

    @property
    def has_own_subject(self) -> bool:
        """True if the business may answer it as well as what was spoken of."""
        return self.kind in _OWN_SUBJECT and not self.points

    @property
    def form(self) -> str:
        """One of `FORMS`."""
        return "bare" if not self.things and (self.told or self.around or self.business) else "named"


@dataclass(frozen=True, slots=True)
class JudgedEntry:
    """An entry judged for a question: the figures of `OF_ENTRY`, those of `OF_FACT` for each fact, and the score of each fact."""

    number: int
    prepared: Prepared
    scores: tuple[float, ...]
    best: int
    of_entry: tuple[float, ...]
    of_facts: tuple[tuple[float, ...], ...]
    score: float
    is_foreign: bool = False  # is in another language than the answer should be
    is_translated: bool = False  # is in another language than the question

    @property
    def fits(self) -> bool:
        """True if the best fact holds what the question asks for."""
        return bool(self.of_facts[self.best][_FITS])

    def explains(self, term: QuestionTerm, least: float = matching.EXPLAINED) -> bool:
        """Return whether the entry has a term, in its title or in a fact."""
        prepared = self.prepared
        if matching.strength(term, prepared.whole) < least:
            return False
        return any(matching.strength(term, held) >= least for held in (prepared.title, *prepared.own, *prepared.heads))

    @property
    def holds(self) -> bool:
        """True if the best fact holds just the kind of amount that the question asks for."""
        return bool(self.of_facts[self.best][_PROPER])

    @property
    def is_around(self) -> bool:
        """True if the best fact is about what was spoken of, or about the address or hours of the business."""
        return max(self.of_facts[self.best][at] for at in _AROUND) >= _PARTLY

    def is_titled(self, things: Sequence[QuestionTerm]) -> bool:
        """Return whether the title has one of the things."""
        return any(matching.strength(term, self.prepared.title) >= matching.SAME_WORD for term in things)


def judge(one: RankedEntry, prepared: Prepared, first: float, asking: Asking) -> JudgedEntry:
    """Judge a candidate. `first` is the score of the first one of the search."""
    asked, weights = asking.terms, asking.weights
    wanted, proper = amounts.HELD.get(asking.kind, frozenset()), amounts.PROPER.get(asking.kind, frozenset())
    if not wanted and any(term.is_age for term in asked):
        proper = _AGE
    # most words of a question are in none of an entry's texts
    known = [term.is_age or matching.strength(term, prepared.whole) > 0.0 for term in asked]
    titled = [matching.strength(term, prepared.title) if held and not term.is_age else 0.0 for term, held in zip(asked, known, strict=True)]
    owned = [
        [
            0.0
            if not held
            else float("age" in kinds)  # whose age is told is no amount of 15 %
            if term.is_age
            else max(matching.strength(term, own), _HEAD * matching.strength(term, head) if head.words else 0.0)
            for term, held in zip(asked, known, strict=True)
        ]
        for own, head, kinds in zip(prepared.own, prepared.heads, prepared.kinds, strict=True)
    ]
    anywhere = [max(column) for column in zip(*owned, titled, strict=True)]
    own_weight = sum([weight for term, weight in zip(asked, weights, strict=True) if not term.is_value]) or 1.0
    told, by = asking.told.get(one.entry, 0.0), WEIGHTS[asking.form]
    held_things = 0.0
    if told and asking.things:
        held_things = sum(matching.strength(term, prepared.whole) >= matching.EXPLAINED for term in asking.things) / len(asking.things)
    of_entry = (
        one.score / first,
        one.score,
        one.likeness,
        sum(map(mul, weights, titled)),
        sum(map(mul, weights, anywhere)),
        topics.cosine(asking.lies, prepared.asks),
        topics.cosine(asking.lies, prepared.tells),
        sum(share * prepared.asked.get(kind, 0.0) for kind, share in asking.kinds.items()),
        sum(
            [
                weight * (1 - held)
                for term, weight, held in zip(asked, weights, anywhere, strict=True)
                if held < matching.SAME_WORD and not term.is_value
            ]
        )
        / own_weight,
        told,
        told * held_things,
        told * asking.points,
    )
    asks = topics.cosine(asking.lies, prepared.asks)
    alike = [len(asking.letters & own) / (len(asking.letters) or 1) for own in prepared.letters]
    around, business = _held(prepared, asking.around), _held(prepared, asking.business)
    of_facts = tuple(
        (*_of_fact(weights, held, titled, asks, topics.cosine(asking.lies, lies), kinds, wanted, proper), spelled, near, home)
        for held, kinds, lies, spelled, near, home in zip(owned, prepared.kinds, prepared.lies, alike, around, business, strict=True)
    )
    scores = tuple(sum(map(mul, by.fact, shown)) for shown in of_facts)
    best = max(range(len(scores)), key=lambda at: (scores[at], -at))
    score = sum(map(mul, by.entry, of_entry)) + scores[best] + _TONGUE * math.log(one.foreign)
    own = primary(prepared.entry.language)
    return JudgedEntry(one.entry, prepared, scores, best, of_entry, of_facts, score, own != asking.languages[0], own != asking.languages[1])


def _held(prepared: Prepared, terms: Sequence[QuestionTerm]) -> list[float]:
    """Return for each fact the share of some terms that the fact and the question of its entry explain."""
    known = [term for term in terms if matching.strength(term, prepared.whole) > 0.0]
    if not known:
        return [0.0] * len(prepared.own)
    titled, total = [matching.strength(term, prepared.title) for term in known], sum([term.weight for term in terms]) or 1.0
    return [
        sum(
            [
                term.weight * max(best, matching.strength(term, own), _HEAD * matching.strength(term, head))
                for term, best in zip(known, titled, strict=True)
            ]
        )
        / total
        for own, head in zip(prepared.own, prepared.heads, strict=True)
    ]


def _of_fact(
    weights: Sequence[float],
    held: Sequence[float],
    titled: Sequence[float],
    asks: float,
    near: float,
    kinds: AbstractSet[str],
    wanted: AbstractSet[str],
    proper: AbstractSet[str],
) -> tuple[float, ...]:
    """Return the first figures of `OF_FACT`: of a fact that has each term with a strength, and amounts of some kinds."""
    covered, fits = sum(map(mul, weights, map(max, held, titled))), not wanted or not kinds.isdisjoint(wanted)
    entitled = sum(map(mul, weights, titled))
    return (
        covered,
        covered - entitled,
        max(asks, near),
        float(fits),
        float(not kinds.isdisjoint(proper)),
        float(fits and covered >= matching.SAME_WORD),
    )


def signs(judged: Sequence[JudgedEntry], asking: Asking, query: Query, lexicon: Lexicon) -> tuple[float, ...]:
    """Return the signs of `SIGNS` that the first one answers the question."""
    best, prepared = judged[0], judged[0].prepared
    lies = topics.shared().direction(topics.features_of([term.text for term in asking.terms if not best.explains(term)], lexicon))
    content = [word for word in query.said if word not in STOPWORDS]
    # an entry in another language is no rival: it may say the same
    rivals = [one.score - best.score for one in judged if one.prepared.entry.language == prepared.entry.language]
    return (
        *best.of_entry,
        *best.of_facts[best.best],
        1.0 / sum([math.exp(min(_MOST_AHEAD, score)) for score in rivals]),
        min(1.0, -max(rivals[1:], default=-_AHEAD) / _AHEAD),
        min(1.0, len(asking.terms) / _MANY),
        min(1.0, len(content) / _MANY),
        sum([bool(lexicon.of_word(word)) for word in content]) / (len(content) or 1),
        min(1.0, sum([word.alien for word in query.words]) / _ALIENS),
        max(topics.cosine(lies, prepared.asks), topics.cosine(lies, prepared.tells)) if lies else _NOTHING_LEFT,
    )


def probability(shown: Sequence[float], form: str) -> float:
    """Return the probability that the first one answers a question of a form: a logistic regression over the signs."""
    by = WEIGHTS[form]
    return 1.0 / (1.0 + math.exp(-by.bias - sum(map(mul, by.sure, shown))))
