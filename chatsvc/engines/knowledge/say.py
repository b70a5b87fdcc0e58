"""Sentences as one bot says them: the owner's own words where they are set, else the catalogue's."""

from dataclasses import dataclass
from datetime import date

from chatsvc.domain import profiles
from chatsvc.domain.models import Bot
from chatsvc.domain.profiles import Profile
from chatsvc.language import catalogue


@dataclass(frozen=True, slots=True)
class Say:
    """The sentences of one bot in one language. A call returns one with its values filled in."""

    profile: Profile
    language: str

    def __call__(self, key: str, **values: str) -> str:
        own = self.profile.texts.get(key, {}).get(self.language)
        if own is not None:
            return catalogue.filled(own, values)
        return catalogue.say(key, self.language, familiar=self.profile.form_of_address == "familiar", **values)

    def first(self, *keys: str, **values: str) -> str:
        """Return the first of the sentences that exists."""
        return self(next(key for key in keys if catalogue.placeholders(key) is not None), **values)

    def varied(self, key: str, times: int, **values: str) -> str:
        """Return a sentence, or its other wording where it has been said before."""
        again = f"{key}.again"
        return self(again if times and catalogue.placeholders(again) is not None else key, **values)

    @property
    def days(self) -> tuple[str, ...]:
        """The names of the days, Monday first."""
        return catalogue.days(self.language)

    @property
    def yes_no(self) -> tuple[str, ...]:
        """The choices of a question that is answered by yes or no."""
        return catalogue.yes_no(self.language)

    def date(self, day: date) -> str:
        """Return a date in words."""
        return catalogue.day(day, self.language)


def of(bot: Bot, language: str) -> Say:
    """Return the sentences of a bot in a language. English for languages that it does not speak."""
    return Say(profiles.load(bot.profile), language if language in catalogue.languages() else catalogue.FALLBACK)


GREETING = "smalltalk.greeting"


def own_greeting(bot: Bot, language: str) -> str:
    """Return the owner's greeting: the sentence of a language that is not the bot's, else the bot's greeting; "" without one."""
    own = profiles.load(bot.profile).texts.get(GREETING, {}).get(language)
    if own is not None and language != bot.language.partition("-")[0]:
        return catalogue.filled(own, {"name": bot.name})
    return (bot.greeting or "").strip()
