"""Answers to questions: the fact of an entry that holds what the question asks for, with a calibrated confidence.

The index finds candidates. Each is judged by its best fact: how much of the question the fact and its heading explain, and whether it
holds an amount, a time, a place or a person where the question asks for one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from typing import NamedTuple

from chatsvc.domain.language import primary
from chatsvc.domain.models import Entry
from chatsvc.engines import Hit, SearchResult
from chatsvc.engines.knowledge.search import amounts, comparing, facts, matching, telling, topics
from chatsvc.engines.knowledge.search.facts import Fact
from chatsvc.engines.knowledge.search.index import KnowledgeIndex, RankedEntry, Ranking
from chatsvc.engines.knowledge.search.matching import QuestionTerm, TextVocabulary
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS
from chatsvc.language import acts
from chatsvc.language.folding import words
from chatsvc.language.language_detection import guess
from chatsvc.language.wordlists import WordFile

ANSWER, HEDGE, ASK = 0.62, 0.50, 0.15  # least confidence of an answer, a hedged answer, a question back
_AGE = frozenset({"age"})
_OF_BUSINESS = frozenset({"where", "open"})  # kinds of questions that need no subject
LIKELY = 0.4  # probability from which a kind of question counts
_MOST_ENTRIES = 5  # told as evidence
_MOST_OPTIONS = 3
_NEAR = 2.0  # distance from the first one's score up to which an entry may be offered
_HEAD, _ELSEWHERE = 0.7, 0.35  # strength of a word that the heading explains, or only the rest of the entry
_PROPER, _FITS = 0.3, 0.2  # weight of an amount that is asked for, and of one that may stand for it
_CANDIDATES = 10
_TOPIC = 0.35  # weight of the nearness of topics in the choice of a fact
_PHRASINGS = 16  # of an entry whose topics count
_PHRASINGS_READ = 3  # phrasings of an entry whose kinds of question count, beside its question
_AT_ONCE = 200  # entries whose facts are read when the index is built
_CACHED = 2_048  # entries with their facts


class Question(NamedTuple):
    """A question. `kind` is one of `sentences.KINDS` or ""; `subject` holds the words of the thing talked about before."""

    text: str
    kind: str = ""
    language: str = ""
    subject: str = ""


class Answer(NamedTuple):
    """Text to say to a question, and how sure it is.

    `decision` is "answer", "hedge", "ask" or "abstain"; `confidence` the probability that `text` answers the question; `entries` ids
    and scores, best first; `subject` the words of the thing answered about; `options` what to choose from where the decision is
    "ask"; `entry` and `question` id and question of the entry that `text` comes from.
    """

    decision: str
    confidence: float
    text: str
    entries: tuple[tuple[str, float], ...]
    subject: str
    options: tuple[str, ...] = ()
    entry: str | None = None
    question: str = ""


@dataclass(frozen=True, slots=True)
class Prepared:
    """An entry with its facts and their vocabularies."""

    entry: Entry
    facts: tuple[Fact, ...]
    title: TextVocabulary  # question and phrasings
    own: tuple[TextVocabulary, ...]  # of each fact
    heads: tuple[TextVocabulary, ...]  # of what stands over each fact in the answer
    kinds: tuple[frozenset[str], ...]  # of amounts that each fact holds
    asks: topics.Vector  # where its question and phrasings lie among the topics
    tells: topics.Vector  # where its answer does
    lies: tuple[topics.Vector, ...]  # where each fact does
    asked: Mapping[str, float]  # kinds of its questions, a vector of length 1


@dataclass(frozen=True, slots=True)
class JudgedEntry:
    """An entry judged for a question. `scores` holds one of each fact; `evidence` the figures of `EVIDENCE`."""

    number: int
    prepared: Prepared
    scores: tuple[float, ...]
    best: int
    fits: bool  # the best fact holds what the question asks for
    evidence: tuple[float, ...]
    score: float


@dataclass(frozen=True, slots=True)
class Judged:
    """Terms of a question, its candidates, best first, and the confidence in the first."""

    asked: tuple[QuestionTerm, ...]
    entries: list[JudgedEntry]
    confidence: float
    ranking: Ranking


EVIDENCE = (
    "rank",  # score of the search as a share of the first one's
    "score",
    "topics",
    "covered",  # share of the question that the best fact and its heading explain
    "within",  # ... that the entry explains
    "titled",  # ... that the question and phrasings of the entry explain
    "owned",  # ... that the best fact explains
    "fits",  # it holds what the question asks for, or something that may stand for it
    "asks",  # nearness of the topics of the phrasings
    "tells",  # ... of the answer
    "near",  # ... of the best fact
    "kind",  # cosine of the kinds of question of the visitor and of the entry
    "missing",  # share of the question in words that other entries explain
    "unsaid",  # share of the question's own words that the entry does not explain
    "clear",  # the best fact has all words of the question, and what it asks for
)
SIGNS = ("ranked", "found", "covered", "owned", "lies", "kind", "margin", "missing", "clear", "terms", "unfit", "unsaid")
_FILE = WordFile("engines/knowledge/search/weights.txt")
WEIGHTS = tuple(float(_FILE.text(f"entry {name}")) for name in EVIDENCE)
_BIAS, _SURE = float(_FILE.text("bias")), tuple(float(_FILE.text(f"sure {name}")) for name in SIGNS)


class FactIndex:
    """Answers over a knowledge index. Of a large one, the facts of an entry are read when it first becomes a candidate."""

    def __init__(self, knowledge: KnowledgeIndex) -> None:
        """Share the index of a bot's knowledge."""
        self._knowledge = knowledge
        self._lexicon = knowledge.lexicon
        self._prepared: dict[int, Prepared] = {}
        for number in range(min(len(knowledge.entries), _AT_ONCE)):
            self._prepare(number)

    def answer(self, question: Question, said: Collection[str] = ()) -> Answer:
        """Return what to say. No text of `said` is said again where there is more to say."""
        judged = self.judged_with_subject(question)
        if question.kind in _OF_BUSINESS and not any(term.names and term.known for term in judged.asked):
            judged = max(judged, self.judged(question, _of_business(question)), key=lambda one: one.confidence)
        if not judged.entries:
            return Answer("abstain", 0.0, "", (), question.subject)
        first, best = judged.entries[0].score, judged.entries[0]
        entry, sure = best.prepared.entry, judged.confidence
        evidence = tuple((one.prepared.entry.id, round(math.exp(one.score - first), 4)) for one in judged.entries[:_MOST_ENTRIES])
        compared = comparing.compare(question.text, judged.asked, [one.prepared for one in judged.entries[:3]])
        if compared is not None:
            entry, text = compared
            sure = max(sure, ANSWER)
        else:
            text = telling.tell(best, judged.asked, question, said)
            more = self._second(question, judged)
            text = "\n\n".join([text, *more])
        decision = "answer" if sure >= ANSWER else "hedge" if sure >= HEDGE else "ask" if sure >= ASK else "abstain"
        near = tuple(one.prepared.entry.question for one in judged.entries[:_MOST_OPTIONS] if one.score >= first - _NEAR)
        options = near if decision == "ask" else ()
        return Answer(decision, round(sure, 4), text, evidence, self._subject(entry), options, entry.id, entry.question)

    def search(self, text: str, language: str | None = None, limit: int = 5, *, explain: bool = False) -> SearchResult:
        """Search as `KnowledgeIndex.search` does, with the entries and the confidence of `answer`."""
        kinds = acts.classify(text, language or guess(text) or self._knowledge.default_language).kinds
        kind = max(kinds, key=lambda one: kinds[one])
        judged = self.judged(Question(text, kind if kinds[kind] >= LIKELY else "", language or ""), text)
        sure, ranking = judged.confidence, judged.ranking
        first = judged.entries[0].score if judged.entries else 0.0
        hits = tuple(
            Hit(
                one.prepared.entry,
                round(min(1.0, max(0.0, ranking.entries[0].score)) * math.exp((one.score - first) / 4), 4),
                self._knowledge.reasons(ranking, one.number) if explain else (),
            )
            for one in judged.entries[:limit]
        )
        decision = "answer" if sure >= ANSWER else "ask" if sure >= ASK else "abstain"
        return SearchResult(ranking.language, decision, round(sure, 4), hits, hedged=decision == "ask" and sure >= HEDGE)

    def _second(self, question: Question, judged: Judged) -> list[str]:
        """Return what another entry says of a second thing that the question names: "filling and scaling, how much?"."""
        best = judged.entries[0]
        own = [term for term in judged.asked if term.own and term.names and term.known and not term.is_value]
        left = [term for term in own if not _explains(best, term, matching.SAME_WORD)]
        if not left or len(left) == len(own):
            return []
        rest = question._replace(text=" ".join(term.text for term in left), subject="")
        other = self.judged(rest, rest.text)
        if not other.entries or other.entries[0].prepared is best.prepared or other.confidence < ASK:
            return []
        titled = all(matching.strength(term, other.entries[0].prepared.title) >= matching.SAME_WORD for term in left)
        return [telling.tell(other.entries[0], other.asked, rest, ())] if titled and other.entries[0].fits else []

    def judged_with_subject(self, question: Question) -> Judged:
        """Judge a question by itself, or together with the subject spoken of before."""
        alone = self.judged(question, question.text)
        about = self._subject_words(question.subject)
        if not about:
            return alone
        own = [term for term in alone.asked if term.names and term.known and not term.is_value]
        together = self.judged(question, f"{about} {question.text}")
        if not own or not alone.entries or not together.entries:
            return together if together.entries else alone
        best, other = alone.entries[0], together.entries[0]
        if best.prepared is other.prepared:
            return max(alone, together, key=lambda one: one.confidence)
        if _points(question.text) and together.confidence >= HEDGE and all(_explains(other, term) for term in own):
            return together
        if alone.confidence >= HEDGE and all(matching.strength(term, best.prepared.title) >= matching.SAME_WORD for term in own):
            return alone
        if together.confidence >= HEDGE and all(_explains(other, term) for term in own):
            return together
        return max(alone, together, key=lambda one: one.confidence)

    def judged(self, question: Question, text: str) -> Judged:
        """Return the candidates for a text, judged by what the question asks."""
        ranking = self._knowledge.rank(text, spoken=question.language or None)
        own = None if text is question.text else words(question.text)
        asked = matching.terms(ranking.query, ranking.asked, self._lexicon, own)
        if not ranking.entries:
            return Judged(asked, [], 0.0, ranking)
        first = ranking.entries[0].score or 1.0
        lies = topics.shared().direction(topics.features_of([word.read for word in ranking.query.words], self._lexicon))
        kinds = _kinds((question.text,), question.language or ranking.language)
        entries = [self._judge(one, first, asked, question.kind, kinds, lies) for one in ranking.entries[:_CANDIDATES]]
        entries.sort(key=lambda one: -one.score)
        return Judged(asked, entries, probability(signs(asked, entries, ranking.confidence)), ranking)

    def _subject_words(self, subject: str) -> str:
        """Return the words of a subject that name it."""
        said = words(subject)
        marks = amounts.LABELS.marked(said)
        return " ".join(word for word, mark in zip(said, marks, strict=True) if word not in STOPWORDS and not mark & {"asking", "pointing"})

    def _subject(self, entry: Entry) -> str:
        return self._subject_words(entry.question) or entry.question

    def _prepare(self, number: int) -> Prepared:
        known = self._prepared.get(number)
        if known is None:
            if len(self._prepared) >= _CACHED:
                del self._prepared[next(iter(self._prepared))]
            entry = self._knowledge.entries[number]
            stated = facts.of(entry)
            known = self._prepared[number] = Prepared(
                entry,
                stated,
                matching.vocabulary((entry.question, *entry.alt), self._lexicon),
                tuple(matching.vocabulary((fact.text,), self._lexicon) for fact in stated),
                tuple(matching.vocabulary((fact.head,), self._lexicon) for fact in stated),
                tuple(amounts.read(fact.text).kinds for fact in stated),
                self._mean((entry.question, *entry.alt)),
                self._mean((entry.answer,)),
                tuple(self._mean((fact.text,)) for fact in stated),
                _kinds((entry.question, *entry.alt[:_PHRASINGS_READ]), entry.language),
            )
        return known

    def _mean(self, texts: Sequence[str]) -> topics.Vector:
        """Return the mean of where texts lie among the topics."""
        found = [topics.shared().direction(topics.features_of(words(text), self._lexicon)) for text in texts[:_PHRASINGS]]
        return topics.unit(tuple(map(sum, zip(*filter(None, found), strict=True))))

    def _judge(
        self,
        one: RankedEntry,
        first: float,
        asked: Sequence[QuestionTerm],
        kind: str,
        kinds_asked: Mapping[str, float],
        lies: topics.Vector,
    ) -> JudgedEntry:
        prepared = self._prepare(one.entry)
        wanted, proper = amounts.HELD.get(kind, frozenset()), amounts.PROPER.get(kind, frozenset())
        if not wanted and any(term.is_age for term in asked):
            proper = _AGE
        total = sum([term.weight for term in asked]) or 1.0
        weights = [term.weight / total for term in asked]
        titled = [matching.strength(term, prepared.title) for term in asked]
        owned = [
            [
                max(matching.strength(term, own), _HEAD * matching.strength(term, head)) if head.words else matching.strength(term, own)
                for term in asked
            ]
            for own, head in zip(prepared.own, prepared.heads, strict=True)
        ]
        anywhere = [max(column) for column in zip(*owned, titled, strict=True)]
        base = [max(_HEAD * title, _ELSEWHERE * more) for title, more in zip(titled, anywhere, strict=True)]
        near = [topics.cosine(lies, fact) for fact in prepared.lies]
        scores = [
            sum(map(mul, weights, map(max, held, base)))
            + _PROPER * (not kinds.isdisjoint(proper))
            + _FITS * (not kinds.isdisjoint(wanted))
            + _TOPIC * lying
            for held, kinds, lying in zip(owned, prepared.kinds, near, strict=True)
        ]
        best = max(range(len(scores)), key=lambda at: (scores[at], -at))
        fits = not wanted or not prepared.kinds[best].isdisjoint(wanted)
        held_best = sum(map(mul, weights, owned[best]))
        lacking = [(term, weight, held) for term, weight, held in zip(asked, weights, anywhere, strict=True) if held < matching.SAME_WORD]
        own_weight = sum([weight for term, weight in zip(asked, weights, strict=True) if term.own and not term.is_value]) or 1.0
        evidence = (
            one.score / first,
            one.score,
            one.likeness,
            sum(map(mul, weights, map(max, owned[best], titled))),
            sum(map(mul, weights, anywhere)),
            sum(map(mul, weights, titled)),
            held_best,
            float(fits and bool(wanted)),
            topics.cosine(lies, prepared.asks),
            topics.cosine(lies, prepared.tells),
            near[best],
            sum(share * prepared.asked.get(kind, 0.0) for kind, share in kinds_asked.items()),
            sum([weight for term, weight, held in lacking if term.names and term.known and held < matching.EXPLAINED]),
            sum([weight * (1 - held) for term, weight, held in lacking if term.own and not term.is_value]) / own_weight,
            float(fits and held_best >= matching.SAME_WORD),
        )
        return JudgedEntry(one.entry, prepared, tuple(scores), best, fits, evidence, sum(map(mul, WEIGHTS, evidence)))


def signs(asked: Sequence[QuestionTerm], judged: Sequence[JudgedEntry], found: float) -> tuple[float, ...]:
    """Return the signs of `SIGNS` that the first one answers the question. `found` is the confidence of the search."""
    best = judged[0]
    shown = dict(zip(EVIDENCE, best.evidence, strict=True))
    follows = any(not term.own for term in asked)  # the subject's words, which its entry holds, are no evidence
    return (
        found * shown["rank"],
        found,
        shown["covered"],
        shown["owned"],
        max(shown["near"], shown["asks"]),
        shown["kind"],
        min(2.0, best.score - judged[1].score) if len(judged) > 1 else 2.0,
        shown["missing"],
        shown["clear"],
        min(1.0, len(asked) / 6),
        0.0 if best.fits else 1.0,
        shown["unsaid"] if follows else 0.0,
    )


def probability(shown: Sequence[float]) -> float:
    """Return the probability that the first one answers the question: a logistic regression over the signs."""
    return 1.0 / (1.0 + math.exp(-_BIAS - sum(map(mul, _SURE, shown))))


def _points(text: str) -> bool:
    """Return whether a question refers to something spoken of before: "it", "onu"."""
    return any("pointing" in mark for mark in amounts.LABELS.marked(words(text)))


def _of_business(question: Question) -> str:
    """Return the question for the address or the hours of the business itself."""
    file = amounts.FILES.get(primary(question.language)) or amounts.FILES["en"]
    return file.text(f"of_business {question.kind}")


def _kinds(texts: Sequence[str], language: str) -> dict[str, float]:
    """Return the kinds of question of some texts together, as a vector of length 1."""
    total: dict[str, float] = {}
    for text in texts:
        for kind, share in acts.classify(text, primary(language)).kinds.items():
            total[kind] = total.get(kind, 0.0) + share
    length = math.sqrt(sum(share * share for share in total.values())) or 1.0
    return {kind: share / length for kind, share in total.items()}


def _explains(judged: JudgedEntry, term: QuestionTerm, least: float = matching.EXPLAINED) -> bool:
    """Return whether an entry has a term, in its title or in a fact."""
    prepared = judged.prepared
    return any(matching.strength(term, held) >= least for held in (prepared.title, *prepared.own))
