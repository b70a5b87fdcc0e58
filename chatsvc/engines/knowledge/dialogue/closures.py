"""Days and months for which the knowledge says that the business is closed or open. Holidays, seasons, a winter break."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import islice

from chatsvc.domain.language import primary
from chatsvc.domain.models import Entry
from chatsvc.engines import Turn
from chatsvc.engines.knowledge.dialogue import facts
from chatsvc.engines.knowledge.dialogue.folded_line import line_of
from chatsvc.language.wordlists import WordFile

Place = tuple[int, int]  # month and day; the day is 0 where the whole month is meant

_FILE = WordFile("engines/knowledge/dialogue/closures.txt")
_OWN, _BARE, _SPANS, _HOLIDAYS, _SEASONS = map(_FILE.pattern, ("own", "bare", "spans", "holidays", "seasons"))
_MONTHS = {name: int(number) for number, names in _FILE.group("month ").items() for name in names}
_BEGINNINGS = tuple((name[:-1], number) for name, number in _MONTHS.items() if name.endswith("*"))
_BEFORE_MAY = _FILE.words("before_may")
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_MOST = 3_000  # entries; in more, the likely ones are searched for
_QUERY = "closed open holidays / kapalı açık tatil bayram"
_LAST_DAY = 31


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence about closed or open days. The days and months that it names, and whether it names holidays in general."""

    sentence: str
    line: str
    places: tuple[Place, ...]
    spans: bool
    holidays: bool

    def concerns(self, day: date, holiday_names: Sequence[str], *, is_holiday: bool) -> bool:
        """Return whether the sentence speaks of a day."""
        if any(name in self.line for name in holiday_names) or (is_holiday and self.holidays):
            return True
        own = (day.month, day.day)
        if self.spans and len(self.places) == 2:
            (month, first), (last_month, last) = self.places
            start, stop = (month, first), (last_month, last or _LAST_DAY)
            return start <= own <= stop if start <= stop else own >= start or own <= stop
        return any(place in (own, (day.month, 0)) for place in self.places)

    def concerns_season(self, line: str) -> bool:
        """Return whether the sentence speaks of the season or the holidays that folded words name."""
        return not _seasons(line).isdisjoint(_seasons(self.line)) or (self.holidays and bool(_HOLIDAYS.search(line)))

    def concerns_month(self, month: int) -> bool:
        """Return whether the sentence speaks of a whole month, or of days of it."""
        if self.spans and len(self.places) == 2:
            first, last = self.places[0][0], self.places[1][0]
            return first <= month <= last if first <= last else month >= first or month <= last
        return any(place[0] == month for place in self.places)


def month_of(line: str) -> int | None:
    """Return the only month that folded words name without a day."""
    found = _places(line.split())
    return found[0][0] if len(found) == 1 and not found[0][1] else None


def names_season(line: str) -> bool:
    """Return whether folded words name a season, or holidays without a date."""
    return bool(_SEASONS.search(line))


def _seasons(line: str) -> set[str]:
    return {name[:3] for name in _SEASONS.findall(line)}


def stated(turn: Turn, concerns: Callable[[Statement], bool], around: re.Pattern[str], tongue: str) -> str | None:
    """Return the answer of the entry with such a statement, the statement in front. None without one.

    `around` matches the words that leave a sentence with a bare "closed" one about the business. Entries in `tongue` come first.
    """
    entries = turn.knowledge.entries
    if len(entries) > _MOST:
        entries = [hit.entry for hit in turn.knowledge.search(_QUERY).hits]
    found = ((entry, one) for entry in entries for one in statements(entry.answer, around) if concerns(one))
    made = sorted(islice(found, _MOST), key=lambda each: primary(each[0].language) != tongue)
    return _led_by(made[0][0], made[0][1].sentence) if made else None


def _led_by(entry: Entry, sentence: str) -> str:
    rest = [one for one in facts.sentences(entry.answer) if one != sentence]
    return " ".join((sentence, *rest)) if "\n" not in entry.answer else entry.answer


@lru_cache(maxsize=4_096)
def statements(answer: str, around: re.Pattern[str]) -> tuple[Statement, ...]:
    """Return the statements about closed or open days in an answer."""
    return tuple(_statements(answer, around))


def _statements(answer: str, around: re.Pattern[str]) -> Iterator[Statement]:
    for sentence in facts.sentences(answer):
        line = line_of(sentence)
        if not _OWN.search(line) and not (_BARE.search(line) and all(map(around.match, line.split()))):
            continue
        yield Statement(sentence, line, tuple(_places(line.split())), bool(_SPANS.search(sentence.lower())), bool(_HOLIDAYS.search(line)))


def _places(said: Sequence[str]) -> list[Place]:
    """Return the months that the words name, each with the days beside it."""
    found: list[Place] = []
    for at, word in enumerate(said):
        month = _month(word, said[at - 1] if at else "")
        if month is None:
            continue
        days = [_day(said[place]) for place in (at - 2, at - 1) if place >= 0]
        before = [day for day in (days[-1:] if not days or not days[-1] else days) if day]
        after = _day(said[at + 1]) if at + 1 < len(said) and not before else 0
        found += [(month, day) for day in before or ([after] if after else [0])]
    return found


def _month(word: str, before: str) -> int | None:
    if word == "may" and not (before in _BEFORE_MAY or _day(before)):
        return None
    return _MONTHS.get(word) or next((number for beginning, number in _BEGINNINGS if word.startswith(beginning)), None)


def _day(word: str) -> int:
    """Return the day of the month that a word is; 0 for any other word."""
    match = _ORDINAL.fullmatch(word)
    return int(match[1]) if match and 1 <= int(match[1]) <= _LAST_DAY else 0
