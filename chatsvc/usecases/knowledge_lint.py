"""What is weak in a bot's knowledge: entries that hide one another, that are there twice, or that visitors will hardly find.

Most is seen in one pass over the entries. What only the search itself can say, whether a phrasing finds its own entry, takes a search each:
for the first MOST_SEARCHED phrasings, taken from all entries in turn, or for all of them where that is wanted. 50,000 entries with 250,000
phrasings so take about two minutes, of which half goes into building the index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, zip_longest
from typing import NamedTuple

from chatsvc.domain.language import primary
from chatsvc.domain.models import Entry
from chatsvc.engines import Knowledge
from chatsvc.engines.knowledge import KnowledgeIndex
from chatsvc.engines.knowledge.search.stemming import stem
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS
from chatsvc.engines.reading.folding import fold, words
from chatsvc.engines.reading.language_detection import guess

KINDS = (  # worst first
    "answers_another",
    "duplicate_phrasing",
    "near_duplicate",
    "foreign_language",
    "too_few_phrasings",
    "long_answer",
)
FEWEST = 5  # phrasings, the question among them
LONG_ANSWER = 1_500  # characters
MOST_SEARCHED = 10_000
_ALIKE = 0.9  # of the best score: two entries that a question fits this evenly are hardly two
_TELLING = 5  # words from which a text's language can be told

Progress = Callable[[str, int, int], None]


def _untold(what: str, done: int, of: int) -> None:
    """For those who do not wait."""


class Finding(NamedTuple):
    """One weakness: of `entry`, or between it and `other` (both ids)."""

    kind: str
    entry: str
    other: str | None
    text: str


def findings(
    entries: Sequence[Entry],
    language: str,
    synonyms: Sequence[Sequence[str]] = (),
    *,
    everything: bool = False,
    progress: Progress = _untold,
) -> list[Finding]:
    """All that is found, worst first; `language` is the bot's, `progress` is told what is being done and how far it is."""
    found: list[Finding] = []
    for done, entry in enumerate(entries, start=1):
        found.extend(_alone(entry))
        progress("looking at entries", done, len(entries))
    found.extend(_twice(entries))
    told = {(one.entry, one.other) for one in found} | {(one.other, one.entry) for one in found}
    most = searched(entries)[everything]
    progress("indexing", 0, 0)
    index = KnowledgeIndex(entries, language, synonyms=synonyms)
    for done, (entry, phrasing) in enumerate(islice(_in_turn(entries), most), start=1):
        one = _searched(index, entry, phrasing)
        if one and (one.entry, one.other) not in told:
            told |= {(one.entry, one.other), (one.other, one.entry)}
            found.append(one)
        progress("searching for phrasings", done, most)
    return sorted(found, key=lambda one: KINDS.index(one.kind))


def searched(entries: Sequence[Entry]) -> tuple[int, int]:
    """How many phrasings are searched for where not everything is wanted, and how many there are."""
    phrasings = sum(1 + len(entry.alt) for entry in entries)
    return min(phrasings, MOST_SEARCHED), phrasings


def _in_turn(entries: Sequence[Entry]) -> Iterator[tuple[Entry, str]]:
    """Every entry's question first, then every entry's first other phrasing, and so on."""
    for phrasings in zip_longest(*([(entry, one) for one in (entry.question, *entry.alt)] for entry in entries)):
        yield from (phrasing for phrasing in phrasings if phrasing)


def _alone(entry: Entry) -> Iterator[Finding]:
    """What can be said of an entry by itself."""
    phrasings = 1 + len(entry.alt)
    if phrasings < FEWEST:
        yield Finding(
            "too_few_phrasings",
            entry.id,
            None,
            f"“{entry.question}” has {phrasings} of {FEWEST} phrasings: visitors ask in other words",
        )
    if len(entry.answer) > LONG_ANSWER:
        yield Finding("long_answer", entry.id, None, f"the answer to “{entry.question}” has {len(entry.answer):,} characters")
    if seems := _other_language(entry):
        yield Finding("foreign_language", entry.id, None, f"“{entry.question}” is marked {entry.language} and seems to be {seems}")


def _other_language(entry: Entry) -> str | None:
    """The language that both the phrasings and the answer are plainly in, where it is not the one said."""
    asked = "\n".join((entry.question, *entry.alt))
    seems = guess(asked)
    if seems is None or seems == primary(entry.language) or len(words(asked)) < _TELLING:
        return None
    return seems if guess(entry.answer) in {seems, None} else None


def _twice(entries: Sequence[Entry]) -> Iterator[Finding]:
    """Entries of one language that share a phrasing, the words of their questions, or their answer."""
    phrased: dict[tuple[str, str], Entry] = {}
    asked: dict[tuple[str, frozenset[str]], Entry] = {}
    answered: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        spoken = primary(entry.language)
        others = set()
        for phrasing in (entry.question, *entry.alt):
            other = phrased.setdefault((spoken, " ".join(words(phrasing)) or phrasing), entry)
            if other is not entry and other.id not in others:
                others.add(other.id)
                yield Finding(
                    "duplicate_phrasing", entry.id, other.id, f"“{phrasing}” is asked by “{entry.question}” and by “{other.question}”"
                )
        telling = [word for word in words(entry.question) if word not in STOPWORDS]
        near = [answered.setdefault((spoken, fold(entry.answer)), entry)]
        if telling:
            near.append(asked.setdefault((spoken, frozenset(map(stem, telling))), entry))
        for other in near:
            if other is not entry and other.id not in others:
                others.add(other.id)
                yield _near(entry, other)


def _near(entry: Entry, other: Entry) -> Finding:
    return Finding("near_duplicate", entry.id, other.id, f"“{entry.question}” and “{other.question}” are nearly the same: make one of them")


def _searched(index: Knowledge, entry: Entry, phrasing: str) -> Finding | None:
    """What the bot's own search makes of a phrasing that it has been told."""
    hits = [hit for hit in index.search(phrasing, entry.language).hits if primary(hit.entry.language) == primary(entry.language)]
    if not hits:
        return None
    first = hits[0]
    if first.entry.id != entry.id:
        return Finding(
            "answers_another", entry.id, first.entry.id, f"“{phrasing}” of “{entry.question}” finds “{first.entry.question}” first"
        )
    if phrasing == entry.question and len(hits) > 1 and hits[1].score >= _ALIKE * first.score:
        return _near(entry, hits[1].entry)
    return None
