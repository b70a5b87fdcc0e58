"""Sentences of the dialogue as a bot says them. The owner's own words where they are set, else the defaults."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import lru_cache

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

    @property
    def yes_no(self) -> tuple[str, ...]:
        """The choices of a question that is answered by yes or no."""
        return wording.yes_no(self.language)

    def date(self, day: date) -> str:
        """Return a date in words."""
        return wording.day(day, self.language)


@dataclass(frozen=True, slots=True)
class _Recognised:
    """The sentences that begin or end replies of forms, in all wordings of a bot."""

    closing: tuple[str, ...]
    dropping: tuple[str, ...]
    asking: tuple[str, ...]


def is_closing(bot: Bot, text: str) -> bool:
    """Return whether a reply ended a request: it was noted."""
    return text.startswith(_recognised(bot.profile).closing)


def is_dropping(bot: Bot, text: str) -> bool:
    """Return whether a reply dropped a request that the visitor gave up."""
    return text.startswith(_recognised(bot.profile).dropping)


def is_of_form(bot: Bot, text: str) -> bool:
    """Return whether a reply asked for a value of a form, or ended one."""
    return is_closing(bot, text) or text.endswith(_recognised(bot.profile).asking)


@lru_cache(maxsize=512)
def _recognised(stored: str | None) -> _Recognised:
    """Collect the sentences. The default ones count beside the owner's, which may have been set since the reply."""
    profile = profiles.load(stored)
    asks = [field.ask.values() for form in profile.forms.values() for field in form.fields]

    def all_of(*keys: str) -> tuple[str, ...]:
        said = [text for key in keys for text in (*wording.wordings(key), *profile.texts.get(key, {}).values())]
        return tuple(text for text in said if text.strip())

    asking = all_of(*(key for key in wording.names() if key.startswith("ask.")))
    own = tuple(text for texts in asks for text in texts if text.strip())
    return _Recognised(all_of("done", "done.appointment"), all_of("cancelled"), (*asking, *own))


def of(bot: Bot, language: str) -> Say:
    """Return the sentences of a bot in a language. English for languages that it does not speak."""
    return Say(profiles.load(bot.profile), language if language in wording.LANGUAGES else "en")
