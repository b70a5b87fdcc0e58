"""Sentences of the dialogue as a bot says them. The owner's own words where they are set, else the defaults."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from chatsvc.domain import profiles
from chatsvc.domain.models import Bot
from chatsvc.domain.profiles import Profile
from chatsvc.engines.knowledge.dialogue import wording


@dataclass(frozen=True, slots=True)
class Say:
    """The sentences of one bot in one language. A call returns one with its values filled in."""

    profile: Profile
    language: str

    def __call__(self, key: str, **values: str) -> str:
        own = self.profile.texts.get(key, {}).get(self.language)
        if own is not None:
            return wording.filled(own, values)
        return wording.say(key, self.language, familiar=self.profile.address == "familiar", **values)

    @property
    def days(self) -> tuple[str, ...]:
        """The names of the days, Monday first."""
        return wording.days(self.language)

    def date(self, day: date) -> str:
        """Return a date in words."""
        return wording.day(day, self.language)


def of(bot: Bot, language: str) -> Say:
    """Return the sentences of a bot in a language. English for languages that it does not speak."""
    return Say(profiles.load(bot.profile), language if language in wording.LANGUAGES else "en")
