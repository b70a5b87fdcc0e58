"""Values in one message with their offsets (date, time, name, contact data, number), and the rest of the message."""

import datetime as dt
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from chatsvc.domain.folding import primary
from chatsvc.language import contacts, dates, language_detection, names, selection, symbols, times
from chatsvc.language.folding import Folded, fold_with_offsets, masked
from chatsvc.language.selection import Candidate
from chatsvc.language.tokenizer import MAX_CHARACTERS, ends_of, line_of
from chatsvc.language.tokens import PARTS_OF_DAY, Case, Expression, Kind, Mention, TokenLine
from chatsvc.language.wordlists import LanguageWords

Span = tuple[int, int]
KINDS = ("date", "time", "email", "phone", "name")  # those that `chatsvc parse` shows
_DIGITS = re.compile(r"(?<![\w.,:])\+?\d(?:[\d ()./-]{2,20})\d(?!\w|[.,:]\d)")
_BARE_NUMBER = re.compile(r"\+?\d[\d\s().\-/]{5,24}\d")
_CARRIED = 40  # characters before a value in which its carrier words stand
_SHORT = 10  # digits of a number with the prefix of calls within a country that is mistyped
_FEWEST_DIGITS = 4  # of what looks like a telephone number
_ANSWER, _DAY_ANSWER = 6, 4  # tokens of a bare answer, and of one that is a day
_CLOCK_DIGITS = 6  # more are a telephone number
_LOOSE = frozenset({"at", "around", "saat", "in", *PARTS_OF_DAY})  # what may stand between "yesterday" and its hour
_AROUND = frozenset({"neg", "by", "DATE", ",", "for", "till", "after", "to", *(f"DATE:{part}" for part in PARTS_OF_DAY)})
_FILE = LanguageWords("counts.txt")
_FLEXIBLE = _FILE.any_of("flexible")
_CARRIERS_BEFORE = _FILE.any_of("carriers_before", r"(?:^|(?<=[\s,.;:!?(]))(?:{})[\s,:;.=!-]{0,4}$")
_CARRIERS_BEHIND = _FILE.any_of("carriers_behind", r"[\s,:'’-]{0,4}(?:{})(?=$|[\s,.;:!?)])")
_BETWEEN = _FILE.any_of("between", r"[\s,;.&/-]*(?:{})?[\s,;./&-]*")
_NUMBER = re.compile(r"(?<![\w.,:/+-])\d{1,9}(?![\d]|[.,:/-]\d|['’]?[a-z]{0,2}\d)|(?<![a-z'])[a-z]{1,20}(?![a-z'])")
_EDGES = " \t\n,;:-–—/|()&+"
_DOUBLED = re.compile(r"\s*([,;:/|–-])(?:\s*[,;:/|–-])+|\s+(?=[.,;:!?])|\(\s*\)")


@dataclass(frozen=True, slots=True)
class Values:
    """Values of a message with their offsets as typed. `rest` is the message without them and the words that introduce them."""

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
    clashes: bool = False  # the date is not of the weekday that is named beside it
    moves: bool = False  # from one day or hour to another
    rest: str = ""


@dataclass(frozen=True, slots=True)
class TextReading:
    """Values of a short text, read without regard to what was asked. The name is not among them. Spans are those in the text as typed."""

    message: Folded
    line: TokenLine
    about: Values  # the language, and what the text says of its days and times
    values: dict[str, Any]
    spans: dict[str, Span]
    contacts: tuple[Span, ...]  # telephone numbers and e-mail addresses
    taken: tuple[Span, ...]  # all that is understood as a day, a time, contact data or another number of such a form


def load() -> None:
    """Load the models of languages and the ordinary words, so that the first message need not wait for them."""
    language_detection.load()
    names.load()


def read(text: str, *, now: dt.datetime, language: str | None = None, country: str = "TR", asked: str = "") -> Values:
    """Return the values of a message.

    `now` is local time; `country` (ISO 3166) is the country of telephone numbers without a country code. `asked` is the kind of field
    that the bot asked for last, or ""; a bare value of that kind is then accepted. Only the two ends of a long message are read.
    """
    ends, (cut, missing) = ends_of(text)
    plain = _analyse(ends, now, language, country)
    flexible = bool(_FLEXIBLE.search(plain.message.text))
    # the "first available" day is not the first of the month
    reading = plain if flexible and asked in ("date", "time") else _with_bare(asked, ends, plain, now, country)
    spans = dict(reading.spans)
    phone, written = _phone(ends, reading, spans, country, asked)
    values = {**reading.values, "phone": phone}
    beside = [written] if written else []
    if asked in ("number", "nights") and (number := _number(plain.message, [*plain.taken, *spans.values(), *beside])):
        values["number"], spans["number"] = number
    taken = [*plain.taken, *(span for kind, span in spans.items() if kind != "number"), *beside]
    name = names.find(ends, taken, [*plain.contacts, *([spans["phone"]] if phone else [])], asked)
    if name:
        values["name"], spans["name"] = name.value, (name.start, name.end)

    def mention(kind: str, explicit: bool | None = None) -> Mention[Any] | None:
        if values.get(kind) is None or kind not in spans:
            return None
        start, end = (index if index < cut or not missing else index + missing for index in spans[kind])
        return Mention(values[kind], start, end, kind in plain.spans if explicit is None else explicit)

    has_minutes = re.search(r"\d\D?\d|[ap]\.?m", plain.message.text)
    return replace(
        plain.about,
        date=mention("date"),
        time=mention("time"),
        flexible=flexible,
        bare_hour="time" in spans and not has_minutes and PARTS_OF_DAY.union(("tonight",)).isdisjoint(plain.line.symbols),
        number=mention("number", explicit=True),
        name=mention("name", explicit=bool(name and name.explicit)),
        phone=mention("phone"),
        phone_as_written=ends[slice(*written)] if written else None,
        email=mention("email"),
        gone=plain.about.gone and "date" not in values,
        never=plain.about.never and "date" not in values,
        rest=_rest(ends, plain.message, [*spans.values(), *beside]),
    )


@lru_cache(maxsize=64)
def _analyse(text: str, now: dt.datetime, language: str | None, country: str) -> TextReading:
    message = fold_with_offsets(text)
    addresses = contacts.emails(message, text)
    taken = [*((address.start, address.end) for address in addresses), *contacts.other_numbers(message)]
    numbers = contacts.phones(message, country, taken)
    taken += [(number.start, number.end) for number in numbers]
    line = line_of(message, taken, text)
    values: dict[str, Any] = {}
    spans: dict[str, Span] = {}
    for kind, several in (("email", addresses), ("phone", numbers)):
        wanted = selection.choose(line, [Candidate(contact.start, contact.end) for contact in several])
        if wanted is not None:
            values[kind], spans[kind] = several[wanted].value, message.span(several[wanted].start, several[wanted].end)
    days = dates.find(line, now.date())
    shorter = line.replaced([(day.first, day.end, _day_symbol(line, day)) for day in days if day.value or not day.explicit])
    clocks = [clock for clock in times.find(shorter) if not _is_past(shorter, clock)]
    named = [day for day in days if day.value]
    day_candidates, clock_candidates = [_candidate(line, day) for day in named], [_candidate(shorter, clock) for clock in clocks]
    if (wanted := selection.choose(line, day_candidates, clock_candidates)) is not None:
        values["date"], spans["date"] = named[wanted].value, message.span(day_candidates[wanted].start, day_candidates[wanted].end)
    if (wanted := selection.choose(line, clock_candidates, day_candidates)) is not None:
        values["time"] = dt.time(*divmod(clocks[wanted].value or 0, 60))
        spans["time"] = message.span(clock_candidates[wanted].start, clock_candidates[wanted].end)
    spans_taken = [*taken, *((offsets.start, offsets.end) for offsets in clock_candidates)]
    spans_taken += [(line.tokens[day.first].start, line.tokens[day.end - 1].end) for day in days]
    about = Values(
        primary(language) if language else language_detection.guess(text) or language_detection.OF_COUNTRY.get(country.upper(), "en"),
        gone=not named and any(day.gone for day in days),
        never=not named and any(day.explicit for day in days),
        clashes=any(day.value == values.get("date") and day.clashes for day in named),
        moves=any(selection.moves(line, candidates) for candidates in (day_candidates, clock_candidates)),
    )
    contact_spans = tuple(message.span(contact.start, contact.end) for contact in (*numbers, *addresses))
    return TextReading(message, line, about, values, spans, contact_spans, tuple(message.span(start, end) for start, end in spans_taken))


def _is_past(line: TokenLine, clock: Expression[int]) -> bool:
    """Return whether a time belongs to a day in the past: `dün saat 3'te`, `at 3 last Friday`."""
    *_, far, near = ("", "", *line.symbols[max(0, clock.first - 2) : clock.first])
    inside_and_behind = line.symbols[clock.first : clock.end + 1]
    return "gone" in inside_and_behind or near == "gone" or (far == "gone" and near in _LOOSE)


def _day_symbol(line: TokenLine, mention: Expression[dt.date]) -> str:
    if mention.value is None:
        return "gone" if mention.gone else "nodate"
    parts = ("night" if symbol == "tonight" else symbol for symbol in line.symbols[mention.first : mention.end])
    return next((f"DATE:{part}" for part in parts if part in PARTS_OF_DAY), "DATE")


def _candidate(line: TokenLine, mention: Expression[dt.date] | Expression[int]) -> Candidate:
    tokens = line.tokens[mention.first : mention.end]
    # "not 4" and "Friday 4" are read as times, but only the 4 is
    while len(tokens) > 1 and tokens[0].symbol in _AROUND:
        tokens = tokens[1:]
    while len(tokens) > 1 and tokens[-1].symbol in _AROUND:
        tokens = tokens[:-1]
    text = tokens[-1].text
    loose = Case.DATIVE if text in ("gunune", "gune") else Case.ATTRIBUTIVE if text in ("gunku", "gunki") else ""
    case = next((token.case for token in reversed(tokens) if token.case), loose)
    return Candidate(tokens[0].start, tokens[-1].end, Case.DATIVE if case == Case.POSSESSIVE_DATIVE else case)


def _with_bare(asked: str, text: str, reading: TextReading, now: dt.datetime, country: str) -> TextReading:
    """Add a bare value of the kind that the bot asked for to a reading, if the text has one. Return the new reading."""
    kind = "phone" if asked == "contact" else asked
    if kind not in ("phone", "date", "time") or kind in reading.values or len(text) > MAX_CHARACTERS:
        return reading
    if kind == "phone":
        digits = _BARE_NUMBER.search(text)
        number = digits and contacts.is_number_of_any_plan(digits[0], country)
        bare = (number, digits.span()) if digits and number else None
    elif reading.about.gone or (kind == "time" and sum(map(str.isdigit, text)) > _CLOCK_DIGITS):
        return reading
    else:
        spans = [reading.spans["date"]] if kind == "time" and "date" in reading.spans else []
        if kind == "date":  # "half 11" is no day, but "4-6" may be some
            spans = [span for span in reading.spans.values() if len(re.findall(r"\d+", text[slice(*span)])) == 1]
        bare = _bare(kind, text, now, reading.about.language, spans)
    return replace(reading, values={**reading.values, kind: bare[0]}, spans={**reading.spans, kind: bare[1]}) if bare else reading


def _bare(kind: str, text: str, now: dt.datetime, language: str, taken: Collection[Span]) -> tuple[Any, Span] | None:
    """Read a bare number of an answer as a time or a day. It is the first number that belongs to no other value."""
    symbol = "saat" if kind == "time" else "ayin"
    cue = next(word for word, meant in symbols.SYMBOL_OF.items() if meant == symbol) + " "
    message = fold_with_offsets(text)
    tokens = line_of(message, (), text).tokens
    first = None
    for index, token in enumerate(tokens):
        is_ten = token.symbol == "on" and symbols.NUMBER_OF[token.text][2] == language  # which another language has as a word
        counts = token.kind is Kind.NUMBER or token.symbol == "yarim" or is_ten
        if counts and not any(start <= message.offsets[token.start] < end for start, end in taken):
            first = index
            break
    if first is None or len(tokens) > (_ANSWER if kind == "time" else _DAY_ANSWER):
        return None
    number, behind = tokens[first], tokens[first + 1 :]
    if number.symbol.endswith("?") and any(token.kind is Kind.UNKNOWN for token in tokens[first:]):
        return None  # "bir de fön olsun", "one more thing"
    counts_thing = bool(behind) and behind[0].symbol == "x" and not _CARRIERS_BEHIND.match(message.text, number.end)
    if counts_thing and (kind == "date" or number.text.isalpha()):
        return None  # "four cylinders", "2 high chairs"
    start = message.offsets[number.start]
    again = _analyse(text[:start] + cue + text[start:], now, language, "")
    if (span := again.spans.get(kind)) is None:
        return None
    return again.values[kind], (max(span[0], start) - (0 if span[0] < start + len(cue) else len(cue)), span[1] - len(cue))


def _phone(text: str, reading: TextReading, spans: dict[str, Span], country: str, asked: str) -> tuple[str | None, Span | None]:
    """Return the telephone number, and the span of invalid digits that are meant as a number. The number's span is added to `spans`."""
    if "phone" in reading.values:
        return reading.values["phone"], None
    possible = contacts.possible(masked(text, reading.taken), country)
    if possible is None:
        for match in _DIGITS.finditer(masked(text, [*reading.taken, *spans.values()])):
            called = asked in ("phone", "contact") or contacts.is_announced(text, match.start())
            is_long = sum(map(str.isdigit, match[0])) >= _FEWEST_DIGITS
            if called and is_long and not contacts.names_other_number(text, match.start()):
                return None, match.span()
        return None, None
    number, span = possible
    typed = "".join(filter(str.isdigit, text[slice(*span)]))
    # A short one with the prefix of calls within a country is mistyped, and none from abroad.
    if typed[:1] == "0" and typed[:2] != "00" and len(typed) <= _SHORT and contacts.knows_country(country):
        return None, span
    spans["phone"] = span
    return number, None


def _number(message: Folded, taken: Sequence[Span]) -> tuple[int, Span] | None:
    for match in _NUMBER.finditer(message.text):
        span = message.span(*match.span())
        if any(start < span[1] and span[0] < end for start, end in taken):
            continue
        value, case, _ = (int(match[0]), "", "") if match[0].isdigit() else symbols.NUMBER_OF.get(match[0], (0, "", ""))
        if value and not case:
            return value, span
    return None


def _rest(text: str, message: Folded, spans: Iterable[Span]) -> str:
    """Return the text without these spans, and without the words that only introduce them."""
    folded_text, offsets = message.text, message.offsets
    cuts: list[Span] = []
    for first, last in sorted(spans):
        start, end = bisect_left(offsets, first), bisect_left(offsets, last)
        floor = cuts[-1][1] if cuts else 0
        start = max(start, floor)
        while match := _CARRIERS_BEFORE.search(folded_text, max(floor, start - _CARRIED), start):
            start = match.start()
        while match := _CARRIERS_BEHIND.match(folded_text, end):
            end = match.end()
        if cuts and _BETWEEN.fullmatch(folded_text, floor, start):
            start = cuts.pop()[0]
        cuts.append((start, max(start, end)))
    for start, end in reversed(cuts):
        text = f"{text[: offsets[start]]} {text[offsets[end] :]}"
    return " ".join(_DOUBLED.sub(r"\1 ", text).split()).strip(_EDGES)
