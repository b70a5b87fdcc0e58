"""Fields of a form: what is asked for, how an answer is read, and what stands in the record."""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

from chatsvc.domain import profiles
from chatsvc.domain.captures import Captured
from chatsvc.domain.models import Bot
from chatsvc.domain.profiles import FormField
from chatsvc.engines.knowledge import business, hours
from chatsvc.engines.knowledge.business import WordSet
from chatsvc.engines.knowledge.say import Say
from chatsvc.engines.knowledge.state import RequestDraft
from chatsvc.language import values
from chatsvc.language.contacts import in_local_form
from chatsvc.language.folding import fold, words
from chatsvc.language.language_detection import is_word
from chatsvc.language.names import GIVEN_NAMES
from chatsvc.language.values import Values
from chatsvc.language.wordlists import LanguageWords

_OWN = "x."  # before the name of an owner's field
_ASKED_AS = {"contact": "contact", "nights": "nights", "text": "text", "choice": "choice", "number": "number"}
_SHOWN = ("date", "time", "nights", "name", "phone", "email")
_REFUSALS = {
    ("past", "date"): "past.date",
    ("far", "date"): "far.date",
    ("closed", "date"): "closed.date",
    ("over", "date"): "over.date",
    ("past", "time"): "past.time",
    ("closed", "time"): "closed.time",
}
_LONGEST_NAME, _MOST_SHOWN, _STEM = 3, 600, 4
_FILE = LanguageWords("business.txt")
_PLACES = {int(place): WordSet(items) for place, items in _FILE.group("choice ").items()}
_NONE, _FILLER = WordSet(_FILE.items("none")), WordSet(_FILE.items("filler"))
WITHOUT, DECLINES, AGREES = WordSet(_FILE.items("without")), WordSet(_FILE.items("no")), WordSet(_FILE.items("yes"))
PARTS = WordSet(_FILE.items("parts"))


class Field(NamedTuple):
    """A field: its key, its kind, and the owner's own settings of it."""

    key: str
    kind: str
    own: FormField | None = None

    def choices(self) -> tuple[str, ...]:
        """Return the owner's choices, each once and on one line."""
        listed = self.own.choices if self.own else ()
        return tuple(choice for choice in dict.fromkeys(" ".join(choice.split()) for choice in listed) if choice)


class RequestForm:
    """The form of a draft for one bot."""

    def __init__(self, draft: RequestDraft, bot: Bot, say: Say, now: datetime, own: profiles.Form | None = None) -> None:
        self.draft, self.bot, self.say, self.now = draft, bot, say, now
        own = own or profiles.load(bot.profile).form(draft.kind)
        owned = [Field(_OWN + field.name, field.kind, field) for field in own.fields]
        last = {"time": [Field("time", "time")], "nights": [Field("nights", "number")]}.get(own.appointment, [])
        when = [Field("date", "date"), *last] if draft.kind == "appointment" else []
        self.lasts = own.appointment == "nights"
        self.fields = [*when, Field("message", "text"), *owned, Field("name", "name"), Field("contact", "contact")]

    def missing(self) -> Field | None:
        """Return the next field to ask for; None if all are known or skipped."""
        return next((field for field in self.fields if not self._is_settled(field)), None)

    def field(self, key: str) -> Field | None:
        """Return a field by its key."""
        return next((field for field in self.fields if field.key == key), None)

    def _is_settled(self, field: Field) -> bool:
        draft = self.draft
        if field.key in draft.skipped or field.key in draft.values:
            return True
        if field.key == "contact":
            return "phone" in draft.values or "email" in draft.values
        return field.key == "message" and bool(draft.quotes) and not draft.asks_when

    def question(self, field: Field, *, short: bool = False) -> str:
        """Return the question for a field, in short where the form goes on."""
        if field.own:
            asked = field.own.ask.get(self.say.language) or next(iter(field.own.ask.values()), f"{field.own.name}?")
            return f"{asked} ({' / '.join(choices)})" if (choices := field.choices()) else asked
        if field.key == "message" and self.draft.asks_when:
            return self.say("change.other")
        stay = ".stay" if self.lasts and field.key == "date" else ""
        keys = [f"short.{field.key}"] if short and not stay else []
        return self.say.first(*keys, f"ask.{field.key}{stay}", f"ask.{field.key}.{self.draft.kind}", f"ask.{field.key}")

    def read(self, text: str, asked: Field | None) -> Values:
        """Return the values of a message."""
        kind = asked.kind if asked else ""
        read = values.read(text, now=self.now, language=self.say.language, country=self.bot.country, asked=_ASKED_AS.get(kind, kind) or "")
        return self._as_of_today(text, read)

    def _as_of_today(self, text: str, read: Values) -> Values:
        """Return values in which a bare weekday of today's name is today while its hours lie ahead."""
        today = self.now.date()
        if read.date is None or read.date.value != today + timedelta(days=7):
            return read
        earlier = values.from_day(text, read, today - timedelta(days=1), country=self.bot.country)
        if earlier.date is None or earlier.date.value != today:
            return read
        spans = hours.spans_of(hours.week_of(self.bot.opening_hours), today)
        minute = self.now.hour * 60 + self.now.minute
        named = read.time.value.hour * 60 + read.time.value.minute if read.time else None
        ahead = named > minute if named is not None else not spans or spans[-1][1] > minute
        return earlier if ahead else read

    def take(self, text: str, asked: Field | None, read: Values) -> tuple[set[str], list[str]]:
        """Put the values of a message into the draft; return the keys given and what to say of them."""
        draft, given, remarks = self.draft, set(), list[str]()
        name = read.name.value if read.name else leading_name(text, read)
        contact = {"name": name, "phone": read.phone and read.phone.value, "email": read.email and read.email.value}
        for key, value in contact.items():
            if value:
                draft.values[key] = value
                given.add(key)
        if "phone" not in given and read.phone_as_written and asked and asked.key == "contact":
            given.add("phone.wrong")
        if draft.kind == "appointment":
            self._take_when(read, given, remarks, asked)
        for field in self.fields:
            if field.own and (value := self._own_value(field, text, read, field == asked)):
                draft.values[field.key] = value
                given.add(field.key)
        if asked and asked.key == "nights" and read.number and "nights" not in given:
            draft.values["nights"] = str(read.number.value)
            given.add("nights")
        if read.flexible and asked and asked.key in ("date", "time") and asked.key not in given:
            draft.skipped += [key for key in ("date", "time") if key not in draft.values]
            given.add(asked.key)
            remarks.append(self.say("without.when" if "date" in draft.skipped else "without.time"))
        return given, remarks

    def _take_when(self, read: Values, given: set[str], remarks: list[str], asked: Field | None) -> None:
        draft, week = self.draft, hours.week_of(self.bot.opening_hours)
        listed = hours.in_words(week, self.say.days)
        if asked and asked.key == "date" and read.gone:
            remarks.append(self.say("past.date"))
        elif asked and asked.key == "date" and read.never:
            remarks.append(self.say("never.date"))
        if read.date:
            day = read.date.value
            closed = profiles.load(self.bot.profile).is_closed(day)
            refused = hours.refused_day(day, self.now, week, closed=closed)
            if self._accepts("date", day.isoformat(), refused, remarks, hours=listed):
                draft.values["date"] = day.isoformat()
                given.add("date")
        if read.time and not self.lasts:
            clock, day_named = read.time.value, draft.values.get("date")
            of_day = date.fromisoformat(day_named) if day_named else None
            refused = hours.refused_time(clock, of_day, self.now, week)
            later = clock.replace(hour=clock.hour + 12) if refused == "closed" and clock.hour < 12 and read.bare_hour else None
            if later and hours.refused_time(later, of_day, self.now, week) is None:  # "8" of a restaurant that opens at noon
                clock, refused = later, None
            if self._accepts("time", f"{clock:%H:%M}", refused, remarks, time=f"{clock:%H:%M}", hours=listed):
                draft.values["time"] = f"{clock:%H:%M}"
                given.add("time")

    def _accepts(self, key: str, value: str, refused: str | None, remarks: list[str], **said: str) -> bool:
        """Return whether a day or hour is taken. One at which the business is closed is taken if it is named again."""
        if refused is None:
            return True
        if refused in ("closed", "over") and self.draft.refused.get(key) == value:
            remarks.append(self.say("insists"))
            return True
        self.draft.refused[key] = value
        self.draft.values.pop(key, None)
        hourless = refused in ("closed", "over") and not said.get("hours")
        remarks.append(self.say("closed.day" if hourless else _REFUSALS[refused, key], **said))
        return False

    def _own_value(self, field: Field, text: str, read: Values, is_asked: bool) -> str | None:
        if field.kind == "choice":
            choices = field.choices()
            return chosen(choices, text) if is_asked else whole(choices, text)
        if not is_asked:
            return None
        if field.kind == "number":
            return str(read.number.value) if read.number else text.strip() if any(map(str.isdigit, text)) else None
        if field.kind == "date":
            return text[read.date.start : read.date.end] if read.date else None
        return text.strip()

    def summary(self) -> str:
        """Return what the draft holds, as the team will read it."""
        draft, say = self.draft, self.say
        shown = {key: draft.values[key] for key in _SHOWN if key in draft.values}
        if "date" in shown:
            shown["date"] = say.date(date.fromisoformat(shown["date"]))
        if "phone" in shown:
            shown["phone"] = in_local_form(shown["phone"], self.bot.country)
        lines = [f"- {say(f'field.{key}')}: {value}" for key, value in shown.items()]
        lines[len([key for key in shown if key in ("date", "time", "nights")]) : 0] = [
            f"- {field.own.name}: {draft.values[field.key]}" for field in self.fields if field.own and field.key in draft.values
        ]
        if message := " / ".join(draft.quotes):
            short = message if len(message) <= _MOST_SHOWN else f"{message[:_MOST_SHOWN]}…"
            lines.append(f"- {say('field.message')}: {short}")
        return "\n".join(lines)

    def record(self) -> Captured:
        """Return the record that the draft proposes."""
        given = self.draft.values
        nights = given.get("nights", "")[:5]
        owned = [field for field in self.fields if field.own and field.key in given]
        return Captured(
            request_type=self.draft.kind,
            message="\n".join(self.draft.quotes),
            visitor_name=given.get("name"),
            visitor_email=given.get("email"),
            visitor_phone=given.get("phone"),
            date=date.fromisoformat(given["date"]) if "date" in given else None,
            time=time.fromisoformat(given["time"]) if "time" in given else None,
            details=(
                *((field.own.name, given[field.key]) for field in owned if field.own),
                *((self.say("field.nights"), given[key]) for key in ("nights",) if key in given),
            ),
            urgent=any(map(business.is_urgent, self.draft.quotes)),
            end_date=date.fromisoformat(given["date"]) + timedelta(int(nights)) if "date" in given and nights.isdecimal() else None,
            offered=tuple(given[field.key] for field in owned if field.kind == "choice"),
        )


def refuses_contact(text: str) -> bool:
    """Return whether a message says that no telephone number or address will be given."""
    given = words(text)
    called = any(word in business.TRIGGERS["phone"] or word in business.TRIGGERS["email"] for word in given)
    return called and any(word in WITHOUT for word in given)


def leading_name(text: str, read: Values) -> str | None:
    """Return a name typed without capitals before a telephone number or an address: "sevgi aydin 0505 ..."."""
    contact = read.phone or read.email
    if contact is None:
        return None
    parts = text[: contact.start].replace(",", " ").split()
    if not 1 < len(parts) <= _LONGEST_NAME or not all(part.isalpha() for part in parts):
        return None
    folded = [fold(part) for part in parts]
    if any(word in kind for word in folded for kind in (business.LIGHT, *business.TRIGGERS.values())):
        return None
    return " ".join(parts) if folded[0] in GIVEN_NAMES or not any(map(is_word, folded)) else None


def name_before_comma(text: str) -> str | None:
    """Return a name with capitals that stands before a comma: "Elif Yıldız, my cat is called Pamuk"."""
    parts = text.partition(",")[0].split() if "," in text else []
    if not 1 < len(parts) <= _LONGEST_NAME or not all(part.isalpha() and part.istitle() for part in parts):
        return None
    return " ".join(parts) if not any(map(is_word, map(fold, parts))) or fold(parts[0]) in GIVEN_NAMES else None


def whole(choices: Sequence[str], text: str) -> str | None:
    """Return the only choice whose words all stand in a text; the last of them may have a suffix."""
    line = f" {' '.join(words(text))} "
    named = [choice for choice in choices if _stands_in(words(choice), line)]
    return named[0] if len(named) == 1 else None


def _stands_in(name: list[str], line: str) -> bool:
    return bool(name) and f" {' '.join(name)}{'' if len(name[-1]) >= _STEM else ' '}" in line


def chosen(choices: Sequence[str], text: str) -> str | None:
    """Return the choice that a text names, whole, by a word of its own or by its place."""
    given = words(text)
    if (named := whole(choices, text)) is not None:
        return named
    for place, forms in _PLACES.items():
        if place <= len(choices) and any(word in forms for word in given) and all(word in forms or word in _FILLER for word in given):
            return choices[place - 1]
    content = [word for word in given if word not in _FILLER and word not in business.LIGHT]
    if not content:
        return None
    shared = [sum(any(_alike(word, other) for other in words(choice)) for word in content) for choice in choices]
    best = max(shared)
    if best * 2 < len(content) or best == 0 or shared.count(best) > 1:
        return None
    return choices[shared.index(best)]


def _alike(word: str, other: str) -> bool:
    return word == other or (min(len(word), len(other)) >= _STEM and (word.startswith(other) or other.startswith(word)))


def is_none(text: str) -> bool:
    """Return whether a text takes none of the choices offered."""
    given = words(text)
    return any(word in _NONE for word in given) and all(word in _NONE or word in _FILLER or word in business.LIGHT for word in given)
