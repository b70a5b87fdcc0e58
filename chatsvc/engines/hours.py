"""Opening hours of a business: whether it is open at a time, and whether an appointment may be at a day or time."""

from datetime import date, datetime, time, timedelta
from functools import lru_cache
from itertools import groupby

from chatsvc.domain import opening_hours, profiles
from chatsvc.domain.captures import FURTHEST_DAYS
from chatsvc.domain.models import Bot

Spans = list[tuple[int, int]]  # in minutes since midnight
_LOOKED_AHEAD = 60  # days in which the next opening is looked for


@lru_cache(maxsize=256)
def week_of(hours: str | None) -> dict[str, Spans]:
    """Return the open spans of each day. The result is empty if no hours are set, or their text cannot be parsed."""
    try:
        return opening_hours.parse(hours) if hours else {}
    except ValueError:
        return {}


def spans_of(bot: Bot, day: date) -> Spans:
    """Return the open spans of a day. There are none on a day that the owner has declared closed."""
    return [] if profiles.load(bot.profile).is_closed(day) else weekly_spans(bot, day)


def weekly_spans(bot: Bot, day: date) -> Spans:
    """Return the open spans of a day by the weekly hours, without regard to closed days."""
    return week_of(bot.opening_hours).get(opening_hours.DAYS[day.weekday()], [])


def is_open(bot: Bot, moment: datetime) -> bool:
    """Return whether the business is open at a local time. Without opening hours it is open except on its closed days."""
    if not week_of(bot.opening_hours):
        return not profiles.load(bot.profile).is_closed(moment.date())
    return any(opens <= minute_of(moment) < closes for opens, closes in spans_of(bot, moment.date()))


def next_opening(bot: Bot, after: datetime) -> datetime | None:
    """Return the next local time at which the business opens, or None if it is unknown."""
    for ahead in range(_LOOKED_AHEAD):
        day = after.date() + timedelta(days=ahead)
        for opens, _ in spans_of(bot, day):
            if (moment := datetime.combine(day, time()) + timedelta(minutes=opens)) > after:
                return moment
    return None


def refused_day(bot: Bot, day: date, now: datetime) -> str | None:
    """Return why a day is refused: "past", "far", "closed", or "over" for today after hours. Return None if it is accepted."""
    if day < now.date():
        return "past"
    if day > now.date() + timedelta(days=FURTHEST_DAYS - 1):
        return "far"
    spans = spans_of(bot, day)
    if not spans:
        return "closed" if is_closed_on(bot, day) else None
    return "over" if day == now.date() and minute_of(now) >= spans[-1][1] else None


def is_closed_on(bot: Bot, day: date) -> bool:
    """Return whether the business is closed on a day: the owner has closed it, or the weekly hours leave it out."""
    return not spans_of(bot, day) and bool(week_of(bot.opening_hours) or profiles.load(bot.profile).is_closed(day))


def refused_time(bot: Bot, clock: time, day: date | None, now: datetime) -> str | None:
    """Return why a time is refused on a day: "past", "closed", or None if it is accepted. If `day` is None, the hours of all days count."""
    if day is not None and datetime.combine(day, clock) <= now:
        return "past"
    week = week_of(bot.opening_hours)
    spans = weekly_spans(bot, day) if day else [span for of_day in week.values() for span in of_day]
    return "closed" if week and not any(opens <= minute_of(clock) < closes for opens, closes in spans) else None


def in_words(bot: Bot, days: tuple[str, ...]) -> str:
    """Return the weekly opening hours in words: `Pazartesi-Cuma 09:00-18:00, Cumartesi 10:00-14:00`."""
    week = week_of(bot.opening_hours)
    runs = [(list(run), spans) for spans, run in groupby(range(7), lambda day: week.get(opening_hours.DAYS[day])) if spans]
    return ", ".join(f"{days[run[0]]}{f'-{days[run[-1]]}' if len(run) > 1 else ''} {spans_in_words(spans)}" for run, spans in runs if spans)


def spans_in_words(spans: Spans) -> str:
    """Return the spans of one day in words: `09:00-12:00 / 13:00-18:00`."""
    return " / ".join(f"{opening_hours.clock_of(opens)}-{opening_hours.clock_of(closes)}" for opens, closes in spans)


def minute_of(moment: datetime | time) -> int:
    """Return the minutes from midnight to a time."""
    return moment.hour * 60 + moment.minute
