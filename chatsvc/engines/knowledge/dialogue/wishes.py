"""Recognition of wishes that a person has to see to. An appointment, a call, a quote.

"Randevu almak istiyorum" is a wish; "randevu nasıl alınır?" and "do I need an appointment?" are questions, which the knowledge
answers. A wish is clear if the message says so outright; a bare "randevu" or "my order has not arrived" may be one, and counts
only where the knowledge has no answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, time
from functools import lru_cache
from typing import Protocol

from chatsvc.engines.knowledge.dialogue.folded_line import line_of
from chatsvc.language.edits import distance
from chatsvc.language.wordlists import WordFile

_READ = 1_000  # characters of a message looked at
_SENTENCES = re.compile(r"(?<![?!.;\n])[?!.;\n]+(?=\s|$)")
_FEW = 8  # words of a statement that names a day and an hour for a visit
_MOST_SENTENCES = 4  # of a message that are interpreted one by one


class Dated(Protocol):
    """A message read for the day and the time that it names."""

    @property
    def day(self) -> date | None: ...

    @property
    def clock(self) -> time | None: ...

    @property
    def question(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Wish:
    """A kind of request (captures.REQUEST_TYPES), the message's language, and whether it is outright."""

    request_type: str
    language: str
    clear: bool


_FILE = WordFile("engines/knowledge/dialogue/wishes.txt")
# (kind of request, language, whether the wish is clear, pattern), in the order in which they are tried
_WISHES = [
    (kind, language, clear == "clear", _FILE.compile(pattern))
    for (_, kind, language, clear), pattern in ((name.split(), value) for name, value in _FILE.entries if name.startswith("wish "))
]
_ASKS = {language: _FILE.pattern(f"asks {language}") for language in ("tr", "en")}
_OWN = {language: _FILE.pattern(f"own {language}") for language in ("tr", "en")}
_COMES = {language: _FILE.pattern(f"comes {language}") for language in ("tr", "en")}
_UNWANTED, _AVAILABLE = _FILE.pattern("unwanted"), _FILE.pattern("available")
_ABSENT, _CHANGES = _FILE.pattern("will_not_come"), _FILE.pattern("changes")
# (kind, language, weight, pattern) of wishes put together from a frame and an act; the weight says what a day or a time adds
_COMPOSED = [
    (kind, language, weight, _FILE.compile(pattern))
    for (_, kind, language, weight), pattern in ((name.split(), value) for name, value in _FILE.entries if name.startswith("composed "))
]
_URGENT, _VISITS = _FILE.pattern("urgent"), _FILE.pattern("visits")
_ONLY_ASKS = _FILE.pattern("only_asks")
_SHORT_FORMS = [(f" {short} ", f" {whole} ") for short, (whole,) in _FILE.group("short ").items()]
_NOUNS = [(noun, int(limit)) for noun, _, limit in (item.partition("=") for item in _FILE.items("nouns"))]


def recognise(message: str, *, dated: bool = False) -> Wish | None:
    """Return the wish of a message. None if there is none, or if it only asks.

    `dated` says that the message names a day or a time: "yarın saat 3'e randevu" needs no verb.
    """
    line = _line(message)
    if _UNWANTED.search(line):
        return None
    listed = _listed(message, line, dated=dated)
    if listed is not None and (listed.clear or listed.request_type == "other"):
        return listed
    composed = _composed(line, dated=dated)
    return composed if composed is not None and (listed is None or composed.clear) else listed


def _composed(line: str, *, dated: bool) -> Wish | None:
    """Return the wish that a frame and an act make together. Frames: "can you", "-abilir miyim"; acts: "look at my", "getir"."""
    if _ONLY_ASKS.search(line):
        return None
    for kind, tag, weight, pattern in _COMPOSED:
        if pattern.search(line) and (dated or not weight.startswith("dated")):
            return Wish(kind, tag, weight in ("clear", "dated") or (weight == "either" and dated))
    return None


def _listed(message: str, line: str, *, dated: bool) -> Wish | None:
    """Return the wish by the first pattern that matches."""
    asked = {tag: bool(asks.search(line)) for tag, asks in _ASKS.items()}
    for kind, tag, clear, pattern in _WISHES:
        if not pattern.search(line):
            continue
        if asked[tag] and not _OWN[tag].search(line):
            # "yarın 3'te randevu var mı?" asks for that very hour; a question all the same, so the knowledge goes first
            return Wish(kind, tag, False) if kind == "appointment" and dated and _AVAILABLE.search(line) else None
        named = kind == "appointment" and (dated or len(line.split()) <= 2)
        if not clear and not named and "?" in message:
            return None
        return Wish(kind, tag, not asked[tag] and (clear or (named and dated and "?" not in message)))
    if absent := _ABSENT.search(line):
        return None if "?" in message else Wish("other", "tr" if absent[1] else "en", False)
    if not dated or _ONLY_ASKS.search(line):
        return None
    return next((Wish("appointment", tag, False) for tag, comes in _COMES.items() if comes.search(line)), None)


def is_outright(message: str) -> bool:
    """Return whether a sentence of the message names its wish: an appointment, a quote."""
    told = (message, *_SENTENCES.split(message[:_READ])[:_MOST_SENTENCES])
    return any(wish is not None and wish.clear for wish in (_listed(part, _line(part), dated=False) for part in told))


def of(message: str, heard: Dated) -> Wish | None:
    """Return the wish of a message, whole or in one of its sentences. `heard` holds the day and the time that it names."""
    dated = heard.day is not None or heard.clock is not None or bool(_URGENT.search(_line(message)))
    wish = recognise(message, dated=dated)
    if wish is None or not wish.clear:  # a question in another sentence does not make the wish unclear
        told = (recognise(part, dated=dated) for part in _SENTENCES.split(message[:_READ])[:_MOST_SENTENCES])
        wish = next((one for one in told if one is not None and one.clear), wish)
    if heard.day is None or heard.clock is None:
        return wish
    if wish is None and _states_a_visit(message, heard):
        return Wish("appointment", "en" if message.isascii() else "tr", False)
    return replace(wish, clear=True) if wish is not None and wish.request_type == "appointment" else wish


def _states_a_visit(message: str, heard: Dated) -> bool:
    """Return whether a short statement names a day and an hour. Examples: "yarın 3'e manikür", "next thursday at 10"."""
    line = _line(message)
    return (
        not heard.question
        and len(line.split()) <= _FEW
        and not (_ONLY_ASKS.search(line) or _UNWANTED.search(line) or _CHANGES.search(line))
    )


def changes(message: str) -> bool:
    """Return whether the message cancels something or puts it off."""
    return bool(_CHANGES.search(_line(message)))


def is_urgent(message: str) -> bool:
    """Return whether the message says that it is urgent."""
    return bool(_URGENT.search(_line(message)))


def is_visit(message: str) -> bool:
    """Return whether the message wishes to come and look at something."""
    return bool(_VISITS.search(_line(message)))


_ADDRESS = re.compile(r"\S{1,64}@\S{1,255}")


def _line(message: str) -> str:
    # The "a" of a@example.com would make a question of "my e-mail is a@example.com".
    message = _ADDRESS.sub(" ", message[:_READ])
    line = f" {' '.join(map(_spelled, line_of(message).split()))} "
    for short, whole in _SHORT_FORMS:
        line = line.replace(short, whole)
    return line


@lru_cache(maxsize=20_000)
def _spelled(word: str) -> str:
    """Correct the spelling of the nouns of wishes: radnevu, appointmnet, rezarvasyonu."""
    if not 6 <= len(word) <= 20:
        return word
    for noun, allowed in _NOUNS:
        if word.startswith(noun):
            return word
        if word[0] == noun[0]:
            for length in (len(noun), len(noun) - 1, len(noun) + 1):
                if len(word) >= length and distance(word[:length], noun, allowed) <= allowed:
                    return noun + word[length:]
    return word
