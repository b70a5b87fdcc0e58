"""Fields that the owner's forms ask for besides the standard ones."""

from dataclasses import dataclass

from chatsvc.domain.profiles import FormField
from chatsvc.engines.knowledge.fields.base import Field, Place
from chatsvc.engines.knowledge.policy.state import RequestDraft
from chatsvc.engines.knowledge.understand import Understanding

PREFIX = "x."
_NONE = FormField("")
_NO_TEXT = ("ask", "greet", "insult", "why", "refuse", "person", "identity")


@dataclass(frozen=True, slots=True)
class Owned(Field):
    """A field of the owner's form."""

    own: FormField = _NONE

    def ask(self, draft: RequestDraft, place: Place) -> str:
        """Return the owner's question, else the field's name."""
        del draft
        return self.own.ask.get(place.say.language) or next(iter(self.own.ask.values()), self.own.name)

    def hint(self, place: Place) -> str:
        """Return the sentence for an answer that was not understood."""
        return place.say("hint.field")

    def label(self, place: Place) -> str:
        """Return the owner's name of the field."""
        del place
        return self.own.name


@dataclass(frozen=True, slots=True)
class Text(Owned):
    """A free text, kept as typed."""

    @property
    def asks_as(self) -> str:
        """A text."""
        return "text"

    def read(self, said: Understanding) -> str | None:
        """Return the message. A question, a greeting, an insult or a refusal is no answer."""
        nothing = not self.required and said.says_only("deny", "skip", "refuse")
        if said.asked != self.key or said.says_only(*_NO_TEXT) or nothing or not said.text.strip():
            return None
        return said.text.strip()


@dataclass(frozen=True, slots=True)
class OwnDate(Owned):
    """A date, kept as typed."""

    @property
    def asks_as(self) -> str:
        """A date."""
        return "date"

    def read(self, said: Understanding) -> str | None:
        """Return the message where it holds a date."""
        return said.text.strip() if said.asked == self.key and said.values.date else None
