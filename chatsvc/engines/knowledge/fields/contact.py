"""Telephone number, e-mail address, and the question for either."""

from dataclasses import dataclass

from chatsvc.engines.knowledge.fields.base import Field, Place
from chatsvc.engines.knowledge.understand import Understanding
from chatsvc.language.contacts import in_local_form


@dataclass(frozen=True, slots=True)
class PhoneField(Field):
    """A telephone number, in E.164."""

    key: str = "phone"

    def read(self, said: Understanding) -> str | None:
        """Return the number."""
        return said.values.phone.value if said.values.phone else None

    def say(self, value: str, place: Place) -> str:
        """Return the number as people of the bot's country write it."""
        return in_local_form(value, place.bot.country)


@dataclass(frozen=True, slots=True)
class EmailField(Field):
    """An e-mail address, in lower case."""

    key: str = "email"

    def read(self, said: Understanding) -> str | None:
        """Return the address."""
        return said.values.email.value if said.values.email else None


@dataclass(frozen=True, slots=True)
class ContactField(Field):
    """The question for a telephone number or an e-mail address; one of them is enough."""

    key: str = "contact"

    @property
    def asks_as(self) -> str:
        """A number, most of the time."""
        return "phone"

    def read(self, said: Understanding) -> str | None:
        """Return nothing: the two fields read for themselves."""
        del said
        return None
