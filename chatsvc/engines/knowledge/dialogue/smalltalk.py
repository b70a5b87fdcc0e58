"""Recognition of small talk, and the replies to it. Greetings, thanks, goodbyes, "are you a bot?", a bare "ok".

A message counts only if it is nothing else. Replies exist in Turkish and English; more languages are recognised.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from chatsvc.engines import Turn, language
from chatsvc.engines.knowledge.dialogue import texts
from chatsvc.engines.knowledge.dialogue.wording import LANGUAGES
from chatsvc.language.folding import words
from chatsvc.language.wordlists import WordFile

_MAX_WORDS = 8

_WAVES = frozenset("👋🤚🖐✋")
_BOWS = frozenset("🙏❤♥💐🌹👏🤝💕🥰😍😘")
_SYMBOLS = frozenset({"So", "Sk", "Mn", "Cf", "Me"})  # categories of emoji and their modifiers
_CLAUSES = re.compile(r"(?<![.!,;\n])[.!,;\n]+(?=\s|$)|(?<!\s)\s++-++\s+")
_MOST_PARTING_WORDS = 14
_STRETCHED = re.compile(r"(.)\1+")


def _plain(word: str) -> str:
    """Collapse repeated letters, so that "selammm" is "selam"."""
    return _STRETCHED.sub(r"\1", word) if len(word) > 3 else word


_FILE = WordFile("engines/knowledge/dialogue/smalltalk.txt")
_PHRASES: dict[tuple[str, ...], tuple[str, str]] = {}  # words -> (kind, language)
_FILLERS: set[tuple[str, ...]] = set()
for _name, _items in _FILE.group("").items():
    if _name in ("part", "when"):
        continue
    for _phrase in (tuple(map(_plain, words(item))) for item in _items):
        if _name == "fillers":
            _FILLERS.add(_phrase)
        else:
            _kind, _, _language = _name.partition(" ")
            _PHRASES.setdefault(_phrase, (_kind, _language))
_TELLING = ("greeting", "noted", "thanks", "identity", "opening", "goodbye")  # in rising order of weight
# Said on meeting and on parting alike: after a conversation they part.
_PARTS_WITH = frozenset(_plain(word) for item in _FILE.items("part") for word in words(item))
# Days and times that may stand in a goodbye.
_WHEN = frozenset(_plain(word) for item in _FILE.items("when") for word in words(item))
_LONGEST = max(len(phrase) for phrase in _PHRASES)


def answer(turn: Turn) -> str | None:
    """Return the reply to a message that is only small talk. None for any other message."""
    recognised = kind_of(turn)
    if recognised is None:
        return None
    what, spoken = recognised
    if what == "greeting" and turn.bot.greeting and turn.bot.greeting.strip():
        return turn.bot.greeting
    return texts.of(turn.bot, language.among(turn, LANGUAGES, spoken or None))(f"smalltalk.{what}", name=turn.bot.name)


def kind_of(turn: Turn) -> tuple[str, str] | None:
    """Return kind and language of a message that is small talk, else None. The conversation is taken into account."""
    said = words(turn.message)
    recognised = kind(said, turn.bot.name) or _gesture(turn.message) or _farewell(turn)
    if recognised and recognised[0] == "greeting" and turn.history and _PARTS_WITH.issuperset([*map(_plain, said)]):
        return "goodbye", recognised[1]
    return recognised


def _farewell(turn: Turn) -> tuple[str, str] | None:
    """Read a message that ends with a goodbye and asks nothing: "shame. laters", "teşekkürler cumartesi görüşürüz"."""
    clauses = [clause for clause in _CLAUSES.split(turn.message) if words(clause)]
    if not clauses or "?" in turn.message or len(words(turn.message)) > _MOST_PARTING_WORDS:
        return None
    said = words(clauses[-1])
    timeless = [word for word in said if _plain(word) not in _WHEN and not word[0].isdigit()]
    last = kind(said, turn.bot.name) or kind(timeless, turn.bot.name)
    return last if last is not None and last[0] == "goodbye" and (len(clauses) > 1 or timeless != said) else None


def asks_who(turn: Turn) -> bool:
    """Whether the message asks who or what the bot is, which its knowledge may answer."""
    recognised = kind_of(turn)
    return recognised is not None and recognised[0] == "identity"


def kind(said: Sequence[str], name: str = "") -> tuple[str, str] | None:
    """Return the kind of small talk and its language ("" if the words show none). None for anything else.

    Of several kinds the weightiest counts ("merhaba, tamam, teşekkürler" is thanks), and of two alike the later one.
    """
    if not said or len(said) > _MAX_WORDS:
        return None
    plain, own = [_plain(word) for word in said], set(words(name))
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(said):
        length, matched = _longest(plain, at)
        if matched is not None:
            found.append(matched)
        elif not length and said[at] in own:
            length = 1
        if not length:
            return None
        at += length
    return max(reversed(found), key=lambda one: _TELLING.index(one[0]), default=None)


def _longest(said: Sequence[str], at: int) -> tuple[int, tuple[str, str] | None]:
    """The length of the longest phrase at `at`, and its kind (None for a filler)."""
    for length in range(min(_LONGEST, len(said) - at), 0, -1):
        phrase = tuple(said[at : at + length])
        if phrase in _PHRASES:
            return length, _PHRASES[phrase]
        if phrase in _FILLERS:
            return length, None
    return 0, None


def _gesture(message: str) -> tuple[str, str] | None:
    """Return the kind of a message that consists of emoji."""
    shown = [char for char in message if not char.isspace()]
    if not any(unicodedata.category(char) == "So" for char in shown) or any(unicodedata.category(char) not in _SYMBOLS for char in shown):
        return None
    if not _WAVES.isdisjoint(shown):
        return "greeting", ""
    return ("thanks", "") if not _BOWS.isdisjoint(shown) else ("noted", "")
