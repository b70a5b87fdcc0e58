"""Answers to questions: the fact of an entry that holds what the question asks for, with a calibrated confidence.

The index finds candidates, and what was spoken of before adds some. `evidence` judges each by its best fact.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from chatsvc.domain.language import primary
from chatsvc.domain.models import Entry
from chatsvc.engines import Fact, Hit, SearchResult
from chatsvc.engines.knowledge.search import amounts, comparing, evidence, matching, ordinary, telling, topics, totals
from chatsvc.engines.knowledge.search.candidates import EntryIndex, RankedEntry, Ranking
from chatsvc.engines.knowledge.search.evidence import Asking, JudgedEntry
from chatsvc.engines.knowledge.search.matching import QuestionTerm
from chatsvc.engines.knowledge.search.prepared import Preparer, kinds_of, letters
from chatsvc.engines.knowledge.search.question import Question
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS
from chatsvc.language import acts
from chatsvc.language.folding import words
from chatsvc.language.language_detection import guess

ANSWER, HEDGE, ASK = 0.62, 0.41, 0.2  # least confidence of an answer, a hedged answer, a question back
CALLED = 0.95  # confidence in an entry that the question repeats, or names and nothing besides
_FOREIGN = 6.0  # taken from the score of an entry in another language than the caller chose
_SUMMED = 3  # entries whose prices may be added up
_PRICED = frozenset({"price", "how_many", "what", ""})  # kinds of questions that a sum may answer
LIKELY = 0.4  # probability from which a kind of question counts
_MOST_ENTRIES = 5  # told as evidence
_MOST_OPTIONS = 3
_NEAR = 2.0  # distance from the first one's score up to which an entry may be offered
_SUBJECTS = 2  # things talked about with which a question is looked for
_MORE = 5  # candidates that are found with the words of what was talked about
_NAMES_FEW = 2  # things of a question that is looked for so
_ORDINARY = 0.3  # factor of the weight of a word that only belongs to the asking
_AGE = "age"
_OF_BUSINESS = frozenset({"where", "open"})  # kinds of questions that need no subject
_UNKNOWN_IF_MISSING = "contact"  # kind of question that nothing near answers
_LESS = 0.01
_CERTAIN = 0.8  # confidence from which words that the entry lacks are taken for other words of its own
_OF_THINGS = frozenset({"whether", "what", ""})  # kinds of questions that are not answered by a thing of the same group
_EACH = 2  # things explained for each one that is not


class Answer(NamedTuple):
    """Text to say to a question, and how sure it is.

    `decision` is "answer", "hedge", "ask" or "abstain"; `confidence` the probability that `text` answers the question; `entries` ids
    and scores, best first; `subject` the words of the thing answered about; `options` what to choose from
    where the confidence is less than that of an answer; `entry` and `question` id and question of the entry that `text` comes from.
    `near`: that entry is about something near, and lacks what is asked for.
    """

    decision: str
    confidence: float
    text: str
    entries: tuple[tuple[str, float], ...]
    subject: str
    options: tuple[str, ...] = ()
    entry: str | None = None
    question: str = ""
    near: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """Candidates for a question, best first, and the confidence in the first. `repeats`: the question is its own."""

    asking: Asking
    entries: list[JudgedEntry]
    confidence: float
    ranking: Ranking
    repeats: bool = False

    @property
    def follows(self) -> bool:
        """True if the first one was spoken of before, and the question leaves it out."""
        best, things = self.entries[0], self.asking.things
        if self.repeats or best.number not in self.asking.told:
            return False
        strange = sum(not best.explains(term) for term in things)
        return not strange or (self.asking.points and strange == 1)

    @property
    def has_plain_subject(self) -> bool:
        """True if there is no doubt which thing the question is about."""
        return self.follows or (not self.asking.things and self.entries[0].is_around)

    @property
    def lacks(self) -> bool:
        """True if the first one lacks what is asked for, or most of the things that the question names."""
        best, things = self.entries[0], self.asking.things
        if self.repeats:
            return False
        if not (best.fits or best.prepared.asks_for(self.asking.kind)):
            return True
        if self.follows or best.prepared.entry.alt:  # phrasings tell more than single words
            return False
        least = matching.MEANT if self.asking.kind in _OF_THINGS and not best.is_translated else matching.EXPLAINED
        strange = [term for term in things if not best.explains(term, least)]
        if len(strange) == len(things) == 1 and best.explains(things[0]):
            return True  # another thing of the same group: "do you have rolls"
        if any(other.is_titled(strange) for other in self.entries[1:]):
            return True
        unknown = sum(not best.explains(term) for term in things)
        return self.confidence < _CERTAIN and unknown * _EACH > len(things) - unknown


class FactIndex:
    """Answers over a knowledge index."""

    def __init__(self, knowledge: EntryIndex) -> None:
        """Share the index of a bot's knowledge."""
        self._knowledge = knowledge
        self._lexicon = knowledge.lexicon
        ordinary.load()
        self._prepare = Preparer(knowledge)

    def answer(self, question: Question, said: Collection[str] = ()) -> Answer:
        """Return what to say. No text of `said` is said again where there is more to say."""
        question = self._without_refused(question._replace(kind=amounts.asked_for(question.kind, words(question.text))))
        if question.kind == "why":
            question = question._replace(subjects=())  # no fact tells why another one is so
        judged = self.judged(question)
        if question.kind in _OF_BUSINESS and not judged.asking.things and not (question.subjects and judged.asking.points):
            business = self.judged(question._replace(text=_of_business(question, question.kind), subjects=()))
            judged = business if business.confidence > judged.confidence else judged
        plain = bool(judged.entries) and judged.has_plain_subject
        if not judged.entries or (judged.confidence < ASK and not plain) or (judged.lacks and question.kind == _UNKNOWN_IF_MISSING):
            return Answer("abstain", judged.confidence, "", (), "")
        first, best = judged.entries[0].score, judged.entries[0]
        entry, sure = best.prepared.entry, judged.confidence
        shown = tuple((one.prepared.entry.id, round(math.exp(one.score - first), 4)) for one in judged.entries[:_MOST_ENTRIES])
        near = judged.lacks
        if plain:  # only the fact may be another
            near, sure = near or (sure < HEDGE and bool(judged.asking.things) and not judged.asking.points), max(sure, ANSWER)
        compared = comparing.compare(question.text, judged.asking.terms, [one.prepared for one in judged.entries[:3]])
        computed = compared or self._total(question, judged)
        if computed is not None:
            entry, text = computed
            sure, near = max(sure, ANSWER), False
        else:
            told = judged.entries if judged.follows and not near else [best]
            texts = [
                (one, telling.tell(one, judged.asking.terms, question, said, follows=judged.follows, lacks=near))
                for one in told
                if one.score >= best.score - _NEAR
            ]
            best, text = next(((one, text) for one, text in texts if text not in said), texts[0])
            entry = best.prepared.entry
            more = [] if judged.follows else self._second(question, judged)
            text, near = "\n\n".join([text, *more]), near and not more
        decision, close = decided(sure, near), self._options(judged)
        if decision == "ask" and set(close) <= {self._asked_of(identity) for _, identity in question.subjects[:1]}:
            return Answer("abstain", judged.confidence, "", (), "")  # nothing to choose but what was told just now
        options = close if decision == "ask" or (decision == "hedge" and sure < ANSWER) else ()
        return Answer(decision, round(sure, 4), text, shown, self._subject(entry), options, entry.id, entry.question, near)

    def _asked_of(self, identity: str) -> str:
        """Return the question of an entry, "" for an unknown one."""
        number = self._knowledge.number_of(identity)
        return "" if number is None else self._knowledge.entries[number].question

    def _total(self, question: Question, judged: Judged) -> tuple[Entry, str] | None:
        """Return the sum that a question asks for, and the entry that has its prices."""
        if question.kind not in _PRICED:
            return None
        for one in judged.entries[:_SUMMED]:
            language = question.language or judged.ranking.language
            if (text := totals.total(question.text, question.before, language, judged.asking.terms, one.prepared)) is not None:
                return one.prepared.entry, text
        return None

    def _without_refused(self, question: Question) -> Question:
        """Leave out the thing told last, where the visitor means another: "not the car park, the valet"."""
        number = self._knowledge.number_of(question.subjects[0][1]) if question.subjects else None
        if number is None:
            return question
        said, title = words(question.text), self._prepare(number).title
        marks = amounts.LABELS.marked(said)
        left, refuses = [], False
        for at, word in enumerate(said):
            before = any("refused_behind" in mark for mark in marks[max(0, at - 2) : at])  # "not the car park"
            refused = before or (at + 1 < len(said) and "refused_before" in marks[at + 1])
            if refused and any(other.startswith(word) for other in title.words):
                refuses = True
            else:
                left.append(word)
        if not refuses:
            return question
        return question._replace(text=" ".join(left), subjects=question.subjects[1:], before="", refused=question.subjects[0][1])

    def search(
        self,
        text: str,
        language: str | None = None,
        limit: int = 5,
        *,
        spoken: str | None = None,
        subject: str | None = None,
        explain: bool = False,
    ) -> SearchResult:
        """Implement `Knowledge.search`: what `answer` decides for a question at the start of a conversation."""
        kinds = acts.classify(text, primary(guess(text) or language or spoken or self._knowledge.default_language)).kinds
        kind = max(kinds, key=lambda one: kinds[one])
        kind = amounts.asked_for(kind if kinds[kind] >= LIKELY else "", words(text))
        around = ((subject, ""),) if subject else ()
        question = Question(text, kind, primary(language or spoken or ""), around, chosen=bool(language) and not subject)
        judged = self.judged(question)
        ranking = judged.ranking
        if not judged.entries:
            return SearchResult(ranking.language, "abstain", 0.0, ())
        first, most = judged.entries[0].score, max(0.0, ranking.entries[0].score) if ranking.entries else 0.0
        hits = tuple(
            Hit(
                one.prepared.entry,
                round(min(1.0, most * math.exp((one.score - first) / 4)), 4),
                self._knowledge.reasons(ranking, one.number) if explain else (),
                Fact(
                    one.prepared.entry,
                    one.prepared.entry.question,
                    telling.tell(one, judged.asking.terms, question, (), follows=judged.follows, lacks=judged.lacks),
                    self._subject(one.prepared.entry),
                ),
            )
            for one in judged.entries[: max(0, limit)]
        )
        decision = decided(judged.confidence, judged.lacks)
        shown = "ask" if decision == "hedge" else decision
        return SearchResult(ranking.language, shown, round(judged.confidence, 4), hits, hedged=decision == "hedge")

    def _options(self, judged: Judged) -> tuple[str, ...]:
        """Return the questions of the near entries in the language of the first one. Those with a fact of the kind go first."""
        best = judged.entries[0]
        language = primary(best.prepared.entry.language)
        near = [one for one in judged.entries if one.score >= best.score - _NEAR and primary(one.prepared.entry.language) == language]
        able = [one for one in near if one.fits or one.prepared.asks_for(judged.asking.kind)]
        return tuple(one.prepared.entry.question for one in (able or near)[:_MOST_OPTIONS])

    def _second(self, question: Question, judged: Judged) -> list[str]:
        """Return what another entry says of a second thing that the question names: "filling and scaling, how much?"."""
        best = judged.entries[0]
        own = [term for term in judged.asking.terms if term.names and term.known and not term.is_value]
        left = [term for term in own if not best.explains(term, matching.SAME_WORD)]
        if not left or len(left) == len(own) or not _joins(question.text):
            return []
        rest = question._replace(text=" ".join(term.text for term in left), subjects=())
        other = self.judged(rest)
        if not other.entries or other.entries[0].prepared is best.prepared or other.confidence < ASK:
            return []
        titled = all(matching.strength(term, other.entries[0].prepared.title) >= matching.SAME_WORD for term in left)
        return [telling.tell(other.entries[0], other.asking.terms, rest, ())] if titled and other.entries[0].fits else []

    def judged(self, question: Question) -> Judged:
        """Return the candidates for a question, judged by what it asks and by what was spoken of before."""
        ranking = self._rank(question, question.text)
        asking = self._asking(question, ranking)
        found = {one.entry: one for one in ranking.entries}
        first = ranking.entries[0].score if ranking.entries else 1.0
        for number in asking.told:
            found.setdefault(number, RankedEntry(number, 1.0, 0.0, 0.0))
        for words_of in self._words_around(question, asking):
            for one in self._rank(question, f"{words_of} {question.text}").entries[:_MORE]:
                found.setdefault(one.entry, one._replace(likeness=0.0, score=0.0))
        if question.refused:
            found.pop(self._knowledge.number_of(question.refused) or 0, None)
        if not found:
            return Judged(asking, [], 0.0, ranking)
        entries = [evidence.judge(one, self._prepare(one.entry), first or 1.0, asking) for one in found.values()]
        if asking.told and not asking.things:
            near = [one for one in entries if one.number in asking.told or one.is_around or (asking.has_own_subject and one.holds)]
            entries = near or entries
        if question.chosen:
            entries = [replace(one, score=one.score - _FOREIGN) if one.is_foreign else one for one in entries]
        entries.sort(key=lambda one: (-one.score, one.number))
        able = _without_lacking(entries, asking)
        shown = evidence.signs(able, asking, ranking.query, self._lexicon)
        entries = [*able, *entries[: len(entries) - len(able)]]
        sure = evidence.probability(shown, asking.form)
        if not (asking.terms or asking.told or asking.business):  # "how much?" of nothing is asked back, and no more
            sure = min(sure, (HEDGE if entries[0].holds else ASK) - _LESS)
        elif asking.things and able[0].holds and all(map(able[0].explains, asking.things)):
            sure = max(sure, HEDGE)
        return _named_outright(Judged(asking, entries, sure, ranking), question)

    def _rank(self, question: Question, text: str) -> Ranking:
        spoken = question.language or None
        return self._knowledge.rank(text, spoken) if question.chosen else self._knowledge.rank(text, spoken=spoken)

    def _asking(self, question: Question, ranking: Ranking) -> Asking:
        """Read a question for its candidates."""
        terms = matching.terms(ranking.query, self._lexicon)
        ordinaries = [ordinary.is_ordinary(term.text, question.kind) for term in terms]
        weights = [term.weight * (_ORDINARY if belongs else 1.0) for term, belongs in zip(terms, ordinaries, strict=True)]
        total = sum(weights) or 1.0
        things = tuple(term for term, belongs in zip(terms, ordinaries, strict=True) if term.names and not term.is_value and not belongs)
        wanted = question.language or ranking.language
        own = {term.stem for term in terms}
        around = [self._subject_words(words_of) for words_of, _ in question.subjects[:1]]
        if question.kind in amounts.PROPER and not things:
            around.append(self._subject_words(question.before))
        points = _points(question.text)
        kind = _AGE if any(term.is_age for term in terms) and not things else question.kind
        business = "" if points and question.subjects else _of_business(question, kind)
        return Asking(
            terms,
            tuple(weight / total for weight in weights),
            things,
            question.kind,
            kinds_of((question.text,), wanted),
            topics.shared().direction(topics.features_of([word.read for word in ranking.query.words], self._lexicon)),
            letters(ranking.query.said),
            (wanted, guess(question.text) or wanted),
            tuple(term for term in self._terms(around) if term.stem not in own),
            tuple(self._terms([business])),
            self._told(question),
            points,
        )

    def _terms(self, texts: Iterable[str]) -> list[QuestionTerm]:
        """Return the terms of other texts than the question."""
        return [term for text in texts if text for term in matching.terms(self._knowledge.query(text), self._lexicon) if term.names]

    def _words_around(self, question: Question, asking: Asking) -> list[str]:
        """Return the words with which a question that names little is looked for besides."""
        if len(asking.things) > _NAMES_FEW:
            return []
        subjects = [self._subject_words(words_of) for words_of, _ in question.subjects[:_SUBJECTS]]
        if question.kind in amounts.PROPER and question.before and not asking.things:
            subjects.insert(0, self._subject_words(question.before))
        business = [] if asking.things else [" ".join(term.text for term in asking.business)]
        return [one for one in dict.fromkeys([*subjects, *business]) if one]

    def _told(self, question: Question) -> dict[int, float]:
        """Return the numbers of the entries spoken of before."""
        told: dict[int, float] = {}
        for at, (words_of, entry) in enumerate(question.subjects):
            number = self._knowledge.number_of(entry)
            if number is None and not entry:
                number = self._named(self._subject_words(words_of) or words_of)
            if number is not None:
                told.setdefault(number, 1.0 / (1 + at))
        return told

    def _named(self, about: str) -> int | None:
        """Return the number of the entry whose title some words hold."""
        ranked = self._knowledge.rank(about).entries
        if not ranked:
            return None
        held = matching.vocabulary((about,), self._lexicon)
        _, title, count = self._prepare(ranked[0].entry).called[0]
        return ranked[0].entry if 0 < count == len(title.stems & held.stems) else None

    def _subject_words(self, subject: str) -> str:
        """Return the words of a subject that name it."""
        said = words(subject)
        marks = amounts.LABELS.marked(said)
        return " ".join(word for word, mark in zip(said, marks, strict=True) if word not in STOPWORDS and not mark & {"asking", "pointing"})

    def _subject(self, entry: Entry) -> str:
        return self._subject_words(entry.question) or entry.question


def _without_lacking(entries: list[JudgedEntry], asking: Asking) -> list[JudgedEntry]:
    """Leave out an entry spoken of that lacks what is asked for, where a later one has it.

    That one also has all the things of the question that the first one has.
    """
    best = entries[0]
    if best.fits or not (best.number in asking.told or (best.is_around and not asking.things)):
        return entries
    known = [term for term in asking.things if best.explains(term)]
    able = [at for at, one in enumerate(entries) if one.holds and all(map(one.explains, known))]
    if not known:
        near = [at for at in able if asking.has_own_subject or (entries[at].is_around and entries[at].prepared.asks_for(asking.kind))]
        able = [at for at in able if entries[at].number in asking.told] or near
    return entries[able[0] :] if able else entries


def _named_outright(found: Judged, question: Question) -> Judged:
    """Put the entry first that the question repeats, or names with nothing besides.

    Not where another one holds just what is asked for.
    """
    whole, best = " ".join(words(question.text)), found.entries[0]
    # a question that is an entry's own may be in another language than the dialogue, unless the caller chose the language
    asked = [one for one in found.entries if not (question.chosen and one.is_foreign != best.is_foreign)]
    own = next((one for one in asked if any(whole == said for said, _, _ in one.prepared.called)), None)
    called = [best] if best.holds else [one for one in found.entries if one.is_foreign == best.is_foreign]
    named = own or next((one for one in called if one.prepared.is_called(found.asking.things)), None)
    if named is None:
        return found
    top = replace(named, score=best.score)
    others = [other for other in found.entries if other.prepared is not top.prepared]
    return replace(found, entries=[top, *others], confidence=max(found.confidence, CALLED), repeats=own is not None)


def _points(text: str) -> bool:
    """Return whether a question refers to something spoken of before: "it", "onu"."""
    return any("pointing" in mark for mark in amounts.LABELS.marked(words(text)))


def _joins(text: str) -> bool:
    """Return whether a text may name two things: "a filling and a scaling"."""
    return "," in text or any("joining" in mark for mark in amounts.LABELS.marked(words(text)))


def decided(sure: float, near: bool) -> str:
    """Return the decision for a confidence. What only comes near is never told outright."""
    if sure >= ANSWER and not near:
        return "answer"
    return "hedge" if sure >= HEDGE else "ask" if sure >= ASK else "abstain"


def _of_business(question: Question, kind: str) -> str:
    """Return the question for the address or the hours of the business itself, "" for another kind of question."""
    file = amounts.FILES.get(primary(question.language)) or amounts.FILES["en"]
    name = f"of_business {kind}"
    return file.text(name) if any(name == one for one, _ in file.entries) else ""
