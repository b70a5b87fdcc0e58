"""Name of the visitor."""

from dataclasses import dataclass

from chatsvc.engines.knowledge.fields.base import Field
from chatsvc.engines.knowledge.understand import Understanding
from chatsvc.language.folding import folded
from chatsvc.language.name_words import GIVEN_NAMES

_NO_NAMES = (
    "ask",
    "greet",
    "thank",
    "part",
    "complain",
    "insult",
    "refuse",
    "skip",
    "stop",
    "person",
    "why",
    "cancel",
    "identity",
    "praise",
)
_DOUBT = 0.3  # probability of an act that holds no name, up to which a name counts
_LONGEST = 3  # characters between a name and the end of its clause, or a number beside it


@dataclass(frozen=True, slots=True)
class NameField(Field):
    """The visitor's name. A bare one counts where it was asked for."""

    key: str = "name"

    def read(self, said: Understanding) -> str | None:
        """Return the name; a greeting, a thank you or a threat is none."""
        found, email = said.values.name, said.values.email
        if found is None or (email is not None and email.start <= found.start < email.end):
            return None
        clause = next((one for one in said.clauses if one.start <= found.start < one.end), None)
        reached = (one for one in (said.values.phone, email) if one is not None)
        beside = any(0 <= one.start - found.end <= _LONGEST or 0 <= found.start - one.end <= _LONGEST for one in reached)
        if found.explicit or beside or clause is None:
            return found.value
        # "Ali Kaya" and "evet, Ali", but not "hepsi doğru"
        behind_yes = found.start > clause.start and clause.end - found.end <= _LONGEST
        several = " " in found.value or behind_yes
        if (" " in found.value or (said.asked == self.key and folded(found.value) in GIVEN_NAMES)) and clause.text.strip(
            " .!,"
        ) == found.value:
            return found.value
        gives = clause.may_be("give", "correct", *(("affirm",) if several else ()))
        doubt = clause.may_be(*_NO_NAMES, *(() if several else ("affirm", "deny")))
        return found.value if doubt < max(gives, _DOUBT) else None
