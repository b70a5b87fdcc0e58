"""Fields of a form: which field is asked for, how an answer is read, and what the record contains."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from typing import NamedTuple

from chatsvc.domain import profiles
from chatsvc.domain.captures import Captured
from chatsvc.domain.models import Bot
from chatsvc.domain.profiles import FormField
from chatsvc.engines import hours
from chatsvc.engines.knowledge.business import LIGHT, TRIGGERS, WordSet, is_urgent
from chatsvc.engines.knowledge.state import RequestDraft
from chatsvc.language import values
from chatsvc.language.catalogue import BotSentences
from chatsvc.language.contacts import in_local_form
from chatsvc.language.folding import fold, words
from chatsvc.language.language_detection import is_word
from chatsvc.language.names import GIVEN_NAMES
from chatsvc.language.values import Values
from chatsvc.language.wordlists import LanguageWords

_OWN = "x."  # before the name of an owner's field
_WHEN, _CONTACT = ("date", "time", "nights"), ("name", "phone", "email")
_LONGEST_NAME, _MOST_SHOWN, _STEM = 3, 600, 4
_NUMBERED = {int(number): WordSet(f"choice {number}") for number in LanguageWords("business.txt").group("choice ")}
_NONE, _FILLER, _PEOPLE, _ALSO = map(WordSet, ("none", "filler", "people", "also"))
WITHOUT, DECLINES, REFUSES, AGREES, BOOKINGS, PARTS_OF_DAY = map(WordSet, ("without", "no", "refusing", "yes", "bookings", "parts"))


class Field(NamedTuple):
    """A field of a form: its key, its kind, and its settings (`own`) if the bot's owner has defined it."""

    key: str
    kind: str
    own: FormField | None = None

    def choices(self) -> tuple[str, ...]:
        listed = self.own.choices if self.own else ()
        return tuple(dict.fromkeys(filter(None, (" ".join(choice.split()) for choice in listed))))


class RequestForm:
    """Form of one bot that a visitor fills in. Its values are in a draft."""

    def __init__(self, draft: RequestDraft, bot: Bot, say: BotSentences, now: datetime, own: profiles.Form | None = None) -> None:
        self.draft, self.bot, self.say, self.now = draft, bot, say, now
        if draft.kind != "appointment":  # a day that was spoken of before
            draft.values = {key: value for key, value in draft.values.items() if key not in _WHEN}
        own = own or profiles.load(bot.profile).form(draft.kind)
        owned = [Field(_OWN + field.name, field.kind, field) for field in own.fields]
        last = {"time": [Field("time", "time")], "nights": [Field("nights", "number")]}.get(own.appointment, [])
        when = [Field("date", "date"), *last] if draft.kind == "appointment" else []
        self.is_stay = own.appointment == "nights"
        self.fields = [*when, Field("message", "text"), *owned, Field("name", "name"), Field("contact", "contact")]

    def missing(self) -> Field | None:
        """Return the next field to ask for, or None if all fields are known or skipped."""
        return next((field for field in self.fields if not self._is_settled(field)), None)

    def field(self, key: str) -> Field | None:
        return next((field for field in self.fields if field.key == key), None)

    def _is_settled(self, field: Field) -> bool:
        draft = self.draft
        if field.key in draft.skipped or field.key in draft.values:
            return True
        if field.key == "contact":
            return "phone" in draft.values or "email" in draft.values
        return field.key == "message" and bool(draft.quotes) and not draft.asks_when

    def question(self, field: Field, *, short: bool = False) -> str:
        """Return the question that asks for a field. `short` selects a shorter wording if there is one."""
        if field.own:
            asked = field.own.ask.get(self.say.language) or next(iter(field.own.ask.values()), f"{field.own.name}?")
            return f"{asked} ({' / '.join(choices)})" if (choices := field.choices()) else asked
        if field.key == "message" and self.draft.asks_when:
            return self.say("change.other")
        stay = ".stay" if self.is_stay and field.key == "date" else ""
        keys = [f"short.{field.key}"] if short and not stay else []
        return self.say.first(*keys, f"ask.{field.key}{stay}", f"ask.{field.key}.{self.draft.kind}", f"ask.{field.key}")

    def read(self, text: str, asked: Field | None) -> Values:
        """Return the values in a message, such as a day or a name. The name of today's weekday means today until the business closes."""
        kind = asked.kind if asked else ""
        read = values.read(text, now=self.now, language=self.say.language, country=self.bot.country, asked=kind)
        today = self.now.date()
        if read.date is None or read.date.value != today + timedelta(days=7):
            return read
        yesterday = datetime.combine(today - timedelta(days=1), time())
        earlier = values.read(text, now=yesterday, language=read.language, country=self.bot.country, asked="date").date
        spans = hours.weekly_spans(self.bot, today)
        until = hours.minute_of(read.time.value) if read.time else spans[-1][1] if spans else 24 * 60
        is_today = earlier and earlier.value == today and until > hours.minute_of(self.now)
        return replace(read, date=earlier) if is_today else read

    def take(self, text: str, asked: Field | None, read: Values) -> tuple[set[str], list[str]]:
        """Store the values of a message in the draft. Return the keys of the fields that it gives, and remarks to the visitor."""
        draft, given, remarks = self.draft, set[str](), list[str]()
        contact = contact_of(text, read)
        draft.values |= contact
        given.update(contact)
        asked_key = asked.key if asked else ""
        if "phone" not in given and read.phone_as_written and asked_key == "contact":
            given.add("phone.wrong")
        is_other_day = read.date and "date" in draft.values and _ALSO.has_any(words(text[read.date.end :])[:3])
        if draft.kind == "appointment" and not is_other_day:  # "Tuesday works too" leaves the day as it is
            self._take_when(read, given, remarks, asked_key)
        for field in self.fields:
            if field.own and (value := _own_value(field, text, read, is_asked=field == asked)):
                draft.values[field.key] = value
                given.add(field.key)
        if asked_key == "nights" and read.number:
            draft.values["nights"] = str(read.number.value)
            given.add("nights")
        if read.flexible and asked_key in ("date", "time") and asked_key not in given:
            left = [key for key in ("date", "time") if key not in draft.values]
            draft.skipped += left
            given.add(asked_key)
            remarks.append(self.say("without.when" if len(left) > 1 else f"without.{left[0]}"))
        return given, remarks

    def _take_when(self, read: Values, given: set[str], remarks: list[str], asked: str) -> None:
        draft, listed = self.draft, hours.in_words(self.bot, self.say.days)
        if asked == "date" and (read.gone or read.never):
            remarks.append(self.say("past.date" if read.gone else "never.date"))
        if read.date:
            refusal = "clashes" if read.clashes else hours.refused_day(self.bot, read.date.value, self.now)
            shown = self.say.date(read.date.value)
            self._put("date", read.date.value.isoformat(), refusal, f"{refusal}.date", given, remarks, hours=listed, date=shown)
        if read.time and not self.is_stay:
            clock = read.time.value
            day = date.fromisoformat(draft.values["date"]) if "date" in draft.values else None
            refusal = hours.refused_time(self.bot, clock, day, self.now)
            later = clock.replace(hour=clock.hour + 12) if refusal == "closed" and clock.hour < 12 and read.bare_hour else None
            if later and hours.refused_time(self.bot, later, day, self.now) is None:  # "8" of a restaurant that opens at noon
                clock, refusal = later, None
            self._put("time", f"{clock:%H:%M}", refusal, f"{refusal}.time", given, remarks, hours=listed)

    def _put(self, key: str, value: str, refusal: str | None, sentence: str, given: set[str], remarks: list[str], **values: str) -> None:
        """Store a day or a time unless it is refused. If the business is closed then, it is accepted when the visitor repeats it."""
        is_closed = refusal in ("closed", "over")
        if refusal is None or (refusal in ("closed", "over", "clashes") and self.draft.refused.get(key) == value):
            remarks += [self.say("insists")] if is_closed else []
            self.draft.values[key] = value
            given.add(key)
            return
        self.draft.refused[key] = value
        self.draft.values.pop(key, None)
        remarks.append(self.say("closed.day" if is_closed and not values["hours"] else sentence, time=value, **values))

    def summary(self) -> str:
        values, say, lines = self.draft.values, self.say, list[str]()
        for key in (*_WHEN, *(field.key for field in self.fields if field.own), *_CONTACT):
            if value := values.get(key):
                shown = say.date(date.fromisoformat(value)) if key == "date" else value
                shown = in_local_form(value, self.bot.country) if key == "phone" else shown
                lines.append(f"- {key.removeprefix(_OWN) if key.startswith(_OWN) else say(f'field.{key}')}: {shown}")
        if message := " / ".join(self.draft.quotes):
            short = message if len(message) <= _MOST_SHOWN else f"{message[:_MOST_SHOWN]}…"
            lines.append(f"- {say('field.message')}: {short}")
        return "\n".join(lines)

    def record(self) -> Captured:
        given = self.draft.values
        day = date.fromisoformat(given["date"]) if "date" in given else None
        nights = given.get("nights", "")[:5]
        owned = [field for field in self.fields if field.own and field.key in given]
        details = [(field.key.removeprefix(_OWN), given[field.key]) for field in owned]
        return Captured(
            self.draft.kind,
            "\n".join(self.draft.quotes),
            *(given.get("name"), given.get("email"), given.get("phone")),
            verbatim=True,
            date=day,
            time=time.fromisoformat(given["time"]) if "time" in given else None,
            details=(*details, *([(self.say("field.nights"), given["nights"])] if "nights" in given else [])),
            urgent=any(map(is_urgent, self.draft.quotes)),
            end_date=day + timedelta(int(nights)) if day and nights.isdecimal() else None,
            offered=tuple(given[field.key] for field in owned if field.kind == "choice"),
        )


def _own_value(field: Field, text: str, read: Values, *, is_asked: bool) -> str | None:
    if field.kind == "choice":
        return chosen(field.choices(), text) if is_asked else whole(field.choices(), text)
    if field.kind == "number" and (counted := _counted(field, text)):
        return counted
    if not is_asked:
        return None
    if field.kind == "number":
        return str(read.number.value) if read.number else text.strip() if any(map(str.isdigit, read.rest)) else None
    if field.kind == "date":
        return text[read.date.start : read.date.end] if read.date else None
    return text.strip()


def _counted(field: Field, text: str) -> str | None:
    """Return the number before a noun that is in the field's name or question. Return None if there are several or none."""
    asked = [word for line in (field.own.name, *field.own.ask.values()) for word in words(line)] if field.own else []
    nouns = [word for word in asked if word not in LIGHT and word not in _FILLER]
    of_people = _PEOPLE.has_any(nouns)
    numbers = {
        number
        for number, noun in pairwise(words(text))
        if number.isdecimal() and ((of_people and noun in _PEOPLE) or any(_alike(noun, word) for word in nouns))
    }
    return numbers.pop() if len(numbers) == 1 else None


def contact_of(text: str, read: Values) -> dict[str, str]:
    name, given = read.name and read.name.value, read.phone or read.email
    if name is None and given:  # typed without capitals before a telephone number or an address: "sevgi aydin 0505 ..."
        parts = text[: given.start].replace(",", " ").split()
        name = None if any(fold(part) in kind for part in parts for kind in (LIGHT, *TRIGGERS.values())) else _name(parts)
    contact = {"name": name, "phone": read.phone and read.phone.value, "email": read.email and read.email.value}
    return {key: value for key, value in contact.items() if value}


def refuses_contact(text: str) -> bool:
    """Return whether a visitor says that they will not give a telephone number or an e-mail address."""
    given = words(text)
    return WITHOUT.has_any(given) and (TRIGGERS["phone"].has_any(given) or TRIGGERS["email"].has_any(given))


def name_before_comma(text: str) -> str | None:
    """Return a capitalised name before the first comma: "Elif Yıldız" of "Elif Yıldız, my cat is called Pamuk"."""
    parts = text.partition(",")[0].split() if "," in text else []
    return _name(parts) if all(map(str.istitle, parts)) else None


def _name(parts: Sequence[str]) -> str | None:
    if not 1 < len(parts) <= _LONGEST_NAME or not all(map(str.isalpha, parts)):
        return None
    return " ".join(parts) if fold(parts[0]) in GIVEN_NAMES or not any(map(is_word, map(fold, parts))) else None


def whole(choices: Sequence[str], text: str) -> str | None:
    """Return the one choice that a text contains in full, or None if there are several or none. Its last word may have a suffix."""
    line, names = f" {' '.join(words(text))} ", [(choice, words(choice)) for choice in choices]
    named = [choice for choice, name in names if name and f" {' '.join(name)}{'' if len(name[-1]) >= _STEM else ' '}" in line]
    return named[0] if len(named) == 1 else None


def chosen(choices: Sequence[str], text: str) -> str | None:
    """Return the choice that a text names in full, by a distinctive word, or by its number. Return None otherwise."""
    given = words(text)
    if (named := whole(choices, text)) is not None:
        return named
    for number, forms in _NUMBERED.items():
        if number <= len(choices) and forms.has_any(given) and all(word in forms or word in _FILLER for word in given):
            return choices[number - 1]
    content = [word for word in given if word not in _FILLER and word not in LIGHT]
    shared = [sum(any(_alike(word, other) for other in words(choice)) for word in content) for choice in choices]
    best = max(shared, default=0)
    return choices[shared.index(best)] if best and best * 2 >= len(content) and shared.count(best) == 1 else None


def _alike(word: str, other: str) -> bool:
    return word == other or (min(len(word), len(other)) >= _STEM and (word.startswith(other) or other.startswith(word)))


def is_none(text: str) -> bool:
    given = words(text)
    return _NONE.has_any(given) and all(word in _NONE or word in _FILLER or word in LIGHT for word in given)
