"""Values in one message with their places, and what is said beside them."""

import datetime as dt
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from chatsvc.language import contacts, language_detection, names, slots, symbols
from chatsvc.language.folding import Folded
from chatsvc.language.slots import SlotReading
from chatsvc.language.tokenizer import ends_of
from chatsvc.language.wordlists import LanguageWords

Value = TypeVar("Value")
Span = tuple[int, int]
KINDS = ("date", "time", "email", "phone", "name")  # those that `chatsvc parse` shows
_KINDS = {"phone": "phone", "contact": "phone", "email": "email", "date": "date", "time": "time"}
_DIGITS = re.compile(r"(?<![\w.,:])\+?\d(?:[\d ()./-]{2,20})\d(?!\w|[.,:]\d)")
_CARRIED = 40  # characters before a value in which its carrier words stand
_SHORT = 10  # digits of a number with the prefix of calls within a country that is mistyped
_FEWEST_DIGITS = 4  # of what looks like a telephone number
_PARTS = frozenset({"morning", "noon", "afternoon", "evening", "night", "tonight"})
_FILE = LanguageWords("counts.txt")
_FLEXIBLE = _FILE.any_of("flexible")
_CARRIERS_BEFORE = _FILE.any_of("carriers_before", r"(?:^|(?<=[\s,.;:!?(]))(?:{})[\s,:;.=!-]{0,4}$")
_CARRIERS_BEHIND = _FILE.any_of("carriers_behind", r"[\s,:'’-]{0,4}(?:{})(?=$|[\s,.;:!?)])")
_BETWEEN = _FILE.any_of("between", r"[\s,;.&/-]*(?:{})?[\s,;./&-]*")
_NUMBER = re.compile(r"(?<![\w.,:/+-])\d{1,9}(?![\d]|[.,:/-]\d|['’]?[a-z]{0,2}\d)|(?<![a-z'])[a-z]{1,20}(?![a-z'])")
_EDGES = " \t\n,;:-–—/|()&+"
_DOUBLED = re.compile(r"\s*([,;:/|–-])(?:\s*[,;:/|–-])+|\s+(?=[.,;:!?])|\(\s*\)")


@dataclass(frozen=True, slots=True)
class Mention(Generic[Value]):
    """A value with its offsets in the message as typed. `explicit` tells one that is introduced ("my name is") from a bare one."""

    value: Value
    start: int
    end: int
    explicit: bool = False


@dataclass(frozen=True, slots=True)
class Values:
    """Values of a message. `rest` is the message without them and the words that introduce them."""

    language: str
    date: Mention[dt.date] | None = None  # the one wanted, the first day of a range
    time: Mention[dt.time] | None = None
    flexible: bool = False  # any day or hour will do
    bare_hour: bool = False  # the time has no minutes and no part of the day: it may be that of the evening
    number: Mention[int] | None = None  # any other, where one is asked for
    name: Mention[str] | None = None  # the visitor's own
    phone: Mention[str] | None = None  # E.164
    phone_as_written: str | None = None  # digits that look like a telephone number and are none
    email: Mention[str] | None = None
    gone: bool = False  # the only day named is past
    never: bool = False  # the only day named is in no calendar
    rest: str = ""


def read(text: str, *, now: dt.datetime, language: str | None = None, country: str = "TR", asked: str = "") -> Values:
    """Return the values of a message.

    `now` is local wall time, `country` (ISO 3166) that of numbers without a prefix. `asked` is what the bot asked for last: a kind of
    field or ""; a bare value of that kind is enough then. Of a long message only the two ends are read.
    """
    kept, (cut, missing) = ends_of(text)
    plain = slots.analyse(kept, now=now, language=language, country=country)
    message, flexible = plain.message, bool(_FLEXIBLE.search(plain.message.text))
    # the "first available" day is not the first of the month
    bare = slots.answered("" if flexible and asked in {"date", "time"} else _KINDS.get(asked, ""), kept, plain, now=now, country=country)
    found = dict(bare.spans)
    phone, written = _phone(kept, plain, bare, found, country, asked)
    taken = [*plain.taken, *found.values(), *([written] if written else [])]

    def place(span: Span) -> Span:
        return tuple(at if at < cut or not missing else at + missing for at in span)  # type: ignore[return-value]

    def mention(value: Value | None, kind: str) -> Mention[Value] | None:
        return None if value is None or kind not in found else Mention(value, *place(found[kind]), explicit=kind in plain.spans)

    number = _number(message, taken) if asked in ("number", "nights") else None
    name = names.find(kept, taken, [*plain.contacts, *([found["phone"]] if phone else [])], asked)
    if name:
        found["name"] = name.start, name.end
    beside = [*found.values(), *([written] if written else [])]
    beside += [number[1]] if number else []
    return Values(
        language=plain.slots.language,
        date=mention(bare.slots.date, "date"),
        time=mention(bare.slots.time, "time"),
        flexible=flexible,
        bare_hour="time" in found
        and not re.search(r"\d\D?\d|[ap]\.?m", message.text)
        and not any(token.symbol in _PARTS for token in plain.line.tokens),
        number=Mention(number[0], *place(number[1]), explicit=True) if number else None,
        name=Mention(name.value, *place(found["name"]), explicit=name.cued) if name else None,
        phone=mention(phone, "phone"),
        phone_as_written=kept[slice(*written)] if written else None,
        email=mention(bare.slots.email, "email"),
        gone=plain.gone and bare.slots.date is None,
        never=plain.never and bare.slots.date is None,
        rest=_rest(text if not missing else kept, message, beside),
    )


def from_day(text: str, found: Values, day: dt.date, *, country: str) -> Values:
    """Return values with their day read anew, as a message on `day` would mean it."""
    again = read(text, now=dt.datetime.combine(day, dt.time()), language=found.language, country=country, asked="date").date
    return replace(found, date=again or found.date)


def load() -> None:
    """Learn the languages and the ordinary words, once a process."""
    language_detection.load()
    names.load()


def _phone(
    text: str, plain: SlotReading, bare: SlotReading, found: dict[str, Span], country: str, asked: str
) -> tuple[str | None, Span | None]:
    """Return the telephone number, and the place of digits that are meant as one and are none. `found` gets the number's place."""
    if bare.slots.phone is not None:
        return bare.slots.phone, None
    possible = contacts.possible(blanked(text, plain.taken), country)
    if possible is not None:
        typed = "".join(filter(str.isdigit, text[slice(*possible[1])]))
        # A short one with the prefix of calls within a country is mistyped, and none from abroad.
        if typed[:1] == "0" and typed[:2] != "00" and len(typed) <= _SHORT and contacts.knows_country(country):
            return None, possible[1]
        found["phone"] = possible[1]
        return possible[0], None
    return None, _written_number(text, [*plain.taken, *found.values()], asked)


def blanked(text: str, spans: Iterable[Span]) -> str:
    """Return the text with blanks in place of the spans, which may lie outside of it in part."""
    for first, last in spans:
        start, end = max(0, first), min(last, len(text))
        text = text[:start] + " " * (end - start) + text[end:] if start < end else text
    return text


def _written_number(text: str, taken: Iterable[Span], asked: str) -> Span | None:
    """Return the digits that are meant as a telephone number: where one is asked for, or behind a word that names one."""
    for match in _DIGITS.finditer(blanked(text, taken)):
        called = asked in {"phone", "contact"} or contacts.is_announced(text, match.start())
        if called and sum(map(str.isdigit, match[0])) >= _FEWEST_DIGITS and not contacts.names_other_number(text, match.start()):
            return match.span()
    return None


def _number(message: Folded, taken: Sequence[Span]) -> tuple[int, Span] | None:
    """Return the first number outside of the `taken` spans, in figures or a word."""
    for match in _NUMBER.finditer(message.text):
        span = message.span(*match.span())
        if any(start < span[1] and span[0] < end for start, end in taken):
            continue
        value, case, _ = (int(match[0]), "", "") if match[0].isdigit() else symbols.NUMBER_OF.get(match[0], (0, "", ""))
        if value and not case:
            return value, span
    return None


def _rest(text: str, message: Folded, spans: Iterable[Span]) -> str:
    """Return the text without these spans and without the words that only carry them."""
    folded, place = message.text, message.place
    cuts: list[Span] = []
    for first, last in sorted(spans):
        start, end = bisect_left(place, first), bisect_left(place, last)
        floor = cuts[-1][1] if cuts else 0
        start = max(start, floor)
        while match := _CARRIERS_BEFORE.search(folded, max(floor, start - _CARRIED), start):
            start = match.start()
        while match := _CARRIERS_BEHIND.match(folded, end):
            end = match.end()
        if cuts and _BETWEEN.fullmatch(folded, floor, start):
            start = cuts.pop()[0]
        cuts.append((start, max(start, end)))
    for start, end in reversed(cuts):
        text = f"{text[: place[start]]} {text[place[end] :]}"
    return " ".join(_DOUBLED.sub(r"\1 ", text).split()).strip(_EDGES)
