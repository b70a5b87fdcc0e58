"""Base class of the fields of a form: read its value in a message, ask for it, say it."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from chatsvc.domain.models import Bot
from chatsvc.engines.knowledge.hours import Week
from chatsvc.engines.knowledge.policy.state import RequestDraft
from chatsvc.engines.knowledge.say import Say
from chatsvc.engines.knowledge.understand import Understanding
from chatsvc.language import catalogue


class Place(NamedTuple):
    """Surroundings of a value: the bot, its week, its local time, and its sentences."""

    bot: Bot
    week: Week
    now: datetime
    say: Say


@dataclass(frozen=True, slots=True)
class Field:
    """A field. `key` names it in the draft; `asks_as` is what the bot asks for, as the model of acts knows it."""

    key: str
    required: bool = True

    @property
    def asks_as(self) -> str:
        """The kind of answer that is expected, one of `sentences.ASKED`."""
        return self.key

    def read(self, said: Understanding) -> str | None:
        """Return the value that a message holds, as it is stored; None for none."""
        raise NotImplementedError

    def refused(self, draft: RequestDraft, place: Place) -> str:
        """Return the sentence that says why the draft's value cannot be; "" for one that can."""
        del draft, place
        return ""

    def ask(self, draft: RequestDraft, place: Place) -> str:
        """Return the question."""
        return place.say.first(f"ask.{self.key}.{draft.purpose or draft.kind}", f"ask.{self.key}.{draft.kind}", f"ask.{self.key}")

    def ask_again(self, draft: RequestDraft, place: Place) -> str:
        """Return the question in short, after something else was said. An owner's own wording is kept."""
        question, short = self.ask(draft, place), f"short.{self.key}"
        own = any(name.startswith(f"ask.{self.key}") for name in place.say.profile.texts)
        return question if own or catalogue.placeholders(short) is None else place.say(short)

    def hint(self, place: Place) -> str:
        """Return the sentence for an answer that was not understood, with an example."""
        return place.say.first(f"hint.{self.key}", "hint.field")

    def label(self, place: Place) -> str:
        """Return the name of the field in the summary."""
        return place.say(f"field.{self.key}")

    def say(self, value: str, place: Place) -> str:
        """Return a value in words."""
        del place
        return value

    def choices(self) -> tuple[str, ...]:
        """Return what the visitor may choose from; () where the answer is free."""
        return ()
