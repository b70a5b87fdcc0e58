"""Answers to questions: the fact of an entry that holds what the question asks for, with a calibrated confidence.

The index finds candidates. Each is judged by its best fact: how much of the question the fact and its heading explain, and whether it
holds an amount, a time, a place or a person where the question asks for one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from chatsvc.domain.models import Entry
from chatsvc.engines.knowledge.search import amounts, comparing, facts, matching, telling
from chatsvc.engines.knowledge.search.facts import Fact
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from chatsvc.engines.knowledge.search.matching import QuestionTerm, TextVocabulary

ANSWER, HEDGE, ASK = 0.60, 0.45, 0.20  # least confidence of an answer, a hedged answer, a question back
HELD = {  # what a fact must hold for a kind of question; the kinds of `amounts`
    "price": frozenset({"money", "percent", "included"}),
    "duration": frozenset({"duration", "time", "day"}),
    "when": frozenset({"time", "day", "duration", "age"}),
    "where": frozenset({"place", "contact"}),
    "who": frozenset({"person"}),
    "how_many": frozenset({"count", "age", "duration", "percent", "money"}),
}
_PROPER = {"price": {"money", "percent"}, "duration": {"duration"}, "when": {"time", "day"}, "how_many": {"count", "age"}}
_MOST_ENTRIES = 5  # told as evidence
_MOST_OPTIONS = 3
_NEAR = 0.35  # share of the first one's score from which an entry may be offered
_HEAD, _ELSEWHERE = 0.7, 0.35  # strength of a word that the heading explains, or only the rest of the entry
_SUBJECT = 0.4  # weight of the subject's words beside a question that names a thing itself
_CACHED = 2_048  # entries with their facts
_SECOND = 0.75  # share of a second thing that another entry must explain


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


@dataclass(frozen=True, slots=True)
class JudgedEntry:
    """An entry judged for a question. `scores` holds one of each fact."""

    prepared: Prepared
    rank: float  # score of the search as a share of the first one's
    scores: tuple[float, ...]
    best: int
    covered: float  # share of the question that the best fact and its heading explain
    within: float  # ... that the entry explains
    fits: bool  # a fact holds what the question asks for
    score: float


class FactIndex:
    """Answers over a knowledge index. The facts of an entry are read when it first becomes a candidate."""

    def __init__(self, knowledge: KnowledgeIndex) -> None:
        """Share the index of a bot's knowledge."""
        self._knowledge = knowledge
        self._lexicon = knowledge.lexicon
        self._prepared: dict[int, Prepared] = {}

    def answer(self, question: Question, said: Collection[str] = ()) -> Answer:
        """Return what to say. No text of `said` is said again where there is more to say."""
        ranking = self._knowledge.rank(question.text, spoken=question.language or None)
        asked = matching.terms(ranking.query, ranking.asked, self._lexicon)
        about = ""
        if question.subject and not _names(asked):
            about = question.subject
            ranking = self._knowledge.rank(f"{question.subject} {question.text}", spoken=question.language or None)
            asked = matching.terms(ranking.query, ranking.asked, self._lexicon)
        if not ranking.entries:
            return Answer("abstain", 0.0, "", (), about)
        first = ranking.entries[0].score or 1.0
        judged = [self._judge(one.entry, one.score / first, asked, question.kind) for one in ranking.entries]
        judged.sort(key=lambda one: -one.score)
        sure = self._confidence(question, asked, judged, ranking.confidence)
        evidence = tuple((one.prepared.entry.id, round(min(1.0, one.score), 4)) for one in judged[:_MOST_ENTRIES])
        best = judged[0]
        compared = comparing.compare(question.text, asked, [(one.prepared, one.scores) for one in judged[:3] if one.score >= _NEAR])
        if compared is not None:
            entry = compared.entry
            return Answer("answer", max(sure, ANSWER), compared.text, evidence, _subject(entry), (), entry.id, entry.question)
        text = telling.tell(best, asked, question, said)
        decision = "answer" if sure >= ANSWER else "hedge" if sure >= HEDGE else "ask" if sure >= ASK else "abstain"
        entry = best.prepared.entry
        options = tuple(one.prepared.entry.question for one in judged[:_MOST_OPTIONS] if one.score >= _NEAR * best.score)
        return Answer(
            decision,
            round(sure, 4),
            text,
            evidence,
            about or _subject(entry),
            options if decision == "ask" else (),
            entry.id,
            entry.question,
        )

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
            )
        return known

    def _judge(self, number: int, rank: float, asked: Sequence[QuestionTerm], kind: str) -> JudgedEntry:
        prepared = self._prepare(number)
        wanted = HELD.get(kind, frozenset())
        total = sum(term.weight for term in asked) or 1.0
        titled = [matching.strength(term, prepared.title) for term in asked]
        owned = [
            [max(matching.strength(term, own), _HEAD * matching.strength(term, head)) for term in asked]
            for own, head in zip(prepared.own, prepared.heads, strict=True)
        ]
        anywhere = [max(column) for column in zip(*owned, titled, strict=True)] if asked else []
        scores, covers = [], []
        for held, kinds in zip(owned, prepared.kinds, strict=True):
            explained = [max(one, _HEAD * title, _ELSEWHERE * more) for one, title, more in zip(held, titled, anywhere, strict=True)]
            cover = sum(term.weight * one for term, one in zip(asked, explained, strict=True)) / total
            fact = 0.3 * bool(kinds & _PROPER.get(kind, set())) + 0.2 * (not kinds.isdisjoint(wanted)) if wanted else 0.0
            scores.append(cover + fact)
            covers.append(sum(term.weight * max(one, title) for term, one, title in zip(asked, held, titled, strict=True)) / total)
        best = max(range(len(scores)), key=lambda at: (scores[at], -at))
        within = sum(term.weight * one for term, one in zip(asked, anywhere, strict=True)) / total
        fits = not wanted or not prepared.kinds[best].isdisjoint(wanted)
        score = 0.55 * rank + 0.45 * covers[best] + 0.15 * fits
        return JudgedEntry(prepared, rank, tuple(scores), best, covers[best], within, fits, score)

    def _confidence(self, question: Question, asked: Sequence[QuestionTerm], judged: Sequence[JudgedEntry], found: float) -> float:
        best = judged[0]
        margin = best.score - judged[1].score if len(judged) > 1 else best.score
        z = -3.2 + 2.6 * best.covered + 2.5 * found * best.rank + 2.0 * margin + (0.4 if question.kind and best.fits else 0.0)
        if not best.fits:
            z -= 2.0
        if not asked:
            z -= 1.0
        return 1.0 / (1.0 + math.exp(-z))


def _names(asked: Sequence[QuestionTerm]) -> bool:
    """Return whether a question names a thing that the knowledge may hold."""
    return any(term.names and term.known for term in asked)


def _subject(entry: Entry) -> str:
    return entry.question
