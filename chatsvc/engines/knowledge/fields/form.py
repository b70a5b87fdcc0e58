"""The fields of each kind of request, in the order in which they are asked for."""

from dataclasses import dataclass, field

from chatsvc.domain.profiles import Form, FormField
from chatsvc.engines.knowledge.fields.base import Field
from chatsvc.engines.knowledge.fields.choice import Choice
from chatsvc.engines.knowledge.fields.clock import Clock
from chatsvc.engines.knowledge.fields.contact import ContactField, EmailField, PhoneField
from chatsvc.engines.knowledge.fields.count import NIGHTS, NightsField, NumberField, PeopleField
from chatsvc.engines.knowledge.fields.day import Day, LastDay
from chatsvc.engines.knowledge.fields.matter import Matter
from chatsvc.engines.knowledge.fields.name import NameField
from chatsvc.engines.knowledge.fields.owned import PREFIX, OwnDate, Owned, Text
from chatsvc.engines.knowledge.policy.state import RequestDraft

_OWNED: dict[str, type[Owned]] = {"text": Text, "number": NumberField, "choice": Choice, "date": OwnDate}
_CONTACT = ("contact", "phone", "email")


@dataclass(frozen=True)
class RequestForm:
    """The fields of one kind of request. `in_order` are those that are asked for."""

    in_order: tuple[Field, ...]
    by_key: dict[str, Field] = field(default_factory=dict)

    def missing(self, draft: RequestDraft) -> Field | None:
        """Return the next field to ask for; None where the draft is complete."""
        return next((one for one in self.in_order if not _is_settled(one.key, draft)), None)


def _is_settled(key: str, draft: RequestDraft) -> bool:
    if key == "contact":
        return key in draft.skipped or draft.get("phone") is not None or draft.get("email") is not None
    if key == "message":
        return bool(draft.quotes) or key in draft.skipped
    return draft.get(key) is not None or key in draft.skipped


def form_of(draft: RequestDraft, own: Form) -> RequestForm:
    """Return the form of a draft. `own` is the owner's form of its kind."""
    owned = [_owned(one) for one in own.fields]
    if draft.is_appointment:
        lasts = own.appointment == NIGHTS
        # the matter is asked for only where the wish itself is no longer known
        when: list[Field] = [Day(), *([NightsField()] if lasts else [Clock()] if own.appointment == "time" else []), Matter()]
    else:
        when = [Matter()]
    asked = (*when, *owned, NameField(), ContactField())
    people = () if any(isinstance(one, NumberField) and one.counts_people for one in owned) else (PeopleField(),)
    every = (Day(), Clock(), LastDay(), NightsField(), *people, *asked, PhoneField(), EmailField())
    return RequestForm(asked, {one.key: one for one in every})


def _owned(one: FormField) -> Owned:
    return _OWNED[one.kind](PREFIX + one.name, one.required, one)


def is_of_person(key: str) -> bool:
    """Return whether a field asks for the visitor's name or contact data."""
    return key == "name" or key in _CONTACT
