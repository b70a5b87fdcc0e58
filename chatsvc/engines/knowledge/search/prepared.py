"""Entries with their facts, prepared to be judged."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chatsvc.domain.language import primary
from chatsvc.domain.models import Entry
from chatsvc.engines.knowledge.search import amounts, facts, matching, topics
from chatsvc.engines.knowledge.search.candidates import EntryIndex
from chatsvc.engines.knowledge.search.facts import StatedFact
from chatsvc.engines.knowledge.search.matching import QuestionTerm, TextVocabulary
from chatsvc.engines.knowledge.search.stemming import stem, trigrams
from chatsvc.engines.knowledge.search.stopwords import is_light
from chatsvc.language import acts
from chatsvc.language.folding import words

_OF_KIND = 0.6  # share of a kind of question from which an entry's own are of it
_PARENTHESES = re.compile(r"\([^()]*\)")
_PHRASINGS = 16  # of an entry whose topics count
_PHRASINGS_READ = 3  # phrasings of an entry whose kinds of question count, beside its question
_AT_ONCE = 200  # entries whose facts are read when the index is built
_CACHED = 2_048  # entries with their facts


@dataclass(frozen=True, slots=True)
class Prepared:
    """An entry with its facts and their vocabularies."""

    entry: Entry
    facts: tuple[StatedFact, ...]
    title: TextVocabulary  # question and phrasings
    own: tuple[TextVocabulary, ...]  # of each fact
    heads: tuple[TextVocabulary, ...]  # of what stands over each fact in the answer
    whole: TextVocabulary  # of all of these
    kinds: tuple[frozenset[str], ...]  # of amounts that each fact holds
    letters: tuple[frozenset[str], ...]  # of each fact: letter trigrams of its words
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


class Preparer:
    """Entries of a knowledge index by number. Of a large one, the facts of an entry are read when it is first wanted."""

    def __init__(self, knowledge: EntryIndex) -> None:
        self._knowledge = knowledge
        self._lexicon = knowledge.lexicon
        self._known: dict[int, Prepared] = {}
        for number in range(min(len(knowledge.entries), _AT_ONCE)):
            self(number)

    def __call__(self, number: int) -> Prepared:
        """Return an entry by its number."""
        known = self._known.get(number)
        if known is None:
            if len(self._known) >= _CACHED:
                del self._known[next(iter(self._known))]
            known = self._known[number] = self._prepared(self._knowledge.entries[number])
        return known

    def _prepared(self, entry: Entry) -> Prepared:
        stated = facts.of(entry)
        title = matching.vocabulary((entry.question, *entry.alt), self._lexicon)
        own = [matching.vocabulary((fact.text,), self._lexicon) for fact in stated]
        heads = [matching.vocabulary((fact.head,), self._lexicon) for fact in stated]
        return Prepared(
            entry,
            stated,
            title,
            tuple(own),
            tuple(heads),
            matching.joined((title, *own, *heads)),
            tuple(amounts.read(fact.text).kinds for fact in stated),
            tuple(letters(words(fact.text)) for fact in stated),
            self._mean((entry.question, *entry.alt)),
            self._mean((entry.answer,)),
            tuple(self._mean((fact.text,)) for fact in stated),
            kinds_of((entry.question, *entry.alt[:_PHRASINGS_READ]), entry.language),
            "?" in entry.question or any("asking" in mark for mark in amounts.LABELS.marked(words(entry.question))),
            tuple(self._called(text) for text in (entry.question, *entry.alt[:_PHRASINGS])),
        )

    def _called(self, text: str) -> tuple[str, TextVocabulary, int]:
        """Return a phrasing folded, its vocabulary, and the number of its words that name a thing."""
        said = words(text)
        bare = words(_PARENTHESES.sub(" ", text)) or said
        marks = amounts.LABELS.marked(bare)
        naming = [word for word, mark in zip(bare, marks, strict=True) if not is_light(word) and not mark & {"asking", "pointing"}]
        return " ".join(said), matching.vocabulary((" ".join(naming),), self._lexicon), len(set(map(stem, naming)))

    def _mean(self, texts: Sequence[str]) -> topics.Vector:
        """Return the mean of where texts lie among the topics."""
        found = [topics.shared().direction(topics.features_of(words(text), self._lexicon)) for text in texts[:_PHRASINGS]]
        return topics.unit(tuple(map(sum, zip(*filter(None, found), strict=True))))


def letters(said: Sequence[str]) -> frozenset[str]:
    """Return the letter trigrams of all words."""
    return frozenset([gram for word in said for gram in trigrams(word)])


def kinds_of(texts: Sequence[str], language: str) -> dict[str, float]:
    """Return the kinds of question of some texts together, as a vector of length 1."""
    total: dict[str, float] = {}
    for text in texts:
        for kind, share in acts.classify(text, primary(language)).kinds.items():
            total[kind] = total.get(kind, 0.0) + share
    length = math.sqrt(sum(share * share for share in total.values())) or 1.0
    return {kind: share / length for kind, share in total.items()}
