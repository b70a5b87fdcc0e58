"""Persons of the business whom visitors ask for by name: "can I talk to Priya?", "Mehmet usta orada mı"."""

from __future__ import annotations

import re
from weakref import WeakKeyDictionary

from chatsvc.engines import Knowledge
from chatsvc.engines.knowledge.dialogue.message import VisitorMessage
from chatsvc.language.folding import folded
from chatsvc.language.language_detection import is_word
from chatsvc.language.name_words import AMBIGUOUS_NAMES, GIVEN_NAMES, NOT_NAMES
from chatsvc.language.wordlists import WordFile

_FILE = WordFile("engines/knowledge/dialogue/colleagues.txt")
_TALKS, _THERE, _TITLED = (
    _FILE.compile(
        "|".join(f"(?:{pattern.replace('?P<who>', f'?P<who{at}>')})" for at, (name, pattern) in enumerate(_FILE.entries) if name == kind)
    )
    for kind in ("talks", "there", "titled")
)
_TITLES, _BEFORE = _FILE.words("title"), _FILE.words("before")
_WORD = re.compile(r"[^\W\d_]+")
_MOST_WORDS = 12  # of a message that asks for somebody
_MOST_ENTRIES = 2_000  # whose persons are looked for
_names: WeakKeyDictionary[Knowledge, frozenset[str]] = WeakKeyDictionary()


def are_asked_for(message: VisitorMessage) -> bool:
    """Return whether the message asks for a person by name. Questions about working days do not."""
    if len(message.said) > _MOST_WORDS or message.heard.day is not None or message.heard.clock is not None:
        return False
    if _TALKS.search(message.line) or _TITLED.search(message.line):
        return True
    match = _THERE.search(message.line)
    who = next((name for name in match.groups() if name), "") if match else ""
    if not who:
        return False
    return who in _names_typed(message.text) or who in GIVEN_NAMES - AMBIGUOUS_NAMES - NOT_NAMES or who in _persons(message.turn.knowledge)


def _names_typed(text: str) -> set[str]:
    """Return the folded given names that a text has with a capital. "Deniz" is a person, "deniz" the sea."""
    return {folded(word) for word in _WORD.findall(text) if word[0].isupper()} & (GIVEN_NAMES - NOT_NAMES)


def _persons(knowledge: Knowledge) -> frozenset[str]:
    """Return the folded names of persons that the entries name: given names, and words beside a title."""
    if knowledge not in _names:
        found: set[str] = set()
        for entry in knowledge.entries[:_MOST_ENTRIES]:
            typed = _WORD.findall(f"{entry.question} {entry.answer}")
            for at, word in enumerate(typed):
                beside = {folded(other) for other in (*typed[max(0, at - 1) : at], *typed[at + 1 : at + 2])}
                base = folded(word)
                named = (
                    base in GIVEN_NAMES or not _TITLES.isdisjoint(beside) or (at and folded(typed[at - 1]) in _BEFORE and not is_word(base))
                )
                if word[0].isupper() and base not in _TITLES and named:
                    found.add(base)
        _names[knowledge] = frozenset(found - NOT_NAMES)
    return _names[knowledge]
