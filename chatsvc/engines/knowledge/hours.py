"""Check of a day and a time against the clock and the opening hours."""

from datetime import date, datetime, time, timedelta
from functools import lru_cache

from chatsvc.domain import opening_hours
from chatsvc.domain.captures import FURTHEST_DAYS

Week = dict[str, list[tuple[int, int]]]


@lru_cache(maxsize=256)
def week_of(hours: str | None) -> Week:
    """Return the open spans of each day, in minutes. Empty if no hours are set or they cannot be parsed."""
    try:
        return opening_hours.parse(hours) if hours else {}
    except ValueError:
        return {}


def refused_day(day: date, now: datetime, week: Week, *, closed: bool = False) -> str | None:
    """Return why a day is refused ("past", "far", "closed", or "over" for today after hours). None if it is not."""
    if day < now.date():
        return "past"
    if day > now.date() + timedelta(days=FURTHEST_DAYS - 1):
        return "far"
    if closed:
        return "closed"
    spans = week.get(_name(day), [])
    if not week or (spans and day > now.date()):
        return None
    return "closed" if not spans else "over" if now.hour * 60 + now.minute >= spans[-1][1] else None


def refused_time(clock: time, day: date | None, now: datetime, week: Week) -> str | None:
    """Return why a time is refused on a day; `day` None stands for every day."""
    if day is not None and datetime.combine(day, clock) <= now:
        return "past"
    if not week:
        return None
    minute = clock.hour * 60 + clock.minute
    spans = week.get(_name(day), []) if day else [span for of_day in week.values() for span in of_day]
    return None if any(opens <= minute < closes for opens, closes in spans) else "closed"


def _name(day: date) -> str:
    return opening_hours.DAYS[day.weekday()]


def in_words(week: Week, days: tuple[str, ...]) -> str:
    """Return the week in words: `Pazartesi-Cuma 09:00-18:00, Cumartesi 10:00-14:00`."""
    runs: list[tuple[int, int, list[tuple[int, int]]]] = []
    for at, name in enumerate(opening_hours.DAYS):
        spans = week.get(name)
        if not spans:
            continue
        if runs and runs[-1][1] == at - 1 and runs[-1][2] == spans:
            runs[-1] = (runs[-1][0], at, spans)
        else:
            runs.append((at, at, spans))
    return ", ".join(_run(first, last, spans, days) for first, last, spans in runs)


def _run(first: int, last: int, spans: list[tuple[int, int]], days: tuple[str, ...]) -> str:
    which = days[first] if first == last else f"{days[first]}-{days[last]}"
    return f"{which} {day_in_words(spans)}"


def spans_of(week: Week, day: date) -> list[tuple[int, int]]:
    """Return the open spans of a day, in minutes."""
    return week.get(_name(day), [])


def day_in_words(spans: list[tuple[int, int]]) -> str:
    """Return the spans of one day: `09:00-12:00 / 13:00-18:00`."""
    return " / ".join(f"{clock_of(opens)}-{clock_of(closes)}" for opens, closes in spans)


def clock_of(minute: int) -> str:
    """Return minutes since midnight as a time: `09:00`."""
    return f"{minute // 60:02}:{minute % 60:02}"
