"""Parser of opening hours in Turkish and English.

A bot's settings contain them as `mon-fri 09:00-18:00; sat 10:00-14:00`. Other accepted forms: `Pzt-Cum 09.00-18.00`, `daily 9am-6pm`,
`her gün 9-22, pazar kapalı`. A part is a list of days, then one or more spans of hours or "closed".
"""

import re
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from chatsvc import translations
from chatsvc.domain import times
from chatsvc.domain.folding import fold

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NAMES_OF_DAYS = {
    "tr": dict(zip(DAYS, map(str.lower, times.DAYS["tr"]), strict=True)),
    "en": dict(zip(DAYS, times.DAYS["en"], strict=True)),
}
_NOON, _DAY = 12 * 60, 24 * 60
_LATEST = 6 * 60  # until when a night's hours may go on after midnight

_NAMES = """
mon monday mo pazartesi pzt pts
tue tues tuesday tu sali sal
wed weds wednesday we carsamba car crs
thu thur thurs thursday th persembe per prs
fri friday fr cuma cum
sat saturday sa cumartesi cmt cts
sun sunday su pazar paz pz
"""
_DAY_OF = {name: day for day, line in enumerate(_NAMES.split("\n")[1:-1]) for name in line.split()}
_GROUPS = {
    **dict.fromkeys(("daily", "everyday", "hergun", "every day", "her gun", "all week", "7 days a week", "haftanin her gunu"), range(7)),
    **dict.fromkeys(("weekday", "weekdays", "hafta ici", "haftaici", "on weekdays"), range(5)),
    **dict.fromkeys(("weekend", "weekends", "hafta sonu", "haftasonu"), range(5, 7)),
}
_CLOSED = "closed|kapali(?:yiz|dir)?"
_WHOLE_DAY = r"24 ?hours|24 ?saat|round the clock|all day|tum gun|24/7"
_IGNORED = (
    "from|between|open|opening|hours?|acik(?:tir|iz)?|arasi(?:nda)?|saat(?:leri)?|calisma|gun(?:u|leri)?|o'?clock|kadar|on|at|is|are|we"
)
_OF_A_DAY = {"time", "to", "and", "whole"}
_TO = "to|until|till|through|thru|ile|'?(?:den|dan|ten|tan)"
_CLOCK = r"(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d))?(?:\s*(?P<half>[ap])\.?m\b\.?)?(?![\d:])"
_TOKEN = re.compile(
    rf"""\s{{0,50}}+(?:(?P<whole>(?:{_WHOLE_DAY})\b)
    |(?P<group>(?:{"|".join(sorted(map(re.escape, _GROUPS), key=len, reverse=True))})\b)
    |(?P<closed>(?:{_CLOSED})\b)
    |{_CLOCK}
    |(?P<to>-+|(?:{_TO})\b)
    |(?P<and>[,;&/+\n]|(?:and|ve)\b)
    |(?P<none>:|\.|[()]|(?:{_IGNORED})\b|'?(?:y?[ae]|s?i|n?in)\b)
    |(?P<day>[a-z]+))""".replace("\n    ", ""),
    re.ASCII,
)


class OpeningHoursError(ValueError):
    """Opening hours that cannot be read; `code` is one of `translations/opening_hours.yaml`."""

    def __init__(self, code: str, **facts: str) -> None:
        super().__init__(code, facts)
        self.code = code
        self.facts = facts

    def __str__(self) -> str:
        """Return the sentence of the fault in English."""
        return sentence(self.code, self.facts)


def sentence(code: str, facts: Mapping[str, str], language: str = "en") -> str:
    """Return the sentence of a fault in "en" or "tr"."""
    values = {"expected": translations.template(language, "opening_hours.expected"), **facts}
    if language == "tr" and "day" in facts:
        values["day"] = _NAMES_OF_DAYS["tr"][facts["day"]]
    if "days" in facts:
        values["days"] = ", ".join(_NAMES_OF_DAYS[language][day] for day in facts["days"].split(", "))
    return translations.worded("opening_hours", code, values, language)


class _HoursToken(NamedTuple):
    """A word of the text: its kind, its value, and how it was written."""

    kind: str
    value: tuple[int, ...]
    text: str


def parse(text: str) -> dict[str, list[tuple[int, int]]]:
    """Return the spans of each open day in minutes since midnight, in order; raises OpeningHoursError."""
    week: dict[int, list[tuple[int, int]]] = {}
    replaceable: set[int] = set()  # days that only a group such as "daily" has given hours
    tokens = _tokens(text)
    index = 0
    while index < len(tokens):
        if tokens[index].kind == "and":
            index += 1
            continue
        index, days, of_group = _days(tokens, index)
        index, spans = _spans(tokens, index)
        for day in days:
            if day in replaceable and not of_group:
                week.pop(day, None)
                replaceable.discard(day)
            if spans is None:
                week.pop(day, None)
                continue
            if of_group and day not in week:
                replaceable.add(day)
            for opens, closes in spans:
                week.setdefault(day, []).append((opens, min(closes, _DAY)))
                if closes > _DAY:
                    week.setdefault((day + 1) % 7, []).append((0, closes - _DAY))
    return _checked(week)


def normalize(text: str) -> str:
    """Return opening hours in the form of a bot's settings; raises OpeningHoursError."""
    week = parse(text)
    rules = []
    for spans, days in groupby(range(7), key=lambda day: week.get(DAYS[day])):
        first, *others = days
        name = f"{DAYS[first]}-{DAYS[others[-1]]}" if others else DAYS[first]
        rules += [f"{name} {clock_of(opens)}-{clock_of(closes)}" for opens, closes in spans or []]
    return "; ".join(rules)


def of_days(hours: Mapping[str, str]) -> str:
    """Join the hours of each day into one text of a bot's settings. It is "" if no day has hours.

    `hours` has the text for each day of DAYS, such as "9-12, 13-18:30", or "" for a closed day. Raises one OpeningHoursError for all days.
    """
    rules, wrong = [], []
    for day in DAYS:
        text = hours.get(day, "").strip()
        try:
            kinds = {token.kind for token in _tokens(text)}
            if kinds <= {"closed"}:
                continue
            if not kinds <= _OF_A_DAY:
                raise OpeningHoursError("of_days", days=day)
            parse(f"{day} {text}")
        except OpeningHoursError:
            wrong.append(day)
        rules.append(f"{day} {text}")
    if wrong:
        raise OpeningHoursError("of_days", days=", ".join(wrong))
    return normalize("; ".join(rules)) if rules else ""


def by_day(text: str | None) -> dict[str, str]:
    """Return normalised opening hours for each day of DAYS, as `of_days` reads them. A closed day has ""."""
    if not text:
        return dict.fromkeys(DAYS, "")
    week = parse(text)
    spans = {day: list(week.get(day, [])) for day in DAYS}
    for day, following in zip(DAYS, (*DAYS[1:], DAYS[0]), strict=True):
        late, early = spans[day], spans[following]
        if late and early and late[-1][1] == _DAY and late[-1][0] >= _NOON and early[0][0] == 0 and early[0][1] <= _LATEST:
            late[-1] = late[-1][0], early.pop(0)[1]
    return {day: ", ".join(f"{clock_of(opens)}-{clock_of(closes)}" for opens, closes in spans[day]) for day in DAYS}


def runs(text: str, names: Sequence[str], to: str) -> list[tuple[str, str]]:
    """Return each run of days with equal hours, such as `Monday to Friday`, and its hours, or "" if closed. `to` joins two day names."""
    rows = []
    for hours, days in groupby(zip(names, by_day(text).values(), strict=True), key=lambda day: day[1]):
        (first, _), *others = days
        rows.append((f"{first}{to}{others[-1][0]}" if others else first, hours))
    return rows


def in_words(text: str, language: str) -> str:
    """Return normalised opening hours as people write them: `Pazartesi-Cuma 09:00-18:00, Cumartesi 10:00-14:00`."""
    return ", ".join(f"{days} {hours.replace(', ', ' / ')}" for days, hours in runs(text, times.DAYS[language], "-") if hours)


def clock_of(minutes: int) -> str:
    """Return minutes since midnight as a time: `09:00`."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _tokens(text: str) -> list[_HoursToken]:
    folded = re.sub("[‐-―−]", "-", fold(text)).replace("’", "'").strip()
    tokens, start = list[_HoursToken](), 0
    while start < len(folded):
        match = _TOKEN.match(folded, start)
        if match is None:
            raise OpeningHoursError("unreadable", text=folded[start : start + 20].strip())
        start, kind, word = match.end(), match.lastgroup or "", match[0].strip()
        if match["hour"]:
            tokens.append(_HoursToken("time", _time(match, word), word))
        elif kind == "day":
            name = next((name for name in (word, re.sub("(?:l[ae]r)?[is]$", "", word)) if name in _DAY_OF), None)
            if name is None:
                raise OpeningHoursError("no_day", text=word)
            tokens.append(_HoursToken("day", (_DAY_OF[name],), word))
        elif kind == "group":
            tokens.append(_HoursToken("group", tuple(_GROUPS[word]), word))
        elif kind != "none":
            tokens.append(_HoursToken(kind, (), word))
    return tokens


def _time(match: re.Match[str], word: str) -> tuple[int, ...]:
    """Return minutes since midnight, and 1 if the time may be in the morning or in the afternoon, otherwise 0."""
    hour, minute, half = int(match["hour"]), int(match["minute"] or 0), match["half"]
    if hour > 24 or minute > 59 or (hour == 24 and minute) or (half and not 1 <= hour <= 12):
        raise OpeningHoursError("no_time", text=word)
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return hour * 60 + minute, int(not half and 1 <= hour <= 12 and not word.startswith("0"))


def _days(tokens: list[_HoursToken], index: int) -> tuple[int, list[int], bool]:
    if tokens[index].text == "24/7":
        return index, list(range(7)), True
    days: list[int] = []
    of_group = False
    while index < len(tokens) and tokens[index].kind in {"day", "group", "and"}:
        token = tokens[index]
        days += token.value
        of_group |= token.kind == "group"
        if token.kind == "day" and index + 2 < len(tokens) and tokens[index + 1].kind == "to" and tokens[index + 2].kind == "day":
            first, last = token.value[0], tokens[index + 2].value[0]
            days += [(first + offset) % 7 for offset in range(1, (last - first) % 7 + 1)]
            index += 2
        index += 1
    if not days:
        raise OpeningHoursError("day_expected", text=tokens[index].text)
    return index, list(dict.fromkeys(days)), of_group


def _spans(tokens: list[_HoursToken], index: int) -> tuple[int, list[tuple[int, int]] | None]:
    """Read spans of hours from `index` on. Return the index of the next token, and the spans, which are None for "closed"."""
    if index < len(tokens) and tokens[index].kind in {"closed", "whole"}:
        return index + 1, None if tokens[index].kind == "closed" else [(0, _DAY)]
    spans: list[tuple[int, int]] = []
    while index < len(tokens) and tokens[index].kind == "time":
        if [token.kind for token in tokens[index + 1 : index + 3]] != ["to", "time"]:
            raise OpeningHoursError("no_closing_time", text=tokens[index].text)
        spans.append(_span(tokens[index], tokens[index + 2]))
        index += 3
        if [token.kind for token in tokens[index : index + 2]] == ["and", "time"]:
            index += 1
    if not spans:
        raise OpeningHoursError("no_hours", text=tokens[index - 1].text)
    return index, spans


def _span(first: _HoursToken, last: _HoursToken) -> tuple[int, int]:
    (opens, either), (closes, closes_either) = first.value, last.value
    if either and not closes_either and "p" in last.text and opens + _NOON < closes:
        opens += _NOON  # 1-6pm
    if closes <= opens < _DAY and closes_either and closes < _NOON and opens < closes + _NOON:
        closes += _NOON  # 9-6
    if closes <= opens and opens >= _NOON and closes <= _LATEST:
        closes += _DAY  # 20:00-02:00
    if opens >= closes:
        raise OpeningHoursError("closes_first", text=f"{first.text}-{last.text}")
    return opens, closes


def _checked(week: dict[int, list[tuple[int, int]]]) -> dict[str, list[tuple[int, int]]]:
    if not week:
        raise OpeningHoursError("nothing")
    for day, spans in week.items():
        spans.sort()
        if any(before[1] > after[0] for before, after in pairwise(spans)):
            raise OpeningHoursError("overlap", day=DAYS[day])
    return {DAYS[day]: week[day] for day in sorted(week)}
