"""Rules of the hand-off. Whether a conversation goes to a person, and when it returns to the bot."""

from datetime import datetime

from chatsvc.domain import opening_hours, profiles
from chatsvc.domain.models import Bot

BOT, WAITING, OPERATOR = ("bot", "waiting", "operator")
MINE, UNREAD = "mine", "unread"
# Filters of the team's list: the last two are those of one operator.
MISSED = "missed"
# What the team has set aside: for a while, as done, and what has come back after a while.
SNOOZED, RESOLVED, BACK = "snoozed", "resolved", "back"
KNOWN = "known"  # visitors whose name or contact data are known
STATUSES = (WAITING, OPERATOR, MINE, UNREAD, MISSED, SNOOZED, RESOLVED)
MINUTE_MS = 60_000
MOST_MINUTES = 1440


def set_aside(since: int | None, until: int | None, last_message_at: int) -> str | None:
    """Return SNOOZED, RESOLVED or BACK for a conversation, None for an open one. A message reopens what was set aside before it."""
    if (since or 0) >= last_message_at:
        return SNOOZED if until else RESOLVED
    return BACK if since is None and (until or 0) > last_message_at else None


def is_open(bot: Bot, now: datetime) -> bool:
    """Return whether the business is open; without opening hours it always is. `now` is the wall time of the bot."""
    if profiles.load(bot.profile).is_closed(now.date()):
        return False
    if not bot.opening_hours:
        return True
    try:
        week = opening_hours.parse(bot.opening_hours)
    except ValueError:
        return True
    minute = now.hour * 60 + now.minute
    return any(opens <= minute < closes for opens, closes in week.get(opening_hours.DAYS[now.weekday()], []))
