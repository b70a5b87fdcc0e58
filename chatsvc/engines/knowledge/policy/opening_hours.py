"""Answers about opening hours and closed days, computed from the bot's settings and the clock.

A holiday, a month or a season may have hours of its own: what the knowledge states of it goes first.
"""

from datetime import date, datetime, timedelta

from chatsvc.domain.models import Bot
from chatsvc.engines.knowledge import hours
from chatsvc.engines.knowledge.fields.base import Place
from chatsvc.engines.knowledge.policy import closures
from chatsvc.engines.knowledge.policy import state as states
from chatsvc.engines.knowledge.policy.context import Context
from chatsvc.engines.knowledge.say import Say
from chatsvc.engines.knowledge.search import amounts
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS
from chatsvc.language import acts, holidays, values
from chatsvc.language.folding import words
from chatsvc.language.values import Values

_LOOKED_AHEAD = 60  # days in which the next opening is looked for
_BARE = 2  # words of a question with a number that is a day
_MOST_DAYS = 2  # weekdays that are answered one by one


def answer(c: Context, asked: str) -> str | None:
    """Return the statement of the knowledge about the time asked for, else the hours. None without either."""
    country, week = c.turn.bot.country, c.place.week
    days = _days(c, asked)
    named = closures.named(asked)
    long = not days and bool(named.months or named.seasons)
    day = days[0] if days else c.now.date()
    period = named if long else closures.of_day(day, holiday=holidays.is_one(day, country))
    names = [name for day in days for name in holidays.names_of(day, country)]
    stated = closures.stated(c.turn.knowledge, period, names, c.said.language, country)
    if stated and (days or long or not week):
        return stated
    if not week:
        return None
    listed = hours.in_words(week, c.say.days)
    if long:
        return c.say("hours.season", hours=listed)
    if days:
        return " ".join(_capitalised(_of_day(c.place, day)) for day in days)
    return " ".join(filter(None, (stated, _capitalised(c.say("hours.week", hours=listed)), "" if stated else _now(c.place))))


def things(c: Context, text: str) -> int:
    """Count the words of a text that name something besides a day, a month or a season: "the sauna"."""
    content = closures.beside_time(words(_read(c, text).rest))
    return sum(word not in STOPWORDS and not acts.is_carrier(word, "ask", c.said.language) for word in content)


def is_another_day(c: Context) -> bool:
    """Return whether a message only names another day after a question about opening hours: "and Monday?"."""
    after_hours = c.state.subject.entry == states.HOURS and not c.state.has_open_form and c.said.values.time is None
    return after_hours and bool(_days(c, c.turn.message)) and not things(c, c.turn.message)


def _read(c: Context, text: str) -> Values:
    return values.read(text, now=c.now, language=c.said.language, country=c.turn.bot.country, asked="date")


def _days(c: Context, text: str) -> list[date]:
    """Return the days that a question names, by date, holiday or weekday: a weekend is two."""
    if named := holidays.named(text, c.said.language, c.now.date()):
        return [named]
    found = _read(c, text).date
    if found and (found.explicit or len(words(text)) <= _BARE):  # "and the 5th?", but not "3 hours maybe?"
        return [found.value]
    today, weekdays = c.now.date(), sorted(amounts.read(text).days)
    ahead = (today + timedelta(days=(one - today.weekday()) % 7) for one in weekdays)
    return sorted(ahead) if 0 < len(weekdays) <= _MOST_DAYS else []


def _capitalised(said: str) -> str:
    return said[:1].upper() + said[1:]


def next_opening(bot: Bot, now: datetime, say: Say) -> str:
    """Return the next opening in words; "" for a bot without opening hours."""
    return _next(Place(bot, hours.week_of(bot.opening_hours), now, say), now)


def _of_day(place: Place, day: date) -> str:
    if day == place.now.date():
        return _now(place)
    span, named = _spans(place, day), _named(place, day)
    if holidays.is_one(day, place.bot.country) and not place.say.profile.is_closed(day):
        return place.say("hours.holiday" if span else "hours.holiday.closed", day=place.say.date(day), hours=hours.day_in_words(span))
    if not span:
        return place.say("hours.day.closed", day=named, next=_next(place, datetime.combine(day, place.now.time().max)))
    return place.say("hours.day.open", day=named, hours=hours.day_in_words(span))


def _spans(place: Place, day: date) -> list[tuple[int, int]]:
    """Return the open spans of a day. None on a day that the owner has closed."""
    return [] if place.say.profile.is_closed(day) else hours.spans_of(place.week, day)


def _now(place: Place) -> str:
    """Return whether it is open now, and until when, or when it opens next."""
    minute = place.now.hour * 60 + place.now.minute
    spans, today, following = _spans(place, place.now.date()), place.say.days[place.now.weekday()], _next(place, place.now)
    for opens, closes in spans:
        if opens <= minute < closes:
            return place.say("hours.now.open", day=today, closes=hours.clock_of(closes))
    if not spans:
        return place.say("hours.today.closed", day=today, next=following)
    if minute >= spans[-1][1]:
        return place.say("hours.now.over", day=today, closes=hours.clock_of(spans[-1][1]), next=following)
    return place.say("hours.now.closed", day=today, next=following)


def _next(place: Place, after: datetime) -> str:
    """Return the next opening after an instant, in words."""
    for ahead in range(_LOOKED_AHEAD):
        day = after.date() + timedelta(days=ahead)
        for opens, _ in _spans(place, day):
            if ahead or opens > after.hour * 60 + after.minute:
                return place.say("hours.next", day=_named(place, day), time=hours.clock_of(opens))
    return ""


def _named(place: Place, day: date) -> str:
    """Return a day in words. Today, tomorrow, a weekday of the next six days, else the date."""
    weekday, today = place.say.days[day.weekday()], place.now.date()
    if day == today:
        return place.say("day.today", day=weekday)
    if day == today + timedelta(days=1):
        return place.say("day.tomorrow", day=weekday)
    return weekday if today < day < today + timedelta(days=7) else place.say.date(day)
