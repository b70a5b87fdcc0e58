"""Facts about a business as a prompt has them: how it is reached, its hours in words, and whether it is open now. Pure functions."""

from datetime import date, datetime, timedelta
from functools import lru_cache

from chatsvc.domain import opening_hours, profiles
from chatsvc.domain.models import Bot

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (  # by hand, since strftime follows the locale
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_LOOKED_AHEAD = 60  # days in which the next opening is looked for
_NAMED_DAYS = 6  # an opening that is further away is told with its date
_SHOWN_CLOSED = 6  # closed days in a prompt

Week = dict[str, list[tuple[int, int]]]


@lru_cache(maxsize=256)
def week_of(hours: str | None) -> Week | None:
    """Return the open spans of each day, in minutes. None for no hours, and for hours that only a person can read."""
    try:
        return opening_hours.parse(hours) if hours and hours.strip() else None
    except ValueError:
        return None


@lru_cache(maxsize=256)
def hours_in_words(hours: str) -> str:
    """Return opening hours day by day: "Monday to Friday 09:00-18:00; Saturday 10:00-14:00; Sunday closed"."""
    if week_of(hours) is None:
        return hours.strip()
    runs = list[tuple[int, int, str]]()
    for day, spans in enumerate(opening_hours.by_day(hours).values()):
        if runs and runs[-1][2] == spans:
            runs[-1] = runs[-1][0], day, spans
        else:
            runs.append((day, day, spans))
    named = ((DAYS[first] if first == last else f"{DAYS[first]} to {DAYS[last]}", spans) for first, last, spans in runs)
    return "; ".join(f"{days} {spans or 'closed'}" for days, spans in named)


def is_open(bot: Bot, moment: datetime) -> bool:
    """Report whether the business is open at a local time. Without hours it always is, its closed days aside."""
    if profiles.load(bot.profile).is_closed(moment.date()):
        return False
    week = week_of(bot.opening_hours)
    minute = moment.hour * 60 + moment.minute
    return week is None or any(opens <= minute < closes for opens, closes in _spans(week, moment.date()))


def status(bot: Bot, now: datetime) -> str | None:
    """Return whether the business is open now and until when, or when it opens. None without hours."""
    week = week_of(bot.opening_hours)
    if week is None:
        return None
    if is_open(bot, now):
        minute = now.hour * 60 + now.minute
        closes = next(closes for opens, closes in _spans(week, now.date()) if opens <= minute < closes)
        return f"open until {_clock(closes % 1440)}"
    opening = next_opening(bot, now)
    return "closed" if opening is None else f"closed; opens {in_words(opening, now.date())}"


def next_opening(bot: Bot, now: datetime) -> datetime | None:
    """Return the next local time at which the business opens. None where it is not seen to."""
    week, profile = week_of(bot.opening_hours), profiles.load(bot.profile)
    for ahead in range(_LOOKED_AHEAD):
        day = now.date() + timedelta(days=ahead)
        if not profile.is_closed(day):
            for opens, _ in _spans(week or {}, day):
                moment = datetime.combine(day, datetime.min.time()) + timedelta(minutes=opens)
                if moment > now.replace(tzinfo=None):
                    return moment
    return None


def in_words(moment: datetime, today: date) -> str:
    """Return a time near today: "today 14:00", "Saturday 09:00", or with the date where it is further away."""
    clock, ahead = f"{moment:%H:%M}", (moment.date() - today).days
    if ahead == 0:
        return f"today {clock}"
    weekday = DAYS[moment.weekday()]
    return f"{weekday} {clock}" if ahead <= _NAMED_DAYS else f"{weekday} {moment.day} {MONTHS[moment.month - 1]} {clock}"


def closed_days(bot: Bot, today: date) -> str | None:
    """Return the closed days of the coming year. None without any."""
    ahead = [days for days in profiles.load(bot.profile).closed if today <= days.last < today + timedelta(days=365)]
    return "; ".join(map(str, ahead[:_SHOWN_CLOSED])) or None


def _spans(week: Week, day: date) -> list[tuple[int, int]]:
    return week.get(opening_hours.DAYS[day.weekday()], [])


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"
