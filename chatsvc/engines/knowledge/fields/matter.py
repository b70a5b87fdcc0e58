"""Matter of a request, in the visitor's own words."""

from dataclasses import dataclass

from chatsvc.engines.knowledge.fields.base import Field
from chatsvc.engines.knowledge.understand import Understanding

_NO_MATTER = ("greet", "thank", "part", "insult", "why", "refuse", "skip", "identity", "person", "affirm", "deny")


@dataclass(frozen=True, slots=True)
class Matter(Field):
    """The matter. It is kept as quotes of the visitor's messages, not as a value."""

    key: str = "message"

    @property
    def asks_as(self) -> str:
        """A text."""
        return "text"

    def read(self, said: Understanding) -> str | None:
        """Return the message where the matter was asked for and something is said of it."""
        values = said.values
        tells = said.content or values.date or values.nights or values.people or values.number
        if said.asked != self.key or said.says_only(*_NO_MATTER) or not tells:
            return None
        return said.text.strip()
