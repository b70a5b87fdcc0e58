"""Answers about opening hours, today and closed days. Computed from the bot's settings and the clock."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from chatsvc.domain.models import Bot
from chatsvc.engines import Turn
from chatsvc.engines.knowledge.dialogue import closures, hours, texts
from chatsvc.engines.knowledge.dialogue.folded_line import line_of
from chatsvc.engines.knowledge.dialogue.message import VisitorMessage
from chatsvc.language.wordlists import WordFile

_FILE = WordFile("engines/knowledge/dialogue/openings.txt")
_ASKS = _FILE.compile("|".join(f"(?:{pattern})" for name, pattern in _FILE.entries if name == "asks"))
_EXPLICIT, _LISTED = _FILE.pattern("explicit"), _FILE.pattern("listed")
_COMES_NOW, _AROUND = _FILE.pattern("comes now"), _FILE.pattern("around")
_BUSINESS, _BESIDE_HOLIDAY, _PROPOSES = _FILE.pattern("business"), _FILE.pattern("beside_holiday"), _FILE.pattern("proposes")
_WEEKLY, _FOUNDED = _FILE.pattern("weekly"), _FILE.pattern("founded")
_DAYS_EN = ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")
_DAYS_TR = ("pazartesi", "sali", "carsamba", "persembe", "cuma", "cumartesi", "pazar")
# The longest first: "yılbaşı günü" is another day than "yılbaşı".
_NAMED = sorted(
    ((f" {phrase} ", name) for name, phrases in _FILE.group("day ").items() for phrase in phrases), key=lambda one: -len(one[0])
)
_HOLIDAYS = {country: frozenset(days) for country, days in _FILE.group("holidays ").items()}
_LOOKED_AHEAD = 60  # days in which the next opening is looked for
_THANKSGIVING, _THURSDAY = " thanksgiving ", 3
_BEFORE = 2  # words before "until when?" that say until when what


def asks(message: VisitorMessage) -> bool:
    """Return whether the message asks about opening hours, maybe beside something else."""
    if _FOUNDED.search(message.line) or (not _EXPLICIT.search(message.line) and _speaks_of_something(message.turn)):
        return False
    return bool(_ASKS.search(message.line) or _COMES_NOW.search(message.line))


def _speaks_of_something(turn: Turn) -> bool:
    """Return whether the visitor's last message is about something else. Then "until when?" may refer to that."""
    last = next((past.content for past in reversed(turn.history) if past.role != "user"), "")
    return bool(turn.history) and not asked_before(turn) and not texts.is_closing(turn.bot, last)


def asks_only(message: VisitorMessage) -> bool:
    """Return whether the message asks about opening hours and nothing else."""
    return asks(message) and all(map(_AROUND.match, message.said))


def asks_of_business(message: VisitorMessage) -> bool:
    """Return whether the message asks, beside something else, when the business is open. Not when breakfast ends."""
    if not asks(message):
        return False
    match = _ASKS.search(message.line) or _COMES_NOW.search(message.line)
    if match is None or _BUSINESS.search(match[0]):
        return match is not None
    beside = [*message.line[: match.start()].split()[-_BEFORE:], *match[0].split()]
    return all(map(_AROUND.match, beside))


def is_day_alone(message: VisitorMessage) -> bool:
    """Return whether the message is no more than a day: `pazar?`, `and on Saturday?`."""
    return day_of(message) is not None and message.heard.clock is None and all(map(_AROUND.match, message.said))


def proposes(message: VisitorMessage) -> bool:
    """Return whether a message proposes the day for a visit: "bugün olur mu", "is friday ok"."""
    return bool(_PROPOSES.search(message.line))


def is_closed(message: VisitorMessage) -> bool:
    """Return whether the business is closed on the day named. Never where it has no opening hours."""
    week, day, say = hours.week_of(message.turn.bot.opening_hours), day_of(message), texts.of(message.turn.bot, message.tongue)
    return day is not None and (say.profile.is_closed(day) or (bool(week) and not hours.spans_of(week, day)))


def names_holiday(message: VisitorMessage) -> bool:
    """Whether the day asked for is a holiday, which may have hours of its own."""
    day = day_of(message)
    return day is not None and is_holiday(day, message.turn.bot.country)


def names_long_time(message: VisitorMessage) -> bool:
    """Return whether the message asks about a month, a season or holidays as a whole. Nothing can be computed for those."""
    return day_of(message) is None and (closures.month_of(message.line) is not None or closures.names_season(message.line))


def stated(message: VisitorMessage) -> str | None:
    """Return what the knowledge states of the day or the month asked for. A winter break, holidays; None without a statement."""
    if day_of(message) is None and _LISTED.search(message.line) and not message.says_now and not names_long_time(message):
        return None
    month, day = closures.month_of(message.line), day_of(message) or message.now.date()
    if day_of(message) is None and month is not None:
        return closures.stated(message.turn, lambda one: one.concerns_month(month), _AROUND, message.tongue)
    if names_long_time(message):
        return closures.stated(message.turn, lambda one: one.concerns_season(message.line), _AROUND, message.tongue)
    holiday = is_holiday(day, message.turn.bot.country)
    names = [phrase for phrase, name in _NAMED if name == f"{day:%m-%d}"]
    return closures.stated(message.turn, lambda one: one.concerns(day, names, is_holiday=holiday), _AROUND, message.tongue)


def asked_before(turn: Turn) -> bool:
    """Return whether the visitor's last message, bare days aside, asked about opening hours."""
    for past in reversed(turn.history):
        if past.role == "user":
            line = line_of(past.content)
            if _ASKS.search(line):
                return True
            if len(line.split()) > 2:
                return False
    return False


def day_of(message: VisitorMessage) -> date | None:
    """The day that the message names, by date, weekday or the name of a holiday."""
    today = message.now.date()
    beside = _BESIDE_HOLIDAY.search(message.line)  # "the Monday after Christmas" is another day
    for phrase, name in _NAMED:
        if phrase in message.line and not beside:
            month, day = map(int, name.split("-"))
            this_year = date(today.year, month, day)
            return this_year if this_year >= today else date(today.year + 1, month, day)
    if _THANKSGIVING in message.line and not beside:
        return _thanksgiving(today.year)
    weekly = _WEEKLY.search(message.line) if message.heard.day is None else None
    if weekly is None:
        return message.heard.day
    weekday = _DAYS_EN.index(weekly["en"]) if weekly["en"] else _DAYS_TR.index(weekly["tr"])
    return today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)


def is_holiday(day: date, country: str) -> bool:
    """Return whether a day is a public holiday, or one on which many businesses close."""
    name = f"{day:%m-%d}"
    if country == "US" and day == _thanksgiving(day.year):
        return True
    return name in _HOLIDAYS["any"] or name in _HOLIDAYS.get(country, ())


def _thanksgiving(year: int) -> date:
    first = date(year, 11, 1)
    return first + timedelta(days=(_THURSDAY - first.weekday()) % 7 + 21)


def usual_hours(message: VisitorMessage) -> str | None:
    """Return the hours of a usual week, for a time that may have its own. None if the bot has no opening hours."""
    week, say = hours.week_of(message.turn.bot.opening_hours), texts.of(message.turn.bot, message.tongue)
    return say("hours.season", hours=hours.in_words(week, say.days)) if week else None


def answer(message: VisitorMessage) -> str | None:
    """Return the answer about the day asked for, or about now. None if the bot has no opening hours."""
    said = _answer(message)
    return said[:1].upper() + said[1:] if said else None


def _answer(message: VisitorMessage) -> str | None:
    turn, tongue = message.turn, message.tongue
    week = hours.week_of(turn.bot.opening_hours)
    if not week:
        return None
    say = texts.of(turn.bot, tongue)
    day, now = day_of(message), message.now
    if day is None and _LISTED.search(message.line) and not message.says_now:
        return f"{say('hours.week', hours=hours.in_words(week, say.days))} {_now(week, now, say)}"
    if day is None or day == now.date():
        return _now(week, now, say)
    named, span = _named(day, now.date(), say), _spans(week, day, say)
    if is_holiday(day, turn.bot.country) and not say.profile.is_closed(day):
        key = "hours.holiday" if span else "hours.holiday.closed"
        return say(key, day=f"{say.date(day)}", hours=hours.day_in_words(span))
    if not span:
        return say("hours.day.closed", day=named, next=_next(week, datetime.combine(day, now.time().max), now.date(), say))
    return say("hours.day.open", day=named, hours=hours.day_in_words(span))


def _spans(week: hours.Week, day: date, say: texts.Say) -> list[tuple[int, int]]:
    """Return the open spans of a day. None on a day that the owner has closed."""
    return [] if say.profile.is_closed(day) else hours.spans_of(week, day)


def _now(week: hours.Week, now: datetime, say: texts.Say) -> str:
    """Return whether it is open now, and until when, or when it opens next."""
    minute = now.hour * 60 + now.minute
    spans, today = _spans(week, now.date(), say), say.days[now.weekday()]
    following = _next(week, now, now.date(), say)
    for opens, closes in spans:
        if opens <= minute < closes:
            return say("hours.now.open", day=today, closes=hours.clock_of(closes))
    if not spans:
        return say("hours.today.closed", day=today, next=following)
    if minute >= spans[-1][1]:
        return say("hours.now.over", day=today, closes=hours.clock_of(spans[-1][1]), next=following)
    return say("hours.now.closed", day=today, next=following)


def next_opening(bot: Bot, now: datetime, say: texts.Say) -> str:
    """Return the sentence of a bot's next opening; empty where none is known."""
    return _next(hours.week_of(bot.opening_hours), now, now.date(), say)


def _next(week: hours.Week, after: datetime, today: date, say: texts.Say) -> str:
    """Return the next opening after an instant, in words."""
    for ahead in range(_LOOKED_AHEAD):
        day = after.date() + timedelta(days=ahead)
        for opens, _ in _spans(week, day, say):
            if ahead or opens > after.hour * 60 + after.minute:
                return say("hours.next", day=_named(day, today, say), time=hours.clock_of(opens))
    return ""


def _named(day: date, today: date, say: texts.Say) -> str:
    """Return a day in words. Today, tomorrow, a weekday of the next six days, else the date."""
    weekday = say.days[day.weekday()]
    if day == today:
        return say("day.today", day=weekday)
    if day == today + timedelta(days=1):
        return say("day.tomorrow", day=weekday)
    return weekday if today < day < today + timedelta(days=7) else say.date(day)
