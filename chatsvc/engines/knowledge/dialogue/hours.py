"""Whether a day and a time can be had: they lie ahead, and the business is open then."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from functools import lru_cache

from chatsvc.domain import opening_hours
from chatsvc.domain.captures import FURTHEST_DAYS

Week = dict[str, list[tuple[int, int]]]


@lru_cache(maxsize=256)
def week_of(hours: str | None) -> Week:
    """The open spans of each day; nothing where no hours are set, or none that can be read."""
    try:
        return opening_hours.parse(hours) if hours else {}
    except ValueError:
        return {}


def refused_day(day: date, now: datetime, week: Week) -> str | None:
    """Why a day cannot be had ("past", "far", "closed", "over": today, after hours); None where it can."""
    if day < now.date():
        return "past"
    if day > now.date() + timedelta(days=FURTHEST_DAYS - 1):
        return "far"
    spans = week.get(_name(day), [])
    if not week or (spans and day > now.date()):
        return None
    return "closed" if not spans else "over" if now.hour * 60 + now.minute >= spans[-1][1] else None


def refused_time(clock: time, day: date | None, now: datetime, week: Week) -> str | None:
    """Why a time cannot be had on that day, or on any where no day is known yet."""
    if day is not None and datetime.combine(day, clock) <= now:
        return "past"
    if not week:
        return None
    minute = clock.hour * 60 + clock.minute
    spans = week.get(_name(day), []) if day else [span for of_day in week.values() for span in of_day]
    return None if any(opens <= minute < closes for opens, closes in spans) else "closed"


def _name(day: date) -> str:
    return opening_hours.DAYS[day.weekday()]


def told(week: Week, days: tuple[str, ...]) -> str:
    """The week in words, days with the same hours together: `Pazartesi-Cuma 09:00-18:00, Cumartesi 10:00-14:00`."""
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
    return f"{which} " + " / ".join(f"{_clock(opens)}-{_clock(closes)}" for opens, closes in spans)


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"
