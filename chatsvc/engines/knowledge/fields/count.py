"""Numbers: nights of a stay, and numbers that the owner's forms ask for."""

from dataclasses import dataclass

from chatsvc.engines.knowledge.fields.base import Field, Place
from chatsvc.engines.knowledge.fields.owned import Owned
from chatsvc.engines.knowledge.policy.state import RequestDraft
from chatsvc.engines.knowledge.understand import Understanding
from chatsvc.language import counts

NIGHTS, PEOPLE = "nights", "people"


@dataclass(frozen=True, slots=True)
class NightsField(Field):
    """The number of nights."""

    key: str = NIGHTS

    def read(self, said: Understanding) -> str | None:
        """Return the number of nights, from a range of days too."""
        values = said.values
        if values.nights:
            return str(values.nights.value)
        return str(values.number.value) if values.number and said.asked == self.key else None

    def ask(self, draft: RequestDraft, place: Place) -> str:
        """Return the question."""
        del draft
        return place.say("ask.nights")


@dataclass(frozen=True, slots=True)
class PeopleField(Field):
    """The number of people, which is noted where it is told and never asked for."""

    key: str = PEOPLE

    def read(self, said: Understanding) -> str | None:
        """Return the number; the visitor's own words where it is a sum: "2 adults and 1 child"."""
        if said.values.people is None or said.says("person"):
            return None
        told = self.told(said)
        return told if sum(map(str.isdigit, told)) > len(str(said.values.people.value)) else str(said.values.people.value)

    def told(self, said: Understanding) -> str:
        """Return the visitor's words for the number."""
        found = said.values.people
        return said.text[found.start : found.end] if found else ""


@dataclass(frozen=True, slots=True)
class NumberField(Owned):
    """A number that the owner asks for, kept as the visitor typed it."""

    @property
    def asks_as(self) -> str:
        """A number."""
        return "number"

    def read(self, said: Understanding) -> str | None:
        """Return the visitor's own digits or words for the number. People are counted wherever they are told."""
        if said.asked != self.key:
            found = said.values.people if self.counts_people else None
        else:
            found = said.values.number or said.values.people or said.values.nights
        return said.text[found.start : found.end] if found else None

    @property
    def counts_people(self) -> bool:
        """True if the owner asks how many people come."""
        return any(counts.names_people(text) for text in (self.own.name, *self.own.ask.values()))
