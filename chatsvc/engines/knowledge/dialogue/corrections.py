"""Corrections of a name that is known already, and names said again. "Tekin değil Tekiner", "it's Prescott with two t's"."""

from __future__ import annotations

import re
from datetime import datetime

from chatsvc.domain import contacts
from chatsvc.engines import Turn
from chatsvc.engines.knowledge.dialogue import hearing, intents, told_names
from chatsvc.language.edits import distance
from chatsvc.language.folding import folded, words
from chatsvc.language.language_detection import is_word
from chatsvc.language.name_words import AMBIGUOUS_NAMES, GIVEN_NAMES, NOT_NAMES, SURNAMES
from chatsvc.language.wordlists import WordFile

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ADDRESS = re.compile(r"(?<!\S)[^\s@]*+@\S*")
_TURKISH_NOT, _ENGLISH_NOT = "degil", "not"
_STOPS = WordFile("engines/knowledge/dialogue/hearing.txt").words("around_a_name")
_LONGEST_SLIP = 12  # words of a message in which a name spelled otherwise is taken for a correction
_SHORTEST = 4
_MISTYPED = re.compile(r" (?:yanlis|hatali|typo|mistyped|misspelled|misspelt|wrong|i meant|i mean|autocorrect) ")
_FAR = 2
_MOST_PARTS = 4  # words of a name


def renamed(text: str, name: str | None, now: datetime, country: str) -> str | None:
    """Return the name that replaces a known one. A corrected part, a surname told apart, or another name where the name is spoken of."""
    surname = contacts.surname_in(text)
    if name is None or (text.endswith("?") and surname is None):
        return None
    spoken_of = hearing.interpret(text, "name", now, country).name if hearing.names_the_name(text) else None
    whole = spoken_of if spoken_of is not None and " " in spoken_of and _TURKISH_NOT not in folded(text).split() else None
    found = whole or corrected(text, name) or (_with_surname(name, surname) if surname and folded(surname) not in _STOPS else None)
    found = found or spoken_of or _retyped(text, name)
    return found if found is not None and folded(found) != folded(name) else None


def _retyped(text: str, name: str) -> str | None:
    """Read another given name after a mistyped one: "yanlış yazdım hüsnü olacak"."""
    if not _MISTYPED.search(f" {' '.join(words(text))} ") or len(words(text)) > _LONGEST_SLIP:
        return None
    known = {folded(word) for word in name.split()}
    other = [word for word in _WORD.findall(text) if folded(word) in GIVEN_NAMES - AMBIGUOUS_NAMES - NOT_NAMES - known]
    return other[0] if len(other) == 1 and len(known) == 1 else None


def _with_surname(name: str, surname: str) -> str:
    """Add or replace the surname: "soyadım da Tuna", "my last name is spelled Hille"."""
    parts = name.split()
    return " ".join([*(parts if len(parts) == 1 else parts[:-1]), surname])


def corrected(text: str, name: str | None) -> str | None:
    """Return the corrected name; None if the message corrects none."""
    if not name:
        return None
    typed = _WORD.findall(_ADDRESS.sub(" ", text))
    said = [folded(word) for word in typed]
    known = [folded(word) for word in name.split()]
    return _replaced(typed, said, known, name) or _respelled(typed, said, known, name)


def _replaced(typed: list[str], said: list[str], known: list[str], name: str) -> str | None:
    """Replace a part of the name. Examples: "X değil Y", "not X, Y", "Y not X"."""
    for at, word in enumerate(said):
        if word == _TURKISH_NOT and at and said[at - 1] in known:
            return _joined(name, known, said[at - 1], _names(typed[at + 1 :], said[at + 1 :]))
        if word == _ENGLISH_NOT and said[at + 1 : at + 2] and said[at + 1] in known:
            behind = _names(typed[at + 2 :], said[at + 2 :])
            before = _names(typed[max(0, at - 2) : at], said[max(0, at - 2) : at])
            return _joined(name, known, said[at + 1], behind or before)
    return None


def _names(typed: list[str], said: list[str]) -> list[str]:
    """Return the first run of words that may be names."""
    taken: list[str] = []
    for word, base in zip(typed, said, strict=True):
        if base in _STOPS or (base in NOT_NAMES and not word[0].isupper()):
            if taken:
                break
            continue
        taken.append(word)
    return taken[:3]


def _joined(name: str, known: list[str], wrong: str, right: list[str]) -> str | None:
    if not right:
        return None
    parts = name.split()
    if len(right) > 1 or len(parts) == 1:
        return " ".join(right)
    return " ".join(right[0] if base == wrong else part for part, base in zip(parts, known, strict=True))


def _respelled(typed: list[str], said: list[str], known: list[str], name: str) -> str | None:
    """Read a part of the name spelled otherwise: "sorry its Prescott"."""
    if len(said) > _LONGEST_SLIP:
        return None
    for word, base in zip(typed, said, strict=True):
        if len(base) < _SHORTEST or base in known or base in _STOPS or (not word[0].isupper() and _is_ordinary(base)):
            continue
        for part, old in zip(name.split(), known, strict=True):
            if len(old) >= _SHORTEST and old[0] == base[0] and distance(base, old, _FAR) <= min(_FAR, len(old) // 3):
                return " ".join(word if one == part else one for one in name.split())
    return None


def _is_ordinary(word: str) -> bool:
    return word not in GIVEN_NAMES | SURNAMES and (word in NOT_NAMES or is_word(word))


def is_name(text: str, now: datetime, turn: Turn) -> bool:
    """Return whether a message is nothing but a name: "Siobhán O'Malley", "ben murat"."""
    bare = hearing.bare_name(text, None) or hearing.name_in_passing(text, now, turn.bot.country)
    single = folded(text.strip(" .!"))
    return bare is not None or single in GIVEN_NAMES - AMBIGUOUS_NAMES - NOT_NAMES


def only_names(message: str, name: str) -> bool:
    """Return whether a message says a name and hardly anything else. "bıcır diyorlar bana"."""
    known = set(words(name))
    return sum(word not in known and not told_names.is_no_name(word) for word in words(message)) <= 1


def possible_name(message: str, heard: hearing.Utterance) -> str | None:
    """Return an answer that may be a name, after the name was asked for again. A word or a few, of letters."""
    text = message.strip().strip(" .,;:!")
    if heard.question or heard.refuses or hearing.denies(message) or hearing.is_nod(message) or "insult" in intents.of(message):
        return None
    if len(words(text)) > _MOST_PARTS or any(told_names.is_no_name(word) for word in words(text)):
        return None
    return contacts.own_name(text, [message])
