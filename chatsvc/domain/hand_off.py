"""Rules of the hand-off. Whether a conversation goes to a person, and when it returns to the bot."""

from datetime import datetime

from chatsvc.domain import opening_hours, profiles
from chatsvc.domain.models import Bot

BOT, WAITING, OPERATOR = ("bot", "waiting", "operator")
MINE, UNREAD = "mine", "unread"
# Filters of the team's list: the last two are those of one operator.
MISSED = "missed"
STATUSES = (WAITING, OPERATOR, MINE, UNREAD, MISSED)
MINUTE_MS = 60_000
MOST_MINUTES = 1440


def is_open(bot: Bot, now: datetime) -> bool:
    """Return whether the business is open; without opening hours it always is. `now` is the wall time of the bot."""
    if profiles.load(bot.profile).is_closed(now.date()):
        return False
    try:
        week = opening_hours.parse(bot.opening_hours) if bot.opening_hours else None
    except ValueError:
        return True
    if week is None:
        return True
    minute = now.hour * 60 + now.minute
    return any(opens <= minute < closes for opens, closes in week.get(opening_hours.DAYS[now.weekday()], []))
