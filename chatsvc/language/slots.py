"""Reading of a text: date, time, e-mail address and telephone number, with their places."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from chatsvc.language import contacts, dates, selection, symbols, times
from chatsvc.language.contacts import Contact
from chatsvc.language.folding import Folded, fold_with_places, folded
from chatsvc.language.language_detection import guess, language_of_country
from chatsvc.language.selection import Candidate
from chatsvc.language.tokenizer import MAX_CHARACTERS, line_of
from chatsvc.language.tokens import Case, Expression, Kind, Token, TokenLine
from chatsvc.language.wordlists import LanguageWords, compiled

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Slots:
    """Values read from a text; None for a kind that it does not hold. `language` is a primary tag."""

    language: str
    date: date | None = None
    time: time | None = None
    email: str | None = None
    phone: str | None = None


@dataclass(frozen=True, slots=True)
class SlotReading:
    """Values of a text. For each kind found its span (start, end) in the text as typed."""

    slots: Slots
    spans: dict[str, Span]
    line: TokenLine
    message: Folded
    gone: bool = False  # the only day named is in the past
    never: bool = False  # the only day named is in no calendar
    days: tuple[Expression[date], ...] = ()  # all that are mentioned
    wanted: int | None = None  # index of the day wanted among `days`
    rejected: frozenset[str] = frozenset()  # kinds of which values are mentioned, all of them rejected
    contacts: tuple[Span, ...] = ()  # telephone numbers and e-mail addresses
    taken: tuple[Span, ...] = ()  # all that is understood as a day, a time, contact data or another number of such a form


def analyse(text: str, *, now: datetime, language: str | None, country: str) -> SlotReading:
    """Return the values with their spans in a text that is not long, but for the name."""
    message = fold_with_places(text)
    addresses = contacts.emails(message, text)
    masked = [(one.start, one.end) for one in addresses] + contacts.other_numbers(message)
    numbers = contacts.phones(message, country, masked)
    masked += [(one.start, one.end) for one in numbers]
    line = line_of(message, masked, text)
    found: dict[str, object] = {}
    spans: dict[str, Span] = {}
    for kind, several in (("email", addresses), ("phone", numbers)):
        if contact := _wanted_contact(line, several):
            found[kind], spans[kind] = contact.value, message.span(contact.start, contact.end)
    days, wanted, rejected, times_at = _days_and_times(line, message, now, found, spans)
    none = not any(day.value for day in days)
    gone, never = none and any(day.gone for day in days), none and any(day.explicit for day in days)
    slots = Slots(_language(text, line, language, country), **found)  # type: ignore[arg-type]
    places = [*masked, *times_at, *((line.tokens[day.first].start, line.tokens[day.end - 1].end) for day in days)]
    taken = tuple(message.span(start, end) for start, end in places)
    called = tuple(message.span(one.start, one.end) for one in (*numbers, *addresses))
    return SlotReading(slots, spans, line, message, gone, never, tuple(days), wanted, rejected, called, taken)


def _wanted_contact(line: TokenLine, found: list[Contact]) -> Contact | None:
    at = selection.choose(line, [Candidate(one.start, one.end) for one in found])
    return None if at is None else found[at]


def _days_and_times(
    line: TokenLine, message: Folded, now: datetime, found: dict[str, object], spans: dict[str, Span]
) -> tuple[list[Expression[date]], int | None, frozenset[str], list[Span]]:
    """Put the wanted day and time into `found` and `spans`.

    Return all mentions of days, the index of the wanted one, the kinds whose values are all rejected, and the places of times.
    """
    days = dates.find(line, now.date())
    shorter = line.replaced([(one.first, one.end, _day_symbol(line, one)) for one in days if one.value or not one.explicit])
    clocks = [one for one in times.find(shorter) if not _of_the_past(shorter, one)]
    named = [one for one in days if one.value]
    day_places = [_candidate(line, one) for one in named]
    clock_places = [_candidate(shorter, one) for one in clocks]
    chosen: Expression[date] | None = None
    if (at := selection.choose(line, day_places, clock_places)) is not None:
        chosen = named[at]
        found["date"] = chosen.value
        spans["date"] = message.span(day_places[at].start, day_places[at].end)
    if (at := selection.choose(line, clock_places, day_places)) is not None:
        hours, minutes = divmod(clocks[at].value or 0, 60)
        found["time"] = time(hours, minutes)
        spans["time"] = message.span(clock_places[at].start, clock_places[at].end)
    wanted = next((at for at, one in enumerate(days) if one is chosen), None)
    rejected = frozenset(kind for kind, places in (("date", day_places), ("time", clock_places)) if places and kind not in found)
    return days, wanted, rejected, [(place.start, place.end) for place in clock_places]


def _of_the_past(line: TokenLine, clock: Expression[int]) -> bool:
    """Return whether a time stands beside a day in the past. Examples: `dün saat 3'te`, `at 3 last Friday`."""
    before = [token.symbol for token in line.tokens[max(0, clock.first - 2) : clock.first]]
    behind = [token.symbol for token in line.tokens[clock.end : clock.end + 2]]
    inside = [token.symbol for token in line.tokens[clock.first : clock.end]]
    return "gone" in inside or before[-1:] == ["gone"] or (before[:1] == ["gone"] and before[1] in _LOOSE) or behind[:1] == ["gone"]


_LOOSE = frozenset({"at", "around", "saat", "morning", "noon", "afternoon", "evening", "night", "in"})


def _day_symbol(line: TokenLine, mention: Expression[date]) -> str:
    """Return the symbol that replaces a day. `DATE`, with the part of the day of "tonight" or "this evening"."""
    if mention.value is None:
        return "gone" if mention.gone else "nodate"
    for token in line.tokens[mention.first : mention.end]:
        if token.symbol in {"morning", "noon", "afternoon", "evening", "night"}:
            return f"DATE:{token.symbol}"
        if token.symbol == "tonight":
            return "DATE:night"
    return "DATE"


_AROUND = frozenset(
    {"neg", "by", "DATE", "DATE:morning", "DATE:noon", "DATE:afternoon", "DATE:evening", "DATE:night", ",", "for", "till", "after", "to"}
)


def _candidate(line: TokenLine, mention: Expression[date] | Expression[int]) -> Candidate:
    tokens = line.tokens[mention.first : mention.end]
    # "not 4" and "Friday 4" are read as times, but only the 4 is
    while len(tokens) > 1 and tokens[0].symbol in _AROUND:
        tokens = tokens[1:]
    while len(tokens) > 1 and tokens[-1].symbol in _AROUND:
        tokens = tokens[:-1]
    cases = [token.case for token in tokens if token.case]
    text = tokens[-1].text
    case = cases[-1] if cases else Case.DATIVE if text in {"gunune", "gune"} else Case.ATTRIBUTIVE if text in {"gunku", "gunki"} else ""
    return Candidate(tokens[0].start, tokens[-1].end, Case.DATIVE if case == Case.POSSESSIVE_DATIVE else case)


_TELLING = frozenset(
    {"nextweek", "ayin", "saat", "gibi", "kala", "yarim", "obur", "ertesi", "her"}
)  # symbols whose words show the language
_COLLIDING = frozenset({"on", "ten"})  # numbers of one language that are words of another


def _language(text: str, line: TokenLine, language: str | None, country: str) -> str:
    """Return the language. As given, else as detected, else by the words of the grammar, else that of the country."""
    if language:
        return re.split(r"[-_]", language)[0].lower()
    if guessed := guess(text):
        return guessed
    votes: Counter[str] = Counter()
    for token in line.tokens:
        if token.kind is Kind.WEEKDAY or token.symbol in _TELLING or (token.text in symbols.NUMBER_OF and token.text not in _COLLIDING):
            votes.update(filter(None, [symbols.LANGUAGE_OF.get(token.text)]))
    (most, count), (_, second) = (*votes.most_common(2), ("", 0), ("", 0))[:2]
    return most if count > second else language_of_country(country)


_ANSWER, _DAY_ANSWER = 6, 4  # tokens of a bare answer, and of one that is a day
_CLOCK_DIGITS = 6  # more are a telephone number
_COUNTS = LanguageWords("counts.txt")
_CARRIERS_BEHIND = _COUNTS.any_of("carriers_behind", r"[\s,:'’-]{0,4}(?:{})(?=$|[\s,.;:!?)])")
_SOON_COUNTS = {phrase: float(count) for count, phrases in _COUNTS.group("soon_count ").items() for phrase in phrases}
_SOON_UNITS = {word: int(minutes) for minutes, words in _COUNTS.group("soon_unit ").items() for word in words}
_SOON = [
    compiled(file.expanded(pattern).replace("COUNT", rf"(?:(?P<n>\d{{1,3}})|(?P<w>{'|'.join(_SOON_COUNTS)}))"))
    for file in _COUNTS.files.values()
    for name, pattern in file.entries
    if name == "soon"
]


def answered(kind: str, text: str, reading: SlotReading, *, now: datetime, country: str) -> SlotReading:
    """Add to the reading of a text the bare value of `kind` that it holds."""
    if not kind or getattr(reading.slots, kind) is not None:
        return reading
    if len(text) > MAX_CHARACTERS or (reading.gone and kind in {"date", "time"}):  # that is no bare answer
        return reading
    if kind == "time" and sum(map(str.isdigit, text)) > _CLOCK_DIGITS:
        return reading
    if kind in {"date", "time"} and (soon := next(filter(None, (one.search(folded(text)) for one in _SOON)), None)):
        return _from_now(reading, soon, now)
    if kind == "time":
        taken = [reading.spans["date"]] if "date" in reading.spans else []
        return _with(reading, kind, *_bare("saat", text, now, reading.slots.language, taken))
    if kind == "date":  # "half 11" is no day, but "4-6" may be some
        taken = [span for span in reading.spans.values() if len(re.findall(r"\d+", text[slice(*span)])) == 1]
        return _with(reading, kind, *_bare("ayin", text, now, reading.slots.language, taken))
    if kind == "phone":
        digits = re.search(r"\+?\d[\d\s().\-/]{5,24}\d", text)
        number = digits and contacts.is_number_of_any_plan(digits[0], country)
        return _with(reading, kind, number, digits.span()) if number and digits else reading
    return reading


def _from_now(reading: SlotReading, soon: re.Match[str], now: datetime) -> SlotReading:
    """Add a duration to now, rounded up to five minutes. Examples: `in half an hour`, `45 dakika sonra`."""
    at = now + timedelta(minutes=float(soon["n"] or _SOON_COUNTS[soon["w"]]) * _SOON_UNITS[soon["unit"]])
    at += timedelta(minutes=-at.minute % 5)
    slots = replace(reading.slots, date=at.date(), time=at.time().replace(second=0, microsecond=0))
    return replace(reading, slots=slots, spans=reading.spans | {"date": soon.span(), "time": soon.span()})


def _bare(symbol: str, text: str, now: datetime, language: str, taken: Collection[Span]) -> tuple[object, Span | None]:
    """Read an answer with a word of this symbol inserted before its first number that belongs to no other value."""
    kind = "time" if symbol == "saat" else "date"
    cue = next(word for word, meant in symbols.SYMBOL_OF.items() if meant == symbol) + " "
    message = fold_with_places(text)
    line = line_of(message, (), text)
    counted = (token for token in line.tokens if token.kind is Kind.NUMBER or token.symbol == "yarim" or _is_ten(token, language))
    numbers = [token for token in counted if not any(start <= message.place[token.start] < end for start, end in taken)]
    if not numbers or len(line.tokens) > (_ANSWER if kind == "time" else _DAY_ANSWER):
        return None, None
    if numbers[0].symbol.endswith("?") and any(token.kind is Kind.UNKNOWN for token in line.tokens[line.tokens.index(numbers[0]) :]):
        return None, None  # "bir de fön olsun", "one more thing"
    behind = line.tokens[line.tokens.index(numbers[0]) + 1 :]
    counts_thing = bool(behind) and behind[0].kind is Kind.UNKNOWN and behind[0].symbol == "x"
    if counts_thing and not _CARRIERS_BEHIND.match(message.text, numbers[0].end) and (kind == "date" or numbers[0].text.isalpha()):
        return None, None  # "four cylinders", "2 high chairs"
    start = message.place[numbers[0].start]
    again = analyse(text[:start] + cue + text[start:], now=now, language=language, country="")
    span = again.spans.get(kind)
    if span is None:
        return None, None
    return getattr(again.slots, kind), (max(span[0], start) - (0 if span[0] < start + len(cue) else len(cue)), span[1] - len(cue))


def _is_ten(token: Token, language: str) -> bool:
    """Return whether a token is the number of a language that another one has as a word: "on"."""
    return token.symbol == "on" and symbols.NUMBER_OF[token.text][2] == language


def _with(reading: SlotReading, kind: str, value: object, span: Span | None) -> SlotReading:
    if value is None or span is None:
        return reading
    return replace(reading, slots=replace(reading.slots, **{kind: value}), spans=reading.spans | {kind: span})  # type: ignore[arg-type]
