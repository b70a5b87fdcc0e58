"""Answers to questions: the fact of an entry that holds what the question asks for, with a calibrated confidence.

The index finds candidates. Each is judged by its best fact: how much of the question the fact and its heading explain, and whether it
holds an amount, a time, a place or a person where the question asks for one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from operator import mul
from typing import NamedTuple

from chatsvc.domain.language import primary
from chatsvc.domain.models import Entry
from chatsvc.engines import Hit, SearchResult
from chatsvc.engines.knowledge.search import amounts, comparing, facts, following, matching, ordinary, telling, topics, totals
from chatsvc.engines.knowledge.search.facts import Fact
from chatsvc.engines.knowledge.search.index import KnowledgeIndex, RankedEntry, Ranking
from chatsvc.engines.knowledge.search.matching import QuestionTerm, TextVocabulary
from chatsvc.engines.knowledge.search.stemming import stem
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS, is_light
from chatsvc.language import acts
from chatsvc.language.folding import words
from chatsvc.language.language_detection import guess
from chatsvc.language.wordlists import WordFile

ANSWER, HEDGE, ASK = 0.62, 0.42, 0.17  # least confidence of an answer, a hedged answer, a question back
CERTAIN = 0.8  # confidence from which words that the entry lacks are taken for other words of its own
CALLED = 0.95  # confidence in an entry that the question repeats, or names and nothing besides
_TONGUE = 2.0  # weight of the logarithm of the factor of the search for an entry in another language
_FOREIGN = 6.0  # the same for an entry in another language than the caller chose
_UNFIT = 1.5  # taken from the score of an entry without a fact of the kind that is asked for
_OF_KIND = 0.6  # share of a kind of question from which an entry's own are of it
HELD_ALONE = 0.7  # confidence in an entry that alone has all the words of the question
_PARENTHESES = re.compile(r"\([^()]*\)")
_AGE = frozenset({"age"})
_OF_BUSINESS = frozenset({"where", "open"})  # kinds of questions that need no subject
_OWN_SUBJECT = frozenset({"where", "open", "contact", "who"})  # ... that the business answers as well as what was spoken of
_SUMMED = 3  # entries whose prices may be added up
_PRICED = frozenset({"price", "how_many", "what", ""})  # kinds of questions that a sum may answer
LIKELY = 0.4  # probability from which a kind of question counts
_MOST_ENTRIES = 5  # told as evidence
_MOST_OPTIONS = 3
_APART = 0.5  # confidence below which an entry must have a thing that the question names
_NEAR = 2.0  # distance from the first one's score up to which an entry may be offered
_HEAD = 0.7  # strength of a word that the heading of a fact explains
_CANDIDATES = 10
_SUBJECTS = 2  # things talked about with which a question is looked for
_PHRASINGS = 16  # of an entry whose topics count
_PHRASINGS_READ = 3  # phrasings of an entry whose kinds of question count, beside its question
_AT_ONCE = 200  # entries whose facts are read when the index is built
_CACHED = 2_048  # entries with their facts


class Question(NamedTuple):
    """A question. `kind` is one of `sentences.KINDS` or "".

    `subjects` are the things talked about before, newest first: the words of each, and the id of its entry where that is known. `chosen`
    means that the caller chose the language. `before` is the visitor's message before this one, `refused` the id of an entry that is not
    meant.
    """

    text: str
    kind: str = ""
    language: str = ""
    subjects: tuple[tuple[str, str], ...] = ()
    chosen: bool = False
    before: str = ""
    refused: str = ""


class Answer(NamedTuple):
    """Text to say to a question, and how sure it is.

    `decision` is "answer", "hedge", "ask" or "abstain"; `confidence` the probability that `text` answers the question; `entries` ids
    and scores, best first; `subject` the words of the thing answered about; `options` what to choose from where the decision is
    "ask"; `entry` and `question` id and question of the entry that `text` comes from. `near`: that entry is about something near, and
    lacks what is asked for.
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
class Prepared:
    """An entry with its facts and their vocabularies."""

    entry: Entry
    facts: tuple[Fact, ...]
    title: TextVocabulary  # question and phrasings
    own: tuple[TextVocabulary, ...]  # of each fact
    heads: tuple[TextVocabulary, ...]  # of what stands over each fact in the answer
    whole: TextVocabulary  # of all of these
    kinds: tuple[frozenset[str], ...]  # of amounts that each fact holds
    asks: topics.Vector  # where its question and phrasings lie among the topics
    tells: topics.Vector  # where its answer does
    lies: tuple[topics.Vector, ...]  # where each fact does
    asked: Mapping[str, float]  # kinds of its questions, a vector of length 1
    is_question: bool  # its question asks, and is no mere heading
    called: tuple[tuple[str, TextVocabulary, int], ...]  # question and phrasings: folded, their words, and how many name a thing

    def asks_for(self, kind: str) -> bool:
        """Return whether the entry's own questions are of a kind."""
        return self.is_question and self.asked.get(kind, 0.0) >= _OF_KIND

    def holding(self, kind: str) -> list[int]:
        """Return the facts that hold just the kind of amount that is asked for."""
        proper = amounts.PROPER.get(kind, frozenset())
        return [at for at, kinds in enumerate(self.kinds) if not kinds.isdisjoint(proper)]

    def is_called(self, things: Sequence[QuestionTerm]) -> bool:
        """Return whether a question names the same things as one of the entry's own, and none besides."""
        count = len({term.stem for term in things})
        return any(
            0 < count == named and all(matching.strength(term, held) >= matching.SAME_WORD for term in things)
            for _, held, named in self.called
        )


@dataclass(frozen=True, slots=True)
class JudgedEntry:
    """An entry judged for a question: the figures of `OF_ENTRY`, those of `OF_FACT` for each fact, and the score of each fact."""

    number: int
    prepared: Prepared
    scores: tuple[float, ...]
    best: int
    fits: bool  # the best fact holds what the question asks for
    of_entry: tuple[float, ...]
    of_facts: tuple[tuple[float, ...], ...]
    score: float
    is_foreign: bool = False  # is in another language than the answer should be
    is_translated: bool = False  # is in another language than the question

    def explains(self, term: QuestionTerm, least: float = matching.EXPLAINED) -> bool:
        """Return whether the entry has a term, in its title or in a fact."""
        prepared = self.prepared
        if matching.strength(term, prepared.whole) < least:
            return False
        return any(matching.strength(term, held) >= least for held in (prepared.title, *prepared.own, *prepared.heads))

    def has(self, things: Sequence[QuestionTerm]) -> bool:
        """Return whether the entry has all the things in their own words."""
        return all(self.explains(term, matching.SAME_WORD) for term in things)

    def is_titled(self, things: Sequence[QuestionTerm]) -> bool:
        """Return whether the title has one of the things."""
        return any(matching.strength(term, self.prepared.title) >= matching.SAME_WORD for term in things)


@dataclass(frozen=True, slots=True)
class Judged:
    """Terms of a question, its candidates, best first, and the confidence in the first.

    `kind` is that of the question, `kinds` the probabilities of all; `lies` where it lies among the topics. `follows`: the first one was
    spoken of before, and the question leaves it out. `lacks`: it has no fact of the kind. `repeats`: the question is its own.
    """

    asked: tuple[QuestionTerm, ...]
    entries: list[JudgedEntry]
    confidence: float
    ranking: Ranking
    kind: str
    kinds: Mapping[str, float]
    lies: topics.Vector
    follows: bool = False
    lacks: bool = False
    repeats: bool = False

    def led_by(self, one: JudgedEntry, confidence: float = 0.0) -> Judged:
        """Return the judgement with an entry first, and at least this confidence in it."""
        others = [other for other in self.entries if other.prepared is not one.prepared]
        return replace(self, entries=[one, *others], confidence=max(self.confidence, confidence))

    @property
    def things(self) -> list[QuestionTerm]:
        """The things that the question names."""
        return [term for term in self.asked if term.names and not term.is_value]

    @property
    def is_apart(self) -> bool:
        """True if the first one has none of the things that the question names, and an unlikely topic."""
        if self.follows or self.repeats:
            return False
        things = following.own_things(self, self.kind)
        if self.kind == "contact" and not self.entries[0].fits:
            return True
        return bool(things) and self.confidence < _APART and not any(map(self.entries[0].explains, things))

    @property
    def is_vague(self) -> bool:
        """True if no fact of an entry spoken of stands out for the question."""
        best = self.entries[0]
        things = following.own_things(self, self.kind)
        return self.follows and self.kind not in amounts.HELD and not any(map(best.explains, things))

    @property
    def is_near(self) -> bool:
        """True if the first one is about something near and lacks what is asked for."""
        if self.follows or self.repeats:
            return self.lacks
        best, things = self.entries[0], self.things
        if not (best.fits or best.prepared.asks_for(self.kind)):
            return True
        if best.prepared.entry.alt:
            return False  # its phrasings tell more than single words
        strange = following.strange_to(best, things, self.kind)
        if len(strange) == len(things) == 1 and best.explains(things[0]):
            return True  # another thing of the same group: "do you have rolls"
        if any(other.is_titled((term,)) for term in strange for other in self.entries[1:]):
            return True
        return self.confidence < CERTAIN and not following.is_mostly_explained(strange, things)


OF_ENTRY = (
    "rank",  # score of the search as a share of the first one's
    "score",
    "topics",
    "titled",  # share of the question that the question and phrasings of the entry explain
    "within",  # ... that the entry explains
    "asks",  # nearness of the topics of the phrasings
    "tells",  # ... of the answer
    "kind",  # cosine of the kinds of question of the visitor and of the entry
    "missing",  # share of the question in words that other entries explain
    "unsaid",  # share of the question's own words that the entry does not explain
)
OF_FACT = (
    "covered",  # share of the question that the fact and the question of its entry explain
    "owned",  # ... that the fact explains
    "near",  # nearness of its topics
    "fits",  # it holds what the question asks for, or something that may stand for it
    "proper",  # it holds just what the question asks for
    "clear",  # it has all words of the question, and what it asks for
)
EVIDENCE = (*OF_ENTRY, *OF_FACT)
"""Evidence that an entry answers a question, and that one of its facts does."""
SIGNS = ("ranked", "found", "covered", "owned", "lies", "kind", "margin", "missing", "clear", "terms", "unfit")
_FILE = WordFile("engines/knowledge/search/weights.txt")
WEIGHTS = tuple(float(_FILE.text(name)) for name in EVIDENCE)
_BIAS, _SURE = float(_FILE.text("bias")), tuple(float(_FILE.text(f"sure {name}")) for name in SIGNS)


class FactIndex:
    """Answers over a knowledge index. Of a large one, the facts of an entry are read when it first becomes a candidate."""

    def __init__(self, knowledge: KnowledgeIndex) -> None:
        """Share the index of a bot's knowledge."""
        self._knowledge = knowledge
        self._lexicon = knowledge.lexicon
        self._prepared: dict[int, Prepared] = {}
        ordinary.load()
        for number in range(min(len(knowledge.entries), _AT_ONCE)):
            self._prepare(number)

    def answer(self, question: Question, said: Collection[str] = ()) -> Answer:
        """Return what to say. No text of `said` is said again where there is more to say."""
        question = self._without_refused(question._replace(kind=amounts.asked_for(question.kind, words(question.text))))
        judged = self.followed(question)
        led = judged.follows and not judged.lacks and bool(judged.entries[0].prepared.holding(question.kind))
        unled = not led and not (question.subjects and following.points(question.text))
        if question.kind in _OF_BUSINESS and unled and self._is_of_business(question, judged.things):
            business = self.judged(question, _of_business(question))
            judged = business if business.confidence > judged.confidence or (judged.follows and business.confidence >= ANSWER) else judged
        if not judged.entries or judged.is_apart:
            return Answer("abstain", min(judged.confidence, ASK / 2), "", (), "")
        first, best = judged.entries[0].score, judged.entries[0]
        entry, sure = best.prepared.entry, judged.confidence
        evidence = tuple((one.prepared.entry.id, round(math.exp(one.score - first), 4)) for one in judged.entries[:_MOST_ENTRIES])
        near = judged.is_near
        compared = comparing.compare(question.text, judged.asked, [one.prepared for one in judged.entries[:3]])
        summed = self._total(question, judged)
        if compared is not None:
            entry, text = compared
            sure, near = max(sure, ANSWER), False
        elif summed is not None:
            entry, text = summed
            sure, near = max(sure, ANSWER), False
        else:
            text = telling.tell(best, judged.asked, question, said, follows=judged.follows, lacks=near or judged.is_vague)
            more = [] if judged.follows else self._second(question, judged)
            text, near = "\n\n".join([text, *more]), near and not more
        decision = decided(sure, near)
        close = self._options(judged)
        options = close if decision == "ask" else ()
        return Answer(decision, round(sure, 4), text, evidence, self._subject(entry), options, entry.id, entry.question, near)

    def _total(self, question: Question, judged: Judged) -> tuple[Entry, str] | None:
        """Return the sum that a question asks for, and the entry that has its prices."""
        if question.kind not in _PRICED:
            return None
        for one in judged.entries[:_SUMMED]:
            language = question.language or judged.ranking.language
            if (text := totals.total(question.text, question.before, language, judged.asked, one.prepared)) is not None:
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

    def _is_of_business(self, question: Question, things: Sequence[QuestionTerm]) -> bool:
        """Return whether a question names nothing but the address or the hours themselves."""
        held = matching.vocabulary((_of_business(question),), self._lexicon)
        return all(ordinary.is_ordinary(term.text, question.kind) or matching.strength(term, held) >= matching.EXPLAINED for term in things)

    def search(
        self, text: str, language: str | None = None, limit: int = 5, *, spoken: str | None = None, explain: bool = False
    ) -> SearchResult:
        """Implement `Knowledge.search`: what `answer` decides for a question at the start of a conversation."""
        kinds = acts.classify(text, primary(guess(text) or language or spoken or self._knowledge.default_language)).kinds
        kind = max(kinds, key=lambda one: kinds[one])
        kind = amounts.asked_for(kind if kinds[kind] >= LIKELY else "", words(text))
        judged = self.judged(Question(text, kind, primary(language or spoken or ""), chosen=bool(language)), text)
        ranking = judged.ranking
        if not judged.entries:
            return SearchResult(ranking.language, "abstain", 0.0, ())
        sure = min(judged.confidence, ASK / 2) if judged.is_apart else judged.confidence
        first, most = judged.entries[0].score, max(0.0, ranking.entries[0].score)
        hits = tuple(
            Hit(
                one.prepared.entry,
                round(min(1.0, most * math.exp((one.score - first) / 4)), 4),
                self._knowledge.reasons(ranking, one.number) if explain else (),
            )
            for one in judged.entries[: max(0, limit)]
        )
        decision = decided(sure, judged.is_near)
        return SearchResult(ranking.language, "ask" if decision == "hedge" else decision, round(sure, 4), hits, hedged=decision == "hedge")

    def _options(self, judged: Judged) -> tuple[str, ...]:
        """Return the questions of the near entries in the language of the first one. Those with a fact of the kind go first."""
        best = judged.entries[0]
        language = primary(best.prepared.entry.language)
        near = [one for one in judged.entries if one.score >= best.score - _NEAR and primary(one.prepared.entry.language) == language]
        able = [one for one in near if one.fits or one.prepared.asks_for(judged.kind)]
        return tuple(one.prepared.entry.question for one in (able or near)[:_MOST_OPTIONS])

    def _second(self, question: Question, judged: Judged) -> list[str]:
        """Return what another entry says of a second thing that the question names: "filling and scaling, how much?"."""
        best = judged.entries[0]
        own = [term for term in judged.asked if term.names and term.known and not term.is_value]
        left = [term for term in own if not best.explains(term, matching.SAME_WORD)]
        if not left or len(left) == len(own) or not _joins(question.text):
            return []
        rest = question._replace(text=" ".join(term.text for term in left), subjects=())
        other = self.judged(rest, rest.text)
        if not other.entries or other.entries[0].prepared is best.prepared or other.confidence < ASK:
            return []
        titled = all(matching.strength(term, other.entries[0].prepared.title) >= matching.SAME_WORD for term in left)
        return [telling.tell(other.entries[0], other.asked, rest, ())] if titled and other.entries[0].fits else []

    def followed(self, question: Question) -> Judged:
        """Judge a question by itself, or by the entries spoken of before where it leaves its subject out."""
        alone = self.judged(question, question.text)
        told = [one for words_of, entry in question.subjects if (one := self._spoken_of(question, alone, words_of, entry)) is not None]
        if alone.repeats or question.kind == "why":
            return alone
        unsure = alone.confidence < ANSWER
        staying = next((one for one in told if following.stays(question, alone, one)), None)
        if not unsure and staying is not None and following.leaves(question, alone, staying):
            return alone
        measures = question.kind in amounts.PROPER
        if staying and (not measures or staying.prepared.holding(question.kind) or staying.prepared.asks_for(question.kind)):
            return following.judged(alone, staying)
        if staying is None and (unsure or question.subjects) and (implied := self._of_age(question, alone)) is not None:
            return implied
        bare = bool(told) and following.is_bare(question, alone, told[0]) and (unsure or measures)
        if (staying or unsure or bare) and (found := self._with_subject(question, alone, told)) is not None:
            return found
        if staying is not None:
            return following.judged(alone, staying)
        elsewhere = question.kind in _OWN_SUBJECT and not unsure and bool(alone.entries[0].prepared.holding(question.kind))
        return following.judged(alone, told[0], near=True) if bare and not elsewhere else alone

    def _with_subject(self, question: Question, alone: Judged, told: Sequence[JudgedEntry]) -> Judged | None:
        """Judge a question by what was spoken of, over all entries but those that were told."""
        own = following.own_things(alone, question.kind)
        before = question.before if question.kind in amounts.PROPER else ""
        for words_of in filter(None, (before, *(self._subject_words(one) for one, _ in question.subjects[:_SUBJECTS]))):
            found = self.judged(question, f"{words_of} {question.text}")
            subject = [term for term in following.own_things(found, question.kind) if term not in own]
            for one in found.entries[: following.RIVALS] if subject else ():
                if not one.fits or following.strange_to(one, own, question.kind) or any(one.prepared is other.prepared for other in told):
                    continue
                sure = found.confidence >= HEDGE and one is found.entries[0]
                if (sure or one.best in one.prepared.holding(question.kind)) and not following.strange_to(one, subject, question.kind):
                    return found.led_by(one, following.NEAR)
        return None

    def _of_age(self, question: Question, alone: Judged) -> Judged | None:
        """Judge a question that tells no more than an age by the entry for people of such an age: "and for my 7 year old?"."""
        if not any(term.is_age for term in alone.asked) or following.own_things(alone, question.kind):
            return None
        file = amounts.FILES.get(primary(question.language)) or amounts.FILES["en"]
        found = self.judged(question, f"{question.text} {file.text('of_business age')}")
        able = [one for one in found.entries if any("age" in kinds for kinds in one.prepared.kinds)]
        if not able:
            return None
        told = following.judged(found, able[0])
        at = next(number for number, kinds in enumerate(able[0].prepared.kinds) if "age" in kinds)
        return replace(told, entries=[replace(told.entries[0], best=at), *told.entries[1:]])

    def _spoken_of(self, question: Question, alone: Judged, subject: str, entry: str) -> JudgedEntry | None:
        """Judge the entry of a subject for a question."""
        for one in alone.entries:
            if one.prepared.entry.id == entry:
                return one
        number = self._knowledge.number_of(entry)
        if number is None:
            about = self._subject_words(subject) or subject
            ranked = self._knowledge.rank(about).entries
            number = next((one.entry for one in ranked if self._knowledge.entries[one.entry].id == entry), None)
            if number is None and not entry and ranked and self._names(about, ranked[0].entry):
                number = ranked[0].entry
        if number is None:
            return None
        return self._judge(
            RankedEntry(number, 0, 1.0, 0.0, 0.0), 1.0, alone.asked, question.kind, alone.kinds, alone.lies, (question.language,) * 2
        )

    def _names(self, about: str, number: int) -> bool:
        """Return whether words hold the title of an entry."""
        held = matching.vocabulary((about,), self._lexicon)
        _, title, count = self._prepare(number).called[0]
        return 0 < count == len(title.stems & held.stems)

    def judged(self, question: Question, text: str) -> Judged:
        """Return the candidates for a text, judged by what the question asks."""
        spoken = question.language or None
        ranking = self._knowledge.rank(text, spoken) if question.chosen else self._knowledge.rank(text, spoken=spoken)
        asked = matching.terms(ranking.query, ranking.asked, self._lexicon)
        ranked = [one for one in ranking.entries if not question.refused or self._knowledge.entries[one.entry].id != question.refused]
        if not ranked:
            return Judged(asked, [], 0.0, ranking, question.kind, {}, ())
        first = ranking.entries[0].score or 1.0
        lies = topics.shared().direction(topics.features_of([word.read for word in ranking.query.words], self._lexicon))
        wanted = question.language or ranking.language
        kinds = _kinds((question.text,), wanted)
        languages = (wanted, guess(text) or wanted)
        entries = [self._judge(one, first, asked, question.kind, kinds, lies, languages) for one in ranked[:_CANDIDATES]]
        entries = [replace(one, score=one.score - _penalty(one, question)) for one in entries]
        entries.sort(key=lambda one: -one.score)
        sure = probability(signs(asked, entries, ranking.confidence))
        found = Judged(asked, entries, sure, ranking, question.kind, kinds, lies)
        return self._held_alone(self._named_outright(found, text, chosen=question.chosen))

    def _held_alone(self, found: Judged) -> Judged:
        """Trust an entry that alone has all words of the question, in a fact or in its title."""
        best, things = found.entries[0], found.things
        if not things or best.prepared.entry.alt:
            return found
        owners = [
            one for one in found.entries if one.has(things) and following.owning(found.kind, one, things, matching.SAME_WORD) is not None
        ]
        if len(owners) == 1 and not (best.fits and best.has(things)):
            best = replace(owners[0], score=best.score)
            found = found.led_by(best)
        if owners and best.prepared is owners[0].prepared:
            rivals = owners[1:] if best.fits else [best]
        elif best.fits and all(map(best.explains, things)) and best.is_titled(things):
            rivals = [one for one in found.entries[1:] if one.is_titled(things)]
        else:
            titled = bool(found.kind) and best.is_titled(things) and not any(one.is_titled(things) for one in found.entries[1:])
            return replace(found, confidence=max(found.confidence, HEDGE)) if titled else found
        return found if rivals else replace(found, confidence=max(found.confidence, HELD_ALONE))

    def _named_outright(self, found: Judged, text: str, *, chosen: bool) -> Judged:
        """Put the entry first that the question names with all its words and none besides, or repeats."""
        things, said = found.things, words(text)
        whole = " ".join(said)
        able = [one for one in found.entries if one.is_foreign == found.entries[0].is_foreign]
        # a question that is an entry's own may be in another language than the dialogue, unless the caller chose the language
        own = next((one for one in (able if chosen else found.entries) if any(whole == asked for asked, _, _ in one.prepared.called)), None)
        named = own or next((one for one in able if one.prepared.is_called(things)), None)
        if named is None:
            return found
        top = replace(named, score=max(named.score, found.entries[0].score))
        return replace(found.led_by(top, CALLED), repeats=own is not None)

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
            title = matching.vocabulary((entry.question, *entry.alt), self._lexicon)
            own = [matching.vocabulary((fact.text,), self._lexicon) for fact in stated]
            heads = [matching.vocabulary((fact.head,), self._lexicon) for fact in stated]
            known = self._prepared[number] = Prepared(
                entry,
                stated,
                title,
                tuple(own),
                tuple(heads),
                matching.joined((title, *own, *heads)),
                tuple(amounts.read(fact.text).kinds for fact in stated),
                self._mean((entry.question, *entry.alt)),
                self._mean((entry.answer,)),
                tuple(self._mean((fact.text,)) for fact in stated),
                _kinds((entry.question, *entry.alt[:_PHRASINGS_READ]), entry.language),
                "?" in entry.question or any("asking" in mark for mark in amounts.LABELS.marked(words(entry.question))),
                tuple(self._called(text) for text in (entry.question, *entry.alt[:_PHRASINGS])),
            )
        return known

    def _called(self, text: str) -> tuple[str, TextVocabulary, int]:
        """Return a phrasing folded, its vocabulary, and the number of its words that name a thing."""
        said = words(text)
        bare = words(_PARENTHESES.sub(" ", text)) or said
        naming = naming_words(bare, amounts.LABELS.marked(bare))
        return " ".join(said), matching.vocabulary((" ".join(naming),), self._lexicon), len(set(map(stem, naming)))

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
        languages: tuple[str, str],
    ) -> JudgedEntry:
        prepared = self._prepare(one.entry)
        wanted, proper = amounts.HELD.get(kind, frozenset()), amounts.PROPER.get(kind, frozenset())
        if not wanted and any(term.is_age for term in asked):
            proper = _AGE
        total = sum([term.weight for term in asked]) or 1.0
        weights = [term.weight / total for term in asked]
        # most words of a question are in none of an entry's texts
        known = [term.is_age or matching.strength(term, prepared.whole) > 0.0 for term in asked]
        titled = [
            matching.strength(term, prepared.title) if held and not term.is_age else 0.0 for term, held in zip(asked, known, strict=True)
        ]
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
        lacking = [(term, weight, held) for term, weight, held in zip(asked, weights, anywhere, strict=True) if held < matching.SAME_WORD]
        own_weight = sum([weight for term, weight in zip(asked, weights, strict=True) if not term.is_value]) or 1.0
        of_entry = (
            one.score / first,
            one.score,
            one.likeness,
            sum(map(mul, weights, titled)),
            sum(map(mul, weights, anywhere)),
            topics.cosine(lies, prepared.asks),
            topics.cosine(lies, prepared.tells),
            sum(share * prepared.asked.get(kind, 0.0) for kind, share in kinds_asked.items()),
            sum([weight for term, weight, held in lacking if term.names and term.known and held < matching.EXPLAINED]),
            sum([weight * (1 - held) for term, weight, held in lacking if not term.is_value]) / own_weight,
        )
        of_facts = tuple(
            _evidence_of(weights, held, titled, topics.cosine(lies, fact), kinds, wanted, proper)
            for held, kinds, fact in zip(owned, prepared.kinds, prepared.lies, strict=True)
        )
        scores = tuple(sum(map(mul, WEIGHTS[len(OF_ENTRY) :], shown)) for shown in of_facts)
        best = max(range(len(scores)), key=lambda at: (scores[at], -at))
        fits = not wanted or not prepared.kinds[best].isdisjoint(wanted)
        score, own = sum(map(mul, WEIGHTS, of_entry)) + scores[best] + _TONGUE * math.log(one.foreign), primary(prepared.entry.language)
        return JudgedEntry(one.entry, prepared, scores, best, fits, of_entry, of_facts, score, own != languages[0], own != languages[1])


def _evidence_of(
    weights: Sequence[float],
    held: Sequence[float],
    titled: Sequence[float],
    near: float,
    kinds: AbstractSet[str],
    wanted: AbstractSet[str],
    proper: AbstractSet[str],
) -> tuple[float, ...]:
    """Return the figures of `OF_FACT`: of a fact that has each term with a strength, and amounts of some kinds."""
    owned, fits = sum(map(mul, weights, held)), not kinds.isdisjoint(wanted)
    return (
        sum(map(mul, weights, map(max, held, titled))),
        owned,
        near,
        float(fits),
        float(not kinds.isdisjoint(proper)),
        float((fits or not wanted) and owned >= matching.SAME_WORD),
    )


def signs(asked: Sequence[QuestionTerm], judged: Sequence[JudgedEntry], found: float) -> tuple[float, ...]:
    """Return the signs of `SIGNS` that the first one answers the question. `found` is the confidence of the search."""
    best = judged[0]
    shown = dict(zip(EVIDENCE, (*best.of_entry, *best.of_facts[best.best]), strict=True))
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
    )


def probability(shown: Sequence[float]) -> float:
    """Return the probability that the first one answers the question: a logistic regression over the signs."""
    return 1.0 / (1.0 + math.exp(-_BIAS - sum(map(mul, _SURE, shown))))


def _joins(text: str) -> bool:
    """Return whether a text may name two things: "a filling and a scaling"."""
    return "," in text or any("joining" in mark for mark in amounts.LABELS.marked(words(text)))


def _penalty(one: JudgedEntry, question: Question) -> float:
    """Return the amount by which an entry of another kind or language is set back."""
    unfit = 0.0 if one.fits or one.prepared.entry.alt or one.prepared.asks_for(question.kind) else _UNFIT
    return unfit + (_FOREIGN if question.chosen and one.is_foreign else 0.0)


def naming_words(said: Sequence[str], marks: Sequence[set[str]]) -> list[str]:
    """Return the words that name a thing, and do not only ask or point."""
    return [word for word, mark in zip(said, marks, strict=True) if not is_light(word) and not mark & {"asking", "pointing"}]


def decided(sure: float, near: bool) -> str:
    """Return the decision for a confidence. What only comes near is never told outright."""
    if sure >= ANSWER and not near:
        return "answer"
    return "hedge" if sure >= HEDGE else "ask" if sure >= ASK else "abstain"


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
