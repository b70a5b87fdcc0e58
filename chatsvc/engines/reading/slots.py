"""A text read as a whole, and a bare answer to a question the bot has just asked."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from chatsvc.engines.reading import contacts, dates, names, selection, symbols, times, vocabulary
from chatsvc.engines.reading.contacts import Contact
from chatsvc.engines.reading.language_detection import guess
from chatsvc.engines.reading.mentions import Mention
from chatsvc.engines.reading.selection import Candidate
from chatsvc.engines.reading.token_line import Line
from chatsvc.engines.reading.tokenizer import MAX_CHARACTERS, Folded, ends_of, fold, line_of

KINDS = ("date", "time", "email", "phone", "name")
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Slots:
    """What a text holds; None where it holds no such thing."""

    language: str
    date: date | None = None
    time: time | None = None
    email: str | None = None
    phone: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text holds, and for each thing found the span (start, end) of the text as typed that says it."""

    slots: Slots
    spans: dict[str, Span]
    gone: bool = False  # whether it speaks of a day that is over, and of no other
    never: bool = False  # whether it speaks of a day that is in no calendar, and of no other


def read(text: str, *, now: datetime, language: str | None = None, country: str = "TR") -> Slots:
    """What a text holds; `now` is the bot's wall clock, `country` that of telephone numbers without a prefix."""
    return examine(text, now=now, language=language, country=country).slots


def examine(text: str, *, now: datetime, language: str | None = None, country: str = "TR") -> Reading:
    """What a text holds, and where; of a long one its two ends are read."""
    kept, gap = ends_of(text)
    reading = _examined(kept, now, language, country)
    if not gap[1]:
        return reading
    spans = {kind: (_back(start, gap), _back(end - 1, gap) + 1) for kind, (start, end) in reading.spans.items()}
    return replace(reading, spans=spans)


def _back(place: int, gap: tuple[int, int]) -> int:
    """Where a place of the text without its middle is in the whole."""
    return place if place < gap[0] else place + gap[1]


def _examined(text: str, now: datetime, language: str | None, country: str) -> Reading:
    folded = fold(text)
    addresses = contacts.emails(folded, text)
    masked = [(one.start, one.end) for one in addresses] + contacts.other_numbers(folded)
    numbers = contacts.phones(folded, country, masked) or contacts.spoken(folded, country)
    masked += [(one.start, one.end) for one in numbers]
    line = line_of(folded, masked, text)
    found: dict[str, object] = {}
    spans: dict[str, Span] = {}
    for kind, several in (("email", addresses), ("phone", numbers)):
        if contact := _wanted_contact(line, several):
            found[kind], spans[kind] = contact.value, (folded.place[contact.start], folded.place[contact.end])
    days = _days_and_times(line, folded, now, found, spans)
    none = not any(day.value for day in days)
    gone, never = none and any(day.gone for day in days), none and any(day.explicit for day in days)
    if name := names.find(*_without(folded, text, [*numbers, *addresses])):
        found["name"], spans["name"] = name.value, (name.start, name.end)
    return Reading(Slots(_language(text, line, language, country), **found), spans, gone, never)  # type: ignore[arg-type]


def _without(folded: Folded, text: str, several: list[Contact]) -> tuple[Folded, str, list[int]]:
    """The text with contact data blotted out, whose letters are no name, and where each began."""
    places = [(folded.place[one.start], folded.place[one.end]) for one in several]
    blotted = folded.text
    for one in several:
        blotted = blotted[: one.start] + "\x00" * (one.end - one.start) + blotted[one.end :]
    for start, end in places:
        text = text[:start] + "\x00" * (end - start) + text[end:]
    return Folded(blotted, folded.place), text, [start for start, _ in places]


def _wanted_contact(line: Line, found: list[Contact]) -> Contact | None:
    at = selection.choose(line, [Candidate(one.start, one.end) for one in found])
    return None if at is None else found[at]


def _days_and_times(line: Line, folded: Folded, now: datetime, found: dict[str, object], spans: dict[str, Span]) -> list[Mention[date]]:
    """Puts what was found into `found` and `spans`; all days that were spoken of."""
    days = dates.find(line, now.date())
    shorter = line.replaced([(one.first, one.end, _day_symbol(line, one)) for one in days if one.value or not one.explicit])
    clocks = [one for one in times.find(shorter) if not _of_the_past(shorter, one)]
    named = [one for one in days if one.value]
    day_places = [_candidate(line, one) for one in named]
    clock_places = [_candidate(shorter, one) for one in clocks]
    out = [place for place, refused in zip(day_places, selection.rejections(line, day_places), strict=True) if refused]
    if (at := selection.choose(line, day_places, others=clock_places)) is not None:
        found["date"] = named[at].value
        spans["date"] = (folded.place[day_places[at].start], folded.place[day_places[at].end])
    if (at := selection.choose(line, clock_places, beside=out, others=day_places)) is not None:
        hours, minutes = divmod(clocks[at].value or 0, 60)
        found["time"] = time(hours, minutes)
        spans["time"] = (folded.place[clock_places[at].start], folded.place[clock_places[at].end])
    return days


def _of_the_past(line: Line, clock: Mention[int]) -> bool:
    """`dün saat 3'te`, `at 3 last Friday`: beside a day that is over."""
    before = [token.symbol for token in line.tokens[max(0, clock.first - 2) : clock.first]]
    behind = [token.symbol for token in line.tokens[clock.end : clock.end + 2]]
    inside = [token.symbol for token in line.tokens[clock.first : clock.end]]
    return "gone" in inside or before[-1:] == ["gone"] or (before[:1] == ["gone"] and before[1] in _LOOSE) or behind[:1] == ["gone"]


_LOOSE = frozenset({"at", "around", "saat", "morning", "noon", "afternoon", "evening", "night", "in"})


def _day_symbol(line: Line, mention: Mention[date]) -> str:
    """`DATE`, and the part of the day where "tonight" or "this evening" says one."""
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


def _candidate(line: Line, mention: Mention[date] | Mention[int]) -> Candidate:
    tokens = line.tokens[mention.first : mention.end]
    # "not 4" and "Friday 4" are read as times, but only the 4 is
    while len(tokens) > 1 and tokens[0].symbol in _AROUND:
        tokens = tokens[1:]
    while len(tokens) > 1 and tokens[-1].symbol in _AROUND:
        tokens = tokens[:-1]
    cases = [token.symbol.partition("'")[2] for token in tokens if "'" in token.symbol]
    text = tokens[-1].text
    case = cases[-1] if cases else "dat" if text in {"gunune", "gune"} else "ki" if text in {"gunku", "gunki"} else ""
    return Candidate(tokens[0].start, tokens[-1].end, "dat" if case == "psd" else case)


_TURKISH_SYMBOLS = frozenset({"nextweek", "ayin", "saat", "gibi", "kala", "yarim", "obur", "ertesi", "her"})


def _language(text: str, line: Line, language: str | None, country: str) -> str:
    """As given; else by the letters and small words; else by the words of the grammar; else that of the country."""
    if language:
        return re.split(r"[-_]", language)[0].lower()
    if guessed := guess(text):
        return guessed
    votes = 0
    for token in line.tokens:
        if token.symbol.startswith(("Dt", "De")):
            votes += 1 if token.symbol[1] == "t" else -1
        elif token.symbol in _TURKISH_SYMBOLS and token.text != "clock":
            votes += 1 if token.text not in vocabulary.CARDINALS_EN.values() and token.text != "next week" else -1
        elif (known := symbols.NUMBER_OF.get(token.text)) and token.text not in {"on", "ten"}:
            votes += 1 if known[2] == "tr" else -1
    if votes:
        return "tr" if votes > 0 else "en"
    return "tr" if country.upper() == "TR" else "en"


_BARE_HOUR = re.compile(r"\D{0,12}?(\d{1,2})\D{0,12}")
_BARE_DAY = re.compile(r"(?:(?:on|the|the|ayin|for) )*#(3[01]|[12]\d|0?[1-9])\??(?:'\w+)? (?:day |ok |for |x )*[.!]? ?")


_COUNTS = {"half an": 0.5, "an": 1, "a": 1, "one": 1, "two": 2, "three": 3, "yarim": 0.5, "bir bucuk": 1.5, "bir": 1, "iki": 2, "uc": 3}
_COUNT = rf"(?:(?P<n>\d{{1,3}})|(?P<w>{'|'.join(_COUNTS)}))"
_SOON = (
    re.compile(rf"\bin {_COUNT} (?P<unit>hour|min)"),
    re.compile(rf"\b{_COUNT} (?P<unit>saat|dakika|dk)(?:y?[ae]\b| sonra\b| icinde\b)"),
)


def read_answer(kind: str, text: str, *, now: datetime, language: str | None = None, country: str = "TR") -> Reading:
    """What a text holds, where the bot has just asked for `kind` (one of KINDS): a bare "3", "Ayşe" or "5'i" is enough then."""
    reading = examine(text, now=now, language=language, country=country)
    if getattr(reading.slots, kind) is not None:
        return reading
    if len(text) > MAX_CHARACTERS or (reading.gone and kind in {"date", "time"}):  # that is no bare answer
        return reading
    if kind in {"date", "time"} and (soon := next(filter(None, (one.search(fold(text).text) for one in _SOON)), None)):
        return _from_now(reading, soon, now)
    if kind == "time":
        return _with(reading, kind, *_bare("saat ", text, now, kind))
    if kind == "date":
        return _with(reading, kind, *_bare("ayin ", text, now, kind))
    if kind == "phone":
        digits = re.search(r"\+?\d[\d\s().\-/]{5,24}\d", text)
        number = digits and contacts.is_number_of_any_plan(digits[0], country)
        return _with(reading, kind, number, digits.span()) if number and digits else reading
    if kind == "name" and (name := names.answer(text)):
        return _with(reading, kind, name.value, (name.start, name.end))
    return reading


def _from_now(reading: Reading, soon: re.Match[str], now: datetime) -> Reading:
    """`in half an hour`, `45 dakika sonra`: five minutes are the smallest step."""
    count = float(soon["n"] or _COUNTS[soon["w"]])
    at = now + timedelta(minutes=count * (60 if soon["unit"] in {"hour", "saat"} else 1))
    at += timedelta(minutes=-at.minute % 5)
    return replace(reading, slots=replace(reading.slots, date=at.date(), time=at.time().replace(second=0, microsecond=0)))


def _bare(cue: str, text: str, now: datetime, kind: str) -> tuple[object, Span | None]:
    """The answer read as if the word that says what it is stood before its first number."""
    folded = fold(text)
    line = line_of(folded, (), text)
    numbers = [token for token in line.tokens if token.symbol.startswith("#") or token.symbol in {"on", "yarim"}]
    if not numbers or len(line.tokens) > 6:
        return None, None
    start = folded.place[numbers[0].start]
    again = examine(text[:start] + cue + text[start:], now=now, language="tr")
    span = again.spans.get(kind)
    if span is None:
        return None, None
    return getattr(again.slots, kind), (max(span[0], start) - (0 if span[0] < start + len(cue) else len(cue)), span[1] - len(cue))


def _with(reading: Reading, kind: str, value: object, span: Span | None) -> Reading:
    if value is None or span is None:
        return reading
    return Reading(replace(reading.slots, **{kind: value}), reading.spans | {kind: span})  # type: ignore[arg-type]
