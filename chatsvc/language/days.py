"""Calendar arithmetic of relative days. Weeks run Monday to Sunday; None stands for a day that does not exist."""

import calendar
from datetime import date, timedelta


def make(year: int, month: int, day: int) -> date | None:
    """Return the date."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


def after(today: date, days: int) -> date | None:
    """Return the date `days` after today."""
    try:
        return today + timedelta(days=days)
    except OverflowError:
        return None


def next_weekday(today: date, weekday: int, weeks: int = 0) -> date | None:
    """Return the next such weekday (0 is Monday) after today, or the one `weeks` after it."""
    return after(today, (weekday - today.weekday() - 1) % 7 + 1 + 7 * weeks)


def weekday_of_week(today: date, weekday: int, weeks: int) -> date | None:
    """Return the weekday of the calendar week that is `weeks` from this one."""
    return after(today, weekday - today.weekday() + 7 * weeks)


def next_number(today: date, day: int) -> date | None:
    """Return the next date after today with this day of the month. Shorter months are skipped."""
    dates = (in_month(today, months, day) for months in range(13))
    return next((found for found in dates if found and found > today), None)


def in_month(today: date, months: int, day: int) -> date | None:
    """Return a day of the month that is `months` from this one. None if that month is shorter."""
    year, month = divmod(today.year * 12 + today.month - 1 + months, 12)
    return make(year, month + 1, day)


def months_after(today: date, months: int) -> date | None:
    """Return the same day `months` later, or the last day of a shorter month."""
    first = in_month(today, months, 1)
    return first and first.replace(day=min(today.day, calendar.monthrange(first.year, first.month)[1]))


def next_date(today: date, month: int, day: int) -> date | None:
    """Return the next occurrence of a day and month, today included."""
    dates = (make(year, month, day) for year in range(today.year, today.year + 9))
    return next((found for found in dates if found and found >= today), None)


def nth_weekday(today: date, months: int, nth: int, weekday: int) -> date | None:
    """Return the nth weekday of a month, -1 for the last."""
    first = in_month(today, months, 1)
    if first is None:
        return None
    if nth < 0:
        following = in_month(today, months + 1, 1)
        return following and after(following, -((following.weekday() - weekday - 1) % 7 + 1))
    return after(first, (weekday - first.weekday()) % 7 + 7 * (nth - 1))
