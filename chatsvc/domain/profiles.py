"""A bot's profile, written by its owner: texts, closed days, forms, suggested questions, tests; and its JSON in the store."""

import json
import re
from collections.abc import Mapping
from datetime import date, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from chatsvc import translations
from chatsvc.domain import opening_hours
from chatsvc.domain.bot_tests import BotTest
from chatsvc.domain.models import Bot

KINDS = ("text", "number", "choice", "date")
APPOINTMENTS = ("time", "date", "nights")
FORMS_OF_ADDRESS = ("formal", "familiar")
LANGUAGES = ("tr", "en")
MOST_SUGGESTIONS = 4
_CLOSED_DAYS = re.compile(r"([\d-]+)(?: *\.\. *([\d-]+))?(?: +(\S.*))?")


class ClosedDays(NamedTuple):
    """First and last day on which the business is closed. `note` is the name of the holiday, or ""."""

    first: date
    last: date
    note: str = ""

    def __str__(self) -> str:
        """Return the text that a bot's file has for these closed days."""
        days = f"{self.first}" if self.first == self.last else f"{self.first}..{self.last}"
        return f"{days} {self.note}".rstrip()


class FormField(NamedTuple):
    """One field that a form asks for besides the standard ones. `ask` is the question by language."""

    name: str
    kind: str = "text"
    ask: Mapping[str, str] = {}
    choices: tuple[str, ...] = ()
    required: bool = True


class Form(NamedTuple):
    """The form of one kind of request. `appointment` says if an appointment has a time, only a date, or a number of nights."""

    appointment: str = "time"
    fields: tuple[FormField, ...] = ()


class Profile(NamedTuple):
    """Profile of a bot. `texts` has sentences by key and language, `forms` has a form for each kind of request.

    `suggestions` are questions that visitors are offered before their first message. `tests` check replies of the bot.
    """

    closed: tuple[ClosedDays, ...] = ()
    form_of_address: str = "formal"
    texts: Mapping[str, Mapping[str, str]] = {}
    forms: Mapping[str, Form] = {}
    suggestions: tuple[str, ...] = ()
    tests: tuple[BotTest, ...] = ()

    def is_closed(self, day: date) -> bool:
        return any(days.first <= day <= days.last for days in self.closed)

    def form(self, request_type: str) -> Form:
        return self.forms.get(request_type, Form())

    def dump(self) -> str | None:
        """Serialise the profile for the store, or return None for an empty profile."""
        if self == Profile():
            return None
        forms = {
            kind: {
                "appointment": form.appointment,
                "fields": [{**field._asdict(), "choices": list(field.choices)} for field in form.fields],
            }
            for kind, form in self.forms.items()
        }
        values = {name: value for name, value in {**values_of(self), "forms": forms}.items() if value}
        return json.dumps(values, ensure_ascii=False, sort_keys=True)


def values_of_form(kind: str, form: Form) -> dict[str, object]:
    """Return a form as the values that a bot's file has for it. `kind` is the kind of request."""
    fields: list[dict[str, object]] = []
    for field in form.fields:
        values: dict[str, object] = {"name": field.name, "kind": field.kind, "ask": dict(field.ask), "required": field.required}
        fields.append({**values, "choices": list(field.choices)} if field.choices else values)
    return {"is": form.appointment, "fields": fields} if kind == "appointment" else {"fields": fields}


def values_of(profile: Profile) -> dict[str, object]:
    """Return the values that a bot's file has for a profile, by the name of the field."""
    forms = {kind: values_of_form(kind, form) for kind, form in profile.forms.items()}
    return {
        "closed": list(map(str, profile.closed)),
        "form_of_address": profile.form_of_address,
        "texts": dict(profile.texts),
        "forms": forms,
        "suggestions": list(profile.suggestions),
        "tests": list(map(BotTest.values, profile.tests)),
    }


@lru_cache(maxsize=512)
def load(stored: str | None) -> Profile:
    """Deserialise a profile; raises ValueError for anything that `dump` cannot have written."""
    if not stored:
        return Profile()
    try:
        values = json.loads(stored)
        forms = {
            kind: Form(form["appointment"], tuple(FormField(**{**field, "choices": tuple(field["choices"])}) for field in form["fields"]))
            for kind, form in values.get("forms", {}).items()
        }
        closed = tuple(days(text) for text in values.get("closed", []))
        tests = tuple(_test(test) for test in values.get("tests", ()))
        suggestions = tuple(values.get("suggestions", ()))
        # "address" is the name of versions before 0.1.0.
        form_of_address = values.get("form_of_address") or values.get("address", "formal")
        return Profile(closed, form_of_address, values.get("texts", {}), forms, suggestions, tests)
    except (KeyError, TypeError, AttributeError, RecursionError) as fault:
        raise ValueError("this is no profile of a bot") from fault


def is_open(bot: Bot, now: datetime) -> bool:
    """Return whether the business is open. Without opening hours, it is open except on closed days. `now` is the bot's local time."""
    if load(bot.profile).is_closed(now.date()):
        return False
    if not bot.opening_hours:
        return True
    try:
        week = opening_hours.parse(bot.opening_hours)
    except ValueError:
        return True
    minute = now.hour * 60 + now.minute
    return any(opens <= minute < closes for opens, closes in week.get(opening_hours.DAYS[now.weekday()], []))


def _test(values: Mapping[str, Any]) -> BotTest:
    texts = {name: (given,) if isinstance(given := values[name], str) else tuple(given) for name in ("contains", "lacks") if name in values}
    return BotTest(**{**values, **texts})


def days(text: str) -> ClosedDays:
    """Parse closed days: `2026-12-31` or `2027-01-01..2027-01-15 Winter break`; raises ValueError."""
    match = _CLOSED_DAYS.fullmatch(text.strip())
    if match is None:
        raise ValueError("these are no days")
    first, last, note = match.groups("")
    closed = ClosedDays(date.fromisoformat(first), date.fromisoformat(last or first), note)
    if closed.last < closed.first:
        raise ValueError("the last day is before the first")
    return closed


def fault_sentence(code: str, facts: Mapping[str, Any], language: str = "en") -> str:
    """Return the sentence of a fault in a bot's file in "en" or "tr"."""
    values = translations.named("bot_file_words", facts, language)
    if code == "setting_invalid":
        refusal, its_facts = facts["refusal"], facts["facts"]
        if refusal == "opening_hours_invalid":
            reason = opening_hours.sentence(its_facts["fault"], its_facts["facts"], language)
        else:
            reason = ", ".join(f"{key}: {value}" for key, value in its_facts.items())
        values = {"setting": facts["setting"], "reason": reason}
    return translations.worded("bot_file_faults", code, values, language)
