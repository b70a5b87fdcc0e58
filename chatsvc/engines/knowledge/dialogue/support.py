"""Support of an answer: whether an entry speaks of what a short question asks for.

Search finds the nearest entry; a question about cats finds the one about dogs. An entry is lacking if it states no fact of the kind
asked for, names another thing ("dog" for "cat"), or has neither the words asked for nor their topic. Long messages tell a story around
their question and are not judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chatsvc.domain.language import primary
from chatsvc.domain.models import Entry
from chatsvc.engines import Hit, Knowledge
from chatsvc.engines.knowledge.dialogue import facts, followups
from chatsvc.language.folding import fold, words
from chatsvc.language.language_detection import guess
from chatsvc.language.wordlists import WordFile

_LONGEST = 8  # words of a message that is judged
_RELIABLE = frozenset({"duration", "person", "frequency", "contact"})  # kinds of fact that are asked for in one way only
_AMOUNTS = ("money", "quantity")  # a price may stand there without a currency
_BARE = 2  # words of a message that is a subject and nothing else
_MOST_WORDS = 3  # words that are searched for one by one
_LIKE = 0.5  # share of the best score from which a word alone still finds the entry

_FILE = WordFile("engines/knowledge/dialogue/support.txt")
_ANYTHING = _FILE.words("anything")
# (what asks for a kind of statement, what is one) of kinds that only count here
_STATEMENTS = [(_FILE.pattern(f"asks {kind}"), _FILE.pattern(f"in {kind}")) for kind in ("measure", "beginning")]
_GENERAL = _FILE.group("general ")


@dataclass(frozen=True, slots=True)
class _Thing:
    """A thing that is told apart from others of its group: its words, and those of the whole group."""

    group: str
    forms: tuple[str, ...]
    general: tuple[str, ...]


def _things() -> list[_Thing]:
    found = []
    for group, items in _FILE.group("things ").items():
        general = tuple(form for item in _GENERAL.get(group, ()) for form in item.split("|"))
        found += [_Thing(group, tuple(item.split("|")), general) for item in items]
    return found


_THINGS = _things()


def is_lacking(entry: Entry, message: str, knowledge: Knowledge) -> bool:
    """Return whether an entry probably says nothing of what a short message asks for."""
    said = words(message)
    if not 0 < len(said) <= _LONGEST:
        return False
    if lacks_fact(entry, message) or lacks_thing(entry, message):
        return True
    # words of another language would all be missing
    return guess(message) in (None, primary(entry.language)) and _lacks_words(entry, message, knowledge)


def is_related(entry: Entry, message: str, knowledge: Knowledge) -> bool:
    """Return whether an entry has a word of the subject, or its topic."""
    own = [word for word in dict.fromkeys(followups.naming_words(message)) if word not in _ANYTHING]
    if any(followups.holds(entry, [word]) for word in own):
        return True
    return any(_holds_near(knowledge.search(word).hits, entry) for word in own[:_MOST_WORDS])


def is_named_otherwise(entry: Entry, message: str) -> bool:
    """Return whether a message of one or two words has none that the entry has. A synonym may mean something else."""
    said = words(message)
    own = [word for word in followups.naming_words(message) if word not in _ANYTHING]
    title = tuple(words(entry.question))
    return len(own) == len(said) <= _BARE and not any(
        followups.holds_words(entry, [word]) or any(one.startswith(word) for one in title) for word in own
    )


def lacks_fact(entry: Entry, message: str, *, strictly: bool = False) -> bool:
    """Return whether an entry states no fact of the kind that a message asks for.

    A number may be a price without a currency, but not `strictly`.
    """
    for asks, states in _STATEMENTS:
        if asks.search(f" {fold(message)} "):
            return not states.search(f" {fold(entry.answer)} ")
    if facts.names_amount(message):
        return not facts.states_any(entry.answer, {"money"} if strictly else _AMOUNTS)
    kinds = facts.asked(message)
    if facts.is_of_minor(message):
        return not facts.states_any(entry.answer, {"age"})
    return bool(kinds) and kinds <= _RELIABLE and not facts.states_any(entry.answer, kinds)


def lacks_thing(entry: Entry, message: str) -> bool:
    """Return whether a message names a thing that the entry does not name."""
    said, held = words(message), words("\n".join((entry.question, *entry.alt, entry.answer)))
    return any(not _has(held, thing.forms) and not _has(held, thing.general) for thing in _THINGS if _has(said, thing.forms))


def _has(held: Iterable[str], forms: Iterable[str]) -> bool:
    whole = {form for form in forms if not form.endswith("*")}
    beginnings = tuple(form[:-1] for form in forms if form.endswith("*"))
    return any(word in whole or word.startswith(beginnings) for word in held)


def _lacks_words(entry: Entry, message: str, knowledge: Knowledge) -> bool:
    """Return whether an entry lacks half of the subject's words, or one that another has.

    A word that finds the entry when it is searched for alone belongs to its topic.
    """
    own = [word for word in dict.fromkeys(followups.naming_words(message)) if word not in _ANYTHING]
    missing = [word for word in own if not followups.holds(entry, [word])][:_MOST_WORDS]
    found = {word: knowledge.search(word).hits for word in missing}
    unknown = [word for word, hits in found.items() if not _holds_near(hits, entry)]
    if unknown and 2 * len(unknown) >= len(own):
        return True
    return any(found[word] and followups.holds_words(found[word][0].entry, [word]) for word in unknown)


def _holds_near(hits: Sequence[Hit], entry: Entry) -> bool:
    """Return whether an entry is among hits with a score near the best one."""
    return any(hit.entry.id == entry.id and hit.score >= _LIKE * hits[0].score for hit in hits)
