"""Search index of a bot's knowledge, which the engines use. It is built once in memory, and is deterministic.

A search collects candidates from the postings of words and topics, judges each of their facts by `evidence`, and computes the
probability that the first fact is the answer. By this number it decides to answer, to offer choices, or to abstain.
"""

import heapq
import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import chain, repeat
from sys import intern

from chatsvc.domain.folding import primary
from chatsvc.domain.models import Entry
from chatsvc.engines import Fact, Hit, SearchResult
from chatsvc.engines.knowledge.search import evidence, facts, lexicon, topics
from chatsvc.engines.knowledge.search.corpus import TOPICS_BUDGET, Corpus, features_of
from chatsvc.engines.knowledge.search.evidence import JudgedEntry, Question, QuestionTerm
from chatsvc.engines.knowledge.search.facts import ReadFact
from chatsvc.engines.knowledge.search.tokens import STOPWORDS, Speller, is_light, stem, trigrams
from chatsvc.language.folding import words
from chatsvc.language.language_detection import guess

ANSWER, ASK = 0.72, 0.25  # least confidence of an answer, and of choices
_OPEN = 0.1  # least confidence of choices for a question about a price that names no thing
_ALONE = 0.5  # least confidence of an answer that has no rival and explains all that the question names
_CANDIDATES = 8
_TOPICS, _FEW = 1.3, 10  # weight of topic similarity, divided by the logarithm of the number of entries, of this many at least
_TIES = 1_000  # entries of equal score that are compared
_GIVEN, _GUESSED, _DEFAULT = 0.2, 0.5, 0.7  # factor of an entry in another language than the given, guessed or default one
_LANGUAGE = 2.0  # weight of the logarithm of this factor
_ENDS = 350  # characters of either end of a long message that are read
_WORDS = 90  # of them that are read
_NEAR = 0.7  # factor of a corrected word
_SPELLED = 6  # unknown words that are corrected in one search
_CIRCUMSTANCES = frozenset({"people", "visit"})  # concepts of words that say little about what is asked: who comes, and that they do
_LIGHT = 0.4  # factor of the weight of a word that says little
_SUBJECT = 0.5  # factor of the words spoken of before
_CALLED = 0.9  # least confidence of an entry that is asked for by its name or a phrasing
_CACHED = 2_048  # entries with their facts
_CHOICES, _ROWS = 3, 2  # facts that may be meant, and rows of a table that make it likely that the table is
_MOST_SECTION = 1_200  # characters of a section that may be chosen
_FAR, _NEARLY = 2.5, 0.7  # scores by which a fact is no choice any more, and by which it is told with a better one
_ROW_NEAR = 0.5  # scores by which a row is told with a better one
_MOST_TOLD = 400  # characters of two facts that are told together


def _together(first: Fact, second: Fact) -> Fact | None:
    """Join two facts of one entry. Return None if their entries differ, `second` is a whole section, or the text gets too long."""
    head, colon, rest = second.text.partition(": ")
    text = f"{first.text}\n{rest if colon and first.text.startswith(head + colon) else second.text}"
    text = max((first.text, second.text), key=len) if first.text in second.text or second.text in first.text else text
    is_one = first.entry.id == second.entry.id and second.title != facts.whole(second.entry).title and len(text) <= _MOST_TOLD
    return Fact(first.entry, first.title, text, first.subject) if is_one else None


def _telling(head: str) -> list[frozenset[str]]:
    return [evidence.keys_of((word,)) for word in words(head) if word not in STOPWORDS]


class KnowledgeIndex:
    """Implementation of `engines.Knowledge`."""

    def __init__(self, entries: Sequence[Entry], default_language: str = "tr", synonyms: Sequence[Sequence[str]] = ()) -> None:
        """Build the index. This takes about 0.05 ms a phrasing, so build a large index in a thread.

        `synonyms` are groups of words or expressions with the same meaning for this bot. They are used like concepts of the lexicon.
        """
        self.entries: Sequence[Entry] = tuple(entries)
        self._default = default_language
        self._languages = tuple(intern(primary(entry.language)) for entry in self.entries)
        self.languages: AbstractSet[str] = frozenset(self._languages)
        self.characters = sum(len(entry.question) + len(entry.answer) for entry in self.entries)
        self._lexicon = lexicon.extended(synonyms)
        lexicon.speller()  # built once a process, here rather than in the first search on the event loop
        self._corpus = Corpus(self.entries, self._lexicon)
        own = [] if self._lexicon is lexicon.shared() else self._lexicon.forms()
        self._speller = Speller([*self._corpus.of_word, *own])
        self._vocabulary = lru_cache(maxsize=_CACHED)(lambda *texts: evidence.vocabulary(texts, self._lexicon))
        self._prepare = lru_cache(maxsize=_CACHED)(lambda number: evidence.prepare(self.entries[number], self._lexicon))

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
        """Implement `Knowledge.search` for any text."""
        question, judged, wanted = self.judge(text, language, spoken=spoken, subject=subject)
        if not judged:
            return SearchResult(wanted, "abstain", 0.0, ())
        sure = 1 / (1 + math.exp(-evidence.BIAS - topics.dot(evidence.SURE, evidence.signs(question, judged))))
        best = self.entries[judged[0].number]
        if words(text) in map(words, (best.question, *best.alt)):
            sure = max(sure, _CALLED)
        likely = self._facts(question, judged) if sure < ANSWER else ()  # nobody has to choose where the first is sure
        first = dict(zip(evidence.EVIDENCE, judged[0].evidence[judged[0].best], strict=True))
        fact, row = self.statement(question, judged[0]), judged[0].prepared.parts[judged[0].best].part
        is_cell = first["named"] == 1 and len(row.cells) > 1 and (fact is not row.fact or bool(first["proper"]))  # a row and a column
        # A choice of one would only be a detour.
        is_sure = sure >= ANSWER or (sure >= _ALONE and (is_cell or (len(likely) == 1 and not first["unsaid"])))
        if sure >= _ALONE and len(likely) == 2 and not is_cell and (both := _together(*likely)):
            fact, likely = both, (both,)
        hits = []
        for entry in judged[:limit]:
            why = self._why(question, entry) if explain else ()
            shown = fact if entry is judged[0] else self.statement(question, entry) if explain else None
            hits.append(Hit(self.entries[entry.number], round(sure * math.exp(entry.score - judged[0].score), 4), why, shown))
        is_open = "money" in question.kinds and not any(term.names for term in question.terms)  # "how much for the four of us on Saturday"
        is_likely = sure >= (_OPEN if is_open else ASK)
        return SearchResult(wanted, "answer" if is_sure else "ask" if is_likely else "abstain", sure, tuple(hits), likely)

    def judge(
        self, text: str, language: str | None = None, *, spoken: str | None = None, subject: str | None = None
    ) -> tuple[Question, list[JudgedEntry], str]:
        """Return the analysed question, its candidates, best first, and the language to answer in."""
        typed = words(text if len(text) <= 2 * _ENDS else f"{text[:_ENDS]} {text[-_ENDS:]}")[:_WORDS]
        tokens = [part for word in typed for part in self._corpus.apart(word)]
        wanted, other = self._wanted(text, language, spoken)
        question, weights, features = self._read(tokens)
        if subject and not any(term.names for term in question.terms):
            about, more, leaning = self._read(words(subject)[:_WORDS])
            question = question._replace(subject=about.terms)
            for number, weight in more.items():
                weights[number] = weights.get(number, 0.0) + _SUBJECT * weight
            features = [*features, *leaning]
        ranked = self._rank(weights, features, wanted, other)
        judged = []
        for score, number, factor, likeness in ranked:
            prepared = self._prepare(number)
            figures = evidence.of_entry(question, prepared, (score / (ranked[0][0] or 1.0), score, likeness))
            lost = _LANGUAGE * math.log(factor)
            scores = tuple([topics.dot(evidence.WEIGHTS, row) + lost for row in figures])
            best = max(scores)
            judged.append(JudgedEntry(number, prepared, figures, scores, best, scores.index(best)))
        asked = words(text)  # an entry comes first by its own question
        judged.sort(key=lambda entry: (words(self.entries[entry.number].question) != asked, -entry.score, entry.number))
        return question, judged, wanted

    def rank(self, text: str, language: str | None = None) -> list[Hit]:
        """Return the entries whose words and topics are nearest to a text, best first. Their facts are not judged."""
        _, weights, features = self._read(words(text)[:_WORDS])
        wanted, other = self._wanted(text, language, None)
        return [Hit(self.entries[number], score) for score, number, *_ in self._rank(weights, features, wanted, other)]

    def _rank(self, weights: dict[int, float], features: Sequence[str], wanted: str, other: float) -> list[tuple[float, int, float, float]]:
        """Return the best entries, in order, as tuples: score, entry number, factor for the language, similarity of topics."""
        about = topics.shared().of(zip(features, repeat(1.0)))
        scores = self._corpus.postings.accumulate(weights.items())
        share = _TOPICS / math.log(max(_FEW, self._corpus.size))
        alike = self._corpus.topics.accumulate(about.items(), TOPICS_BUDGET)
        for entry, likeness in alike.items():
            scores[entry] = scores.get(entry, 0.0) + share * likeness
        # only the best are checked for their language, since checking thousands is slower than finding them
        cut = heapq.nlargest(2 * _CANDIDATES, scores.values())[-1] if scores else 0.0
        ranked = list[tuple[float, int, float, float]]()
        for entry, score in scores.items():
            if score >= cut and len(ranked) < _TIES:
                factor = other if wanted in self.languages and self._languages[entry] != wanted else 1.0
                ranked.append((factor * score, entry, factor, alike.get(entry, 0.0)))
        return heapq.nsmallest(_CANDIDATES, ranked, key=lambda candidate: (-candidate[0], candidate[1]))

    def _read(self, tokens: Sequence[str]) -> tuple[Question, dict[int, float], list[str]]:
        """Analyse the folded words of a question. Return the analysis, the weights of features, and features for the topic model."""
        corpus, readings = self._corpus, self._spelled(tokens)
        read = [readings[word] for word in tokens]
        concepts: dict[str, set[str]] = {}
        for match in self._lexicon.expressions(read):
            for word in read[match.start : match.stop]:
                concepts.setdefault(word, set()).add(match.concept)
        weights: dict[int, float] = {}
        terms: list[QuestionTerm] = []
        unknown, alien = 0.0, 0
        for given, word in readings.items():
            single = self._lexicon.of_word(word)
            gains, meant = {}, 0.0
            for name, _ in features_of(word, single):
                if (number := corpus.numbers.get(name)) is not None:
                    # a word with several concepts counts less for each
                    share = math.sqrt(len(single)) if name[0] == "c" else 1.0
                    gains[number] = corpus.gains[number] * (1.0 if given == word else _NEAR) / share
                    weights[number] = max(weights.get(number, 0.0), gains[number])
                    meant = max(meant, gains[number]) if name[0] == "c" else meant
            own = concepts.get(word, set())
            if "s" + stem(word) not in corpus.numbers and not own:
                unknown += corpus.unknown**2
            if word not in STOPWORDS or own:
                every = frozenset({*single, *own})
                light = is_light(given) or (bool(every) and every <= _CIRCUMSTANCES)
                factor = _LIGHT if light else 1.0
                weight = max(gains.values(), default=corpus.unknown) * factor
                meant = min(meant * factor, weight) or weight
                kind = evidence.kind_of(every)
                keys, meanings = evidence.keys_of_word(word), frozenset("c" + concept for concept in every)
                terms.append(QuestionTerm(word, weight, meant, kind, not light and not kind, keys, meanings))
                alien += not light and bool(every) and not any(gains)
        for concept in set[str]().union(*concepts.values()):
            if (number := corpus.numbers.get("c" + concept)) is not None:
                weights.setdefault(number, corpus.gains[number])
        length = math.sqrt(unknown + sum([weight * weight for weight in weights.values()])) or 1.0
        features = evidence.features(read, self._lexicon)
        nothing = sum(not term.meanings and "s" + term.word not in corpus.numbers for term in terms)
        question = Question(
            tuple(terms),
            frozenset(chain.from_iterable(trigrams(word) for word in tokens if word not in STOPWORDS)),
            topics.shared().direction(features),
            frozenset([term.kind for term in terms if term.kind]),
            alien=alien,
            unknown=nothing / (len(terms) or 1),
        )
        return question, {number: weight / length for number, weight in weights.items()}, features

    def _spelled(self, tokens: Sequence[str]) -> dict[str, str]:
        readings: dict[str, str] = {}
        left = _SPELLED
        for word in dict.fromkeys(tokens):
            readings[word], root = word, "s" + stem(word)
            is_known = word in STOPWORDS or word in self._corpus.of_word or root in self._corpus.numbers
            if left and not (is_known or self._lexicon.of_word(word) or root in topics.shared()):
                left -= 1
                readings[word] = self._speller.nearest(word) or lexicon.speller().nearest(word) or word
        return readings

    def _facts(self, question: Question, judged: Sequence[JudgedEntry]) -> tuple[Fact, ...]:
        ranked = heapq.nlargest(
            2 * _CHOICES,
            ((score, -position, entry, part) for position, entry in enumerate(judged) for part, score in enumerate(entry.scores)),
        )
        likely: dict[frozenset[str], Fact] = {}
        tables = dict[str, int]()
        for score, _, entry, part in ranked:
            if score >= ranked[0][0] - _FAR:
                read = entry.prepared.parts[part].part
                fact = self._fact(question, read)
                likely.setdefault(frozenset(words(fact.text)), fact)
                tables[fact.entry.id] = tables.get(fact.entry.id, 0) + bool(read.cells)
        chosen = list({fact.title: fact for fact in reversed(likely.values())}.values())[::-1]
        for fact in chosen[:_CHOICES]:  # who may mean any row of a table may choose the whole
            if tables[fact.entry.id] >= _ROWS and len(fact.entry.answer) <= _MOST_SECTION:
                rest = [other for other in chosen if other.entry.id != fact.entry.id]
                return (fact, facts.whole(fact.entry), *rest)[:_CHOICES]
        return tuple(chosen[:_CHOICES])

    def statement(self, question: Question, judged: JudgedEntry) -> Fact:
        """Return the best fact of an entry as the answer. A neighbouring sentence that is nearly as likely is joined to it."""
        first, parts = judged.best, judged.prepared.parts
        best = parts[first].part
        fact = self._fact(question, best)
        if best.name:
            return self._rows(question, judged, fact)
        beside = sorted({max(first - 1, 0), min(first + 1, len(parts) - 1)} - {first})
        other = max(beside, key=judged.scores.__getitem__, default=first)
        more = parts[other].part
        if judged.scores[other] < judged.scores[first] - _NEARLY or more.cells or more.name:
            return fact
        if other == first or more.over != best.over or len(fact.text) + len(more.own) > _MOST_TOLD or more.own in fact.text:
            return fact
        earlier, later = (more, best) if other < first else (best, more)
        between = " " if earlier.fact.text[-1:] in ".!?…:" else "\n"
        return Fact(fact.entry, fact.title, f"{earlier.fact.text}{between}{later.own}", fact.subject)

    def _rows(self, question: Question, judged: JudgedEntry, fact: Fact) -> Fact:
        """Join a named fact with others of its list or table. The question must name them too: "clown and magician, how much"."""
        named = evidence.EVIDENCE.index("named")
        best, first = judged.evidence[judged.best], judged.prepared.parts[judged.best].part
        is_column = first.name == first.own
        rows = [
            part.part
            for part, score, shown in zip(judged.prepared.parts, judged.scores, judged.evidence, strict=True)
            if part.part.name
            and (part.part.name == part.part.own) == is_column
            and 0 < shown[named] >= best[named] // 1
            and score >= max(judged.scores) - _ROW_NEAR
        ]
        lines = list(dict.fromkeys(self._fact(question, row).text for row in rows))[:_CHOICES]
        text = "\n".join(lines)
        is_told = len(lines) > 1 and fact.text in lines and len(text) <= _MOST_TOLD
        return Fact(fact.entry, fact.title, text, fact.subject) if is_told else fact

    def _fact(self, question: Question, part: ReadFact) -> Fact:
        """Return a fact as it is shown. A row or column is reduced to the cells that the question names or asks for."""
        if len(part.cells) < 2:
            return part.fact
        own = self._vocabulary(part.name, part.fact.entry.question)
        asked = evidence.keys_of(term.word for term in question.terms if evidence.strength(term, own) < evidence.SAME)
        met = {cell: [keys for keys in _telling(cell[0]) if not asked.isdisjoint(keys)] for cell in part.cells}
        meant = [term for term in question.terms if term.meanings and not term.kind]
        for cell in () if any(met.values()) or part.name == part.own else part.cells:  # "how many people" asks for the column "Persons"
            held = self._vocabulary(cell[0])
            met[cell] = [held] if any(evidence.strength(term, held) for term in meant) else []
        named = [cell for cell, keys in met.items() if keys and len(keys) == len(_telling(cell[0]))]
        if named:
            by_name = frozenset[str]().union(*(key for cell in named for key in met[cell]))
            named = [cell for cell, keys in met.items() if cell in named or any(by_name.isdisjoint(key) for key in keys)]
        else:
            partly = [cell for cell, keys in met.items() if keys]
            named = partly if len(partly) == 1 else [cell for cell in part.cells if question.kinds & facts.kinds_of(cell[1])]
        if not named or len(named) == len(part.cells):
            return part.fact
        title = f"{part.fact.title}, {named[0][0]}"[:80] if len(named) == 1 else part.fact.title
        return Fact(part.fact.entry, title, f"{part.over}: {facts.listed(named)}", part.fact.subject)

    def _why(self, question: Question, judged: JudgedEntry) -> tuple[str, ...]:
        """Return a line for each word of the question that the entry has: "pazar = pazar", "kacta ~ (hours)"."""
        lines = []
        for term in question.terms:
            meant = sorted(term.meanings & judged.prepared.whole)
            if "s" + stem(term.word) in judged.prepared.title:
                lines.append(f"{term.word} = {term.word}")
            elif "s" + stem(term.word) in judged.prepared.whole:
                lines.append(f"{term.word} (answer)")
            elif meant:
                lines.append(f"{term.word} -> ({meant[0][1:]})")
            elif evidence.strength(term, judged.prepared.whole):
                lines.append(f"{term.word} ~")
        return tuple(lines)

    def _wanted(self, text: str, given: str | None, spoken: str | None) -> tuple[str, float]:
        if given:
            return primary(given), _GIVEN
        guessed = spoken or guess(text)
        return (guessed, _GUESSED) if guessed else (primary(self._default), _DEFAULT)
