"""Sentences of the bot in every language: `languages/xx/messages.txt`, one `key: sentence` a line.

The key `KEY.familiar` has the sentence of `KEY` in familiar address. A sentence that a language lacks is used in English.
The owner of a bot can replace sentences by others.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

from chatsvc.domain import profiles
from chatsvc.domain.models import Bot
from chatsvc.domain.profiles import Profile

FOLDER = Path(__file__).parent.parent / "languages"
FALLBACK = "en"
GREETING = "smalltalk.greeting"
_FAMILIAR = ".familiar"
_PARTS = frozenset({"days", "months", "yes_no", "format.date", "list.and", "wish.call", "wish.person"})  # parts of other sentences
_BRACES = re.compile(r"\{(\w{1,40})\}")
_ENDED = re.compile(r"((\d\d)(?::00)?)'(DE|E)\b")


@cache
def languages() -> tuple[str, ...]:
    """Return the primary tags of the languages that the bot speaks: the folders with a catalogue."""
    return tuple(sorted(path.parent.name for path in FOLDER.glob("*/messages.txt")))


@cache
def _sentences(language: str) -> Mapping[str, str]:
    """Read the sentences of a language. Raises ValueError for a line without a key, or with a key that another line has."""
    by_key: dict[str, str] = {}
    path = FOLDER / language / "messages.txt"
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        key, colon, sentence = line.partition(":")
        if not colon or key in by_key:
            raise ValueError(f"{path.name}:{number}: no sentence, or a second one of its key: {line}")
        by_key[key] = sentence.strip()
    return by_key


def say(key: str, language: str, *, familiar: bool = False, **values: str) -> str:
    """Return a sentence with its values filled in; raises KeyError for an unknown key."""
    own = _sentences(language) if language in languages() else {}
    if familiar and key + _FAMILIAR in own:
        key += _FAMILIAR
    return filled(own[key] if key in own else _sentences(FALLBACK)[key], values)


def filled(sentence: str, values: Mapping[str, str]) -> str:
    """Replace names in braces by their values. Any other text in braces stays unchanged.

    `str.format` would be unsafe, since it evaluates attributes and widths: a sentence may come from an imported account.
    """
    return _ENDED.sub(_ending, _BRACES.sub(lambda name: values.get(name[1], name[0]), sentence))


def _ending(match: re.Match[str]) -> str:
    """Return a time with the Turkish ending that fits its pronunciation: "18:00'DE" becomes "18:00'de", "10:30'E" becomes "10:30'a"."""
    tens, ones = divmod(int(match[2]), 10)
    endings = _sentences("tr")[f"ending.{match[3]}"].split()  # behind 0 to 9, and behind 10 to 50
    return f"{match[1]}'{endings[ones if ones or not tens else 9 + tens]}"


def names() -> list[str]:
    """Return the keys of the sentences that an owner can reword, in file order."""
    return [key for key in _sentences(FALLBACK) if key not in _PARTS]


def sentences(key: str) -> dict[str, str]:
    return {language: _sentences(language)[key] for language in languages() if key in _sentences(language)}


def placeholders(key: str) -> frozenset[str] | None:
    """Return the names in braces of a sentence, or None if there is no such sentence."""
    if key in _PARTS or key not in _sentences(FALLBACK):
        return None
    return frozenset(name for sentence in sentences(key).values() for name in _BRACES.findall(sentence))


@dataclass(frozen=True, slots=True)
class BotSentences:
    """The sentences of one bot in one language, some replaced by the owner. A call returns a sentence with its values filled in."""

    profile: Profile
    language: str

    def __call__(self, key: str, **values: str) -> str:
        own = self.profile.texts.get(key, {}).get(self.language)
        if own is not None:
            return filled(own, values)
        return say(key, self.language, familiar=self.profile.form_of_address == "familiar", **values)

    def first(self, *keys: str, **values: str) -> str:
        """Return the sentence of the first key that exists, with its values filled in."""
        return self(next(key for key in keys if placeholders(key) is not None), **values)

    def varied(self, key: str, *, again: bool, **values: str) -> str:
        """Return a sentence, or its other wording if `again` is true, i.e. it has been used before."""
        return self.first(f"{key}.again", key, **values) if again else self(key, **values)

    @property
    def days(self) -> tuple[str, ...]:
        return tuple(say("days", self.language).split())

    @property
    def yes_no(self) -> tuple[str, ...]:
        return tuple(say("yes_no", self.language).split())

    def date(self, value: date) -> str:
        """Return a date in words: `25 Kasım 2026 Çarşamba`, `Wednesday 25 November 2026`."""
        month, weekday = say("months", self.language).split()[value.month - 1], self.days[value.weekday()]
        return say("format.date", self.language, day=str(value.day), month=month, year=str(value.year), weekday=weekday)


def of_bot(bot: Bot, language: str) -> BotSentences:
    """Return the sentences of a bot in a language, or in English if there are none in that language."""
    return BotSentences(profiles.load(bot.profile), language if language in languages() else FALLBACK)


def own_greeting(bot: Bot, language: str) -> str:
    """Return the greeting that the owner has written for a language, or else the bot's greeting. Return "" if there is none."""
    own = profiles.load(bot.profile).texts.get(GREETING, {}).get(language)
    if own is not None and language != bot.language.partition("-")[0]:
        return filled(own, {"name": bot.name})
    return (bot.greeting or "").strip()
