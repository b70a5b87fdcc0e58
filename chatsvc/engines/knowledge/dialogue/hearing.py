"""Interpretation of a visitor's message while a form is open: values, questions, refusals, cancellation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, time

from chatsvc.domain import contacts
from chatsvc.engines.knowledge.dialogue import intents, smalltalk, told_names
from chatsvc.engines.knowledge.dialogue.folded_line import line_of
from chatsvc.engines.knowledge.search.stopwords import is_light
from chatsvc.language.contacts import possible
from chatsvc.language.folding import folded, words
from chatsvc.language.name_words import AMBIGUOUS_NAMES, GIVEN_NAMES, NOT_NAMES, SURNAMES
from chatsvc.language.slots import SlotReading, Slots, examine, read_answer
from chatsvc.language.wordlists import WordFile
from chatsvc.language.yes_no import is_cancel, is_no, is_yes

_ENDS = 400  # characters read at either end of a long message, since reading all of a hostile one is slow
_WHOLE = 1_000
_BARE = 200  # characters; a longer message is no bare answer
_LONGEST_NAME = 4  # words
_SAYS_BEN = frozenset({"TR", "CY", "AZ"})  # countries whose visitors introduce themselves with "ben"
_LONGEST_INTRODUCTION = 10  # words of a message that gives a name among other things
_DIGITS_OF_A_NUMBER = 7
_KINDS = {"date": "date", "time": "time", "contact": "phone", "phone": "phone"}

_FILE = WordFile("engines/knowledge/dialogue/hearing.txt")
_FIELDS = {field: _FILE.pattern(f"field {field}") for field in ("date", "time", "phone", "email", "name", "message")}
_QUESTION, _PROPOSES, _DOUBTS = _FILE.pattern("question"), _FILE.pattern("proposes"), _FILE.pattern("doubts")
_REFUSES, _WITHHOLDS, _ANY, _OBJECTS = _FILE.pattern("refuses"), _FILE.pattern("withholds"), _FILE.pattern("any"), _FILE.pattern("objects")
_GIVEN_UP, _GIVEN_UP_OUTRIGHT = _FILE.pattern("given_up"), _FILE.pattern("given_up_outright")
_KEEPS, _NOTHING_ELSE, _EMPTY = _FILE.pattern("keeps"), _FILE.pattern("nothing_else"), _FILE.pattern("empty")
_COUNTS, _PUZZLED, _TELLS = _FILE.pattern("counts"), _FILE.pattern("puzzled"), _FILE.pattern("tells")
_OTHER_WAY = _FILE.pattern("other_way")
_CHANGES_VALUE = _FILE.pattern("changes_value")
_MORNING, _EVENING = _FILE.pattern("morning"), _FILE.pattern("evening")
_PARTS_OF_DAY, _ABOUT_TIMES = _FILE.pattern("parts_of_day"), _FILE.pattern("about_times")
_CLAUSES = re.compile(r"[,;!\n]|\. | ama | but ")
_MOST_CLAUSES = 6
_POINTS = re.compile(r"\b(?:for|to|is|as|under|olarak) ((?:[^\W\d_]+[ ]?){1,3})[.!]?$")
_FROM = re.compile(r"\A(?:[^\W\d_]++ ){2,3}(?:from|at|of) ")
_LETTERS = re.compile(r"[^\W\d_](?:[^\W\d_]|[ '’-](?=[^\W\d_]))*")
_INTRODUCED = _FILE.pattern("introduced")
_SPAN_OF_DAYS = re.compile(r" \d\d?\w{0,3} (?:ile|ila|ve) (\d\d?)\w{0,3} aras")  # "20si ile 23ü arası"
_CLOCK_24 = re.compile(r"\b0\d|\d ?am\b", re.IGNORECASE)
_NODS = frozenset("👍👌✅")


@dataclass(frozen=True, slots=True)
class Utterance:
    """One message. The values that it names, each as the visitor typed it, and what kind of message it is.

    `line` holds its folded words, `left` its text without the values. `past` and `never`: the only day named is in the past, or
    in no calendar. `garbled`: contact data in a form that cannot be kept (an address spelled out, a number in words).
    """

    line: str
    day: date | None = None
    clock: time | None = None
    past: bool = False
    never: bool = False
    name: str | None = None
    email: str | None = None
    phone: str | None = None
    garbled: bool = False
    question: bool = False
    left: str = ""

    def has(self, asked: str) -> bool:
        """Return whether it holds the value asked for."""
        if asked == "contact":
            return self.email is not None or self.phone is not None
        return {"date": self.day, "time": self.clock, "name": self.name, "email": self.email, "phone": self.phone}.get(asked) is not None

    def field(self, among: Iterable[str]) -> str | None:
        """Return the first of these fields that it names."""
        return next((field for field in among if _FIELDS[field].search(self.line)), None)

    @property
    def refuses(self) -> bool:
        """True if the visitor refuses something, or has none."""
        return bool(_REFUSES.search(self.line))

    @property
    def leaves_open(self) -> bool:
        """True if any day or hour will do."""
        return bool(_ANY.search(self.line))

    @property
    def doubts(self) -> bool:
        """True if it asks why the bot wants to know."""
        return bool(_DOUBTS.search(self.line))

    @property
    def proposes_contact(self) -> str | None:
        """The way of contact whose use it asks about: "is email ok instead?"."""
        return self.field(("email", "phone")) if self.question and _OTHER_WAY.search(self.line) else None

    @property
    def counts(self) -> bool:
        """True if it names a number of people or things."""
        return bool(_COUNTS.search(self.line))

    @property
    def names_when(self) -> bool:
        """True if it names a day, an hour or a part of the day."""
        return self.day is not None or self.clock is not None or self.part_of_day

    @property
    def tells(self) -> bool:
        """True if it is a statement about the visitor or what is theirs."""
        return not self.question and bool(_TELLS.search(self.line))

    @property
    def puzzled(self) -> bool:
        """True if the visitor does not understand the question."""
        return bool(_PUZZLED.search(self.line))

    @property
    def part_of_day(self) -> bool:
        """True if it names a part of the day."""
        return bool(_PARTS_OF_DAY.search(self.line))

    @property
    def about_times(self) -> bool:
        """True if it speaks of days, hours or whether something is free."""
        return bool(_ABOUT_TIMES.search(self.line))

    @property
    def asks_times_alone(self) -> bool:
        """True if no word besides days, hours and courtesies says what it is about."""
        said = (word for word in words(self.left) if len(word) > 1 and not is_light(word))
        return all(_EMPTY.fullmatch(word) or _ABOUT_TIMES.search(f" {word} ") for word in said)

    @property
    def objects(self) -> bool:
        """True if it contradicts something."""
        return bool(_OBJECTS.search(self.line))

    def substance(self, least: int) -> bool:
        """Return whether `least` words are left besides the wish, courtesies and contact data."""
        said = words(self.left)
        told = [word for word in said if len(word) > 1 and not word.isdigit() and not _EMPTY.fullmatch(word)]
        counted = bool(told) and any(word.isdigit() for word in said)  # "300 kupa"
        return len(told) + counted >= least


def interpret(message: str, asked: str, now: datetime, country: str) -> Utterance:
    """Interpret a message as an answer to the open question `asked`. `now` is local wall time."""
    text = _readable(message)
    line = line_of(text)
    question = asks(text)
    reading = examine(text, now=now, country=country)
    kind = _KINDS.get(asked)
    plain = len(text) <= _BARE and kind and getattr(reading.slots, kind) is None and not _REFUSES.search(line)
    plain = plain and not _ANY.search(line)  # the "first available" day is not the first of the month
    plain = plain and not (_COUNTS.search(line) and not re.search(r"\d", _COUNTS.sub(" ", line)))  # "we'll be 4" is no hour
    proposed = kind in ("date", "time") and bool(_PROPOSES.search(line))
    plain = plain and (proposed or not (question or is_nod(text)))
    # "make it 4 pm" holds a time: its 4 is no day of the month
    if kind and plain and not (kind in ("date", "time") and (reading.slots.date or reading.slots.time)):
        reading = read_answer(kind, text, now=now, country=country)
    if asked in ("confirm", "change") or (asked in ("name", "contact") and changes_value(line)):
        reading = _with_bare_time(text, reading, now, country)
    reading = _without_party(_with_possible_phone(text, reading, country), text, now, country)
    slots, own = reading.slots, [message]
    if slots.time and (span := _SPAN_OF_DAYS.search(line)) and int(span[1]) == slots.time.hour:
        slots = replace(slots, time=None)
    if slots.email is None and slots.phone is None and _REFUSES.search(line):
        slots = _besides_refusals(text, slots, now, country)
    named = told_names.trimmed(slots.name) if slots.name else None
    if named is None and (asked == "name" or _FIELDS["name"].search(line)):
        named = _pointed_name(text)
    if named is not None and country not in _SAYS_BEN and text.strip(" .!") == f"Ben {named}":  # no "I am" of a Turkish visitor
        named = f"Ben {named}"
    least = told_names.CAPITAL if question or is_nod(text) or _REFUSES.search(line) else told_names.PLAIN
    told = told_names.find(text, reading, asked=asked == "name", least=least)
    if told and (named is None or folded(told.value).startswith(folded(named))):
        named, reading = (
            told.value,
            replace(reading, spans=reading.spans | {"name": (told.start, told.end)}),
        )
    # a first name and a surname told apart stand nowhere as one: the first is kept
    name = (contacts.own_name(named, own) or contacts.own_name(named.split()[0], own)) if named else None
    email = contacts.own_email(slots.email, own) if slots.email else None
    phone = contacts.own_phone(slots.phone, own, country) if slots.phone else None
    return Utterance(
        line=line,
        day=slots.date,
        clock=slots.time,
        past=reading.gone,
        never=reading.never,
        name=name,
        email=email,
        phone=phone,
        garbled=bool((slots.email and not email) or (slots.phone and not phone)),
        question=question,
        left=_without(text, reading, ("name", "email", "phone", "date", "time")),
    )


def names_morning(text: str) -> bool:
    """Return whether a text says outright that the morning is meant. Examples: "sabah 9", "9 am", "09:00"."""
    return bool(_MORNING.search(line_of(text)) or _CLOCK_24.search(text))


def names_evening(text: str) -> bool:
    """Return whether a text speaks of an evening or a night."""
    return bool(_EVENING.search(line_of(text)))


def names_the_name(text: str) -> bool:
    """Return whether a text speaks of the visitor's name and calls it otherwise."""
    line = line_of(text)
    return bool(_FIELDS["name"].search(line)) and (changes_value(line) or bool(_OBJECTS.search(line)))


def changes_value(line: str) -> bool:
    """Whether folded words say that a value becomes another one: "3 olsun", "make it 5"."""
    return bool(_CHANGES_VALUE.search(line))


def written_number(text: str) -> str | None:
    """Return the only number of a short message, whether or not it can be right."""
    found = _WRITTEN_NUMBER.findall(text)
    return found[0] if len(found) == 1 and len(words(text)) - len(words(found[0])) <= _AROUND_NUMBER else None


def has_substance(text: str) -> bool:
    """Whether a text says something of a matter, besides wishes, courtesies, contact data and names."""
    if "@" in text or sum(map(str.isdigit, text)) >= _DIGITS_OF_A_NUMBER:
        text = re.sub(r"\S*@\S*|[+\d][\d ()./-]{6,}\d", " ", text)
        return len([word for word in words(text) if not _EMPTY.fullmatch(word)]) > _LONGEST_NAME
    told = [word for word in words(text) if len(word) > 1 and not word.isdigit() and not _EMPTY.fullmatch(word)]
    return bool(told)


def asks(text: str) -> bool:
    """Return whether a text is a question, with a question mark or without."""
    return "?" in text or bool(_QUESTION.search(line_of(text)))


def _besides_refusals(text: str, slots: Slots, now: datetime, country: str) -> Slots:
    """Add the contact data of clauses that refuse nothing: `telefonum 0532 ..., e-posta vermek istemiyorum`."""
    for clause in _CLAUSES.split(text)[:_MOST_CLAUSES]:
        if not _REFUSES.search(line_of(clause)):
            found = examine(clause, now=now, country=country).slots
            slots = replace(slots, email=slots.email or found.email, phone=slots.phone or found.phone)
    return slots


def _without_party(reading: SlotReading, text: str, now: datetime, country: str) -> SlotReading:
    """Drop a time that is the number of those who come: "we're four tomorrow night"."""
    party = (_PARTY if reading.slots.time else _GUESTS).search(text)
    if party is None or (reading.slots.time is None and reading.slots.date is None):
        return reading
    rest = examine(text[: party.start()] + " " * len(party[0]) + text[party.end() :], now=now, country=country).slots.time
    return reading if rest == reading.slots.time else replace(reading, slots=replace(reading.slots, time=rest))


def _with_possible_phone(text: str, reading: SlotReading, country: str) -> SlotReading:
    """Read a number that has the right length, though no plan lists it."""
    slots = reading.slots
    found = possible(_without(text, reading, ("email",)), country) if slots.phone is None else None
    return replace(reading, slots=replace(slots, phone=found[0]), spans=reading.spans | {"phone": found[1]}) if found else reading


_PARTY = re.compile(
    r"\bwe(?:['’]re| are|['’]ll be| will be) (?:\d\d?|two|three|four|five|six|seven|eight|nine|ten|twelve)\b"
    r"(?! ?(?:[:.]\d|am\b|pm\b|o['’ ]?clock))",
    re.IGNORECASE,
)
_GUESTS = re.compile(r"\b\d\d? ?(?:ki[sş]i(?:lik|yiz)?|people|persons?|guests?|adults?|pax|of us)\b", re.IGNORECASE)  # "cuma 7 3 kişi"
_WRITTEN_NUMBER = re.compile(r"(?<!\w)\+?\d(?:[\d ()./-]{2,20})\d(?!\w)")
_AROUND_NUMBER = 4  # words
_BARE_TIME = re.compile(
    r"(?:^|[ ,])((?:[01]?\d|2[0-3])(?:[:.][0-5]\d)?)(?:[’']?(?:y?[ae]|d[ae]|t[ae]|te|ta))?(?: ?(?:bu[cç]uk|pm|am))?(?=$|[ ,.!?])"
    r"(?! ?(?:ki[sş]i|people|persons?|guests?|of us|pax|adet|tane|gece|nights?|adults?|kids|x\b))",
    re.IGNORECASE,
)
_AROUND_TIME = 7  # words


def _with_bare_time(text: str, reading: SlotReading, now: datetime, country: str) -> SlotReading:
    """Read a bare hour as a time: "yok 2 olsun", "oh. 4 then"."""
    slots = reading.slots
    if slots.time or slots.date or slots.phone or slots.email or len(words(text)) > _AROUND_TIME or "?" in text:
        return reading
    found = _BARE_TIME.findall(text)
    if not found:
        return reading
    bare = read_answer("time", found[-1].replace(".", ":"), now=now, country=country)
    if bare.slots.time is None:
        return reading
    return replace(reading, slots=replace(slots, time=bare.slots.time))


def _pointed_name(text: str) -> str | None:
    """Return a capitalised name at the end. Examples: `it's for Mark Twain`, `change the name to Mark Hamill`."""
    match = _POINTS.search(text)
    told = match[1].split() if match else []
    return " ".join(told) if told and all(word[0].isupper() and folded(word) not in NOT_NAMES for word in told) else None


def name_in_passing(message: str, now: datetime, country: str) -> str | None:
    """Return the name that an earlier message gives or consists of: "Its Anna", "Jürgen Müller"."""
    if len(words(message)) > _LONGEST_INTRODUCTION or asks(message) or is_nod(message):
        return None
    reading = examine(message, now=now, country=country)
    if len(words(message)) > _LONGEST_NAME:
        return reading.slots.name
    told = told_names.find(message, reading, asked=True, least=told_names.CAPITAL)
    return reading.slots.name or (told.value if told is not None and (" " in told.value or told.value == message.strip()) else None)


def name_beside(clauses: Iterable[str], now: datetime, country: str) -> str | None:
    """Return the full name that one of the clauses gives: "a quote please. Ann Hill from Dale Ltd"."""
    for clause in clauses:
        if len(words(clause)) > _LONGEST_INTRODUCTION or asks(clause) or is_nod(clause):
            continue
        least = told_names.CAPITAL if _FROM.match(clause.strip()) else told_names.KNOWN
        told = told_names.find(clause, examine(clause, now=now, country=country), asked=True, least=least)
        if told is not None and " " in told.value and told.value.istitle() and clause.strip().startswith(told.value):
            return contacts.own_name(told.value, [clause])
    return None


def bare_name(message: str, before: str | None) -> str | None:
    """Return the name that a message consists of, though none was asked for. Only if it is beyond doubt."""
    text = _INTRODUCED.sub("", message.strip()).rstrip(".!")
    bases = [folded(word) for word in text.split()]
    if not 1 <= len(bases) <= _LONGEST_NAME or not _LETTERS.fullmatch(text) or is_nod(text) or bases[0].split("-")[0] not in GIVEN_NAMES:
        return None
    known = len(bases) > 1 and all(base in GIVEN_NAMES | SURNAMES for base in bases) and bases[0] not in AMBIGUOUS_NAMES
    goes_on = before is not None and bases[0] == folded(before).split()[0]
    if not (known or goes_on or all(word[0].isupper() for word in text.split())):
        return None
    return contacts.own_name(text, [message]) if NOT_NAMES.isdisjoint(bases[1:]) else None


def _readable(message: str) -> str:
    return message if len(message) <= _WHOLE else f"{message[:_ENDS]}\n{message[-_ENDS:]}"


def _without(text: str, reading: SlotReading, kinds: Iterable[str]) -> str:
    for start, end in sorted((reading.spans[kind] for kind in kinds if kind in reading.spans), reverse=True):
        text = text[:start] + " " + text[end:]
    return text


def is_nod(text: str) -> bool:
    """Return whether a text is only a yes, a no or small talk."""
    return is_yes(text) or is_no(text) or smalltalk.kind(words(text)) is not None


def agrees(message: str, heard: Utterance) -> bool:
    """Whether a message is a yes without objection or question, since it captures the request."""
    if heard.question or heard.objects or heard.refuses:
        return False
    first = re.split(r"[,.!;\n]", message.strip(), maxsplit=1)[0]
    return is_yes(message) or is_yes(first) or (bool(message.strip()) and message.strip()[0] in _NODS)


def denies(message: str) -> bool:
    """Return whether a message is a no."""
    return is_no(message) or is_no(re.split(r"[,.!;\n]", message.strip(), maxsplit=1)[0])


def _lets_go(clause: str) -> bool:
    return "lets_go" in intents.of(clause) and not _WITHHOLDS.search(line_of(clause)) and not re.search(r"\d", clause)


def gives_up(message: str, heard: Utterance, asked: str) -> bool:
    """Return whether the visitor gives the whole request up.

    "E-postamı vermek istemiyorum" refuses one thing only, "siparişimi iptal etmek istiyorum" may be what the request is about,
    and "cumayı iptal edip salı yapalım" only moves it.
    """
    if _KEEPS.search(heard.line):
        return False
    clauses = [clause for clause in _CLAUSES.split(message) if words(clause)]
    if len(clauses) > 1 and asked != "message" and any(_lets_go(clause) for clause in clauses):
        return True
    if asked == "message":
        return is_cancel(message) and all(_NOTHING_ELSE.fullmatch(word) for word in heard.line.split())
    values = bool(heard.day or heard.clock or heard.name or heard.email or heard.phone)
    if is_cancel(message) and _GIVEN_UP.search(heard.line):
        return not (values and (heard.objects or re.search(r" (?:yap\w*|olsun|alalim|make) ", heard.line)))
    if values or _WITHHOLDS.search(heard.line):
        return False
    if is_cancel(message):
        return heard.field(_FIELDS) is None
    return len(heard.line.split()) <= 25 and bool(_GIVEN_UP_OUTRIGHT.search(heard.line))
