"""Day of an appointment or of an arrival."""

from dataclasses import dataclass
from datetime import date

from chatsvc.engines.knowledge import hours
from chatsvc.engines.knowledge.fields.base import Field, Place
from chatsvc.engines.knowledge.policy.state import RequestDraft
from chatsvc.engines.knowledge.understand import Understanding


@dataclass(frozen=True, slots=True)
class Day(Field):
    """The day, which must lie ahead and on a day on which the business is open."""

    key: str = "date"

    def read(self, said: Understanding) -> str | None:
        """Return the day as an ISO date."""
        return said.values.date.value.isoformat() if said.values.date else None

    def refused(self, draft: RequestDraft, place: Place) -> str:
        """Say that the day is past, too far, or that the business is closed."""
        day = day_of(draft)
        if day is None:
            return ""
        closed = place.say.profile.is_closed(day)
        reason = hours.refused_day(day, place.now, place.week, closed=closed)
        if reason is None or (reason == "closed" and draft.insists and not closed):
            return ""
        return place.say(
            f"{reason}.date" if place.week or reason != "closed" else "closed.day", hours=hours.in_words(place.week, place.say.days)
        )

    def say(self, value: str, place: Place) -> str:
        """Return the day in words."""
        return place.say.date(date.fromisoformat(value))


@dataclass(frozen=True, slots=True)
class LastDay(Day):
    """The last day of a stay, which is noted where it is told and never asked for."""

    key: str = "until"

    def read(self, said: Understanding) -> str | None:
        """Return the day as an ISO date."""
        return said.values.until.value.isoformat() if said.values.until else None

    def refused(self, draft: RequestDraft, place: Place) -> str:
        """Return nothing: it lies behind the first day."""
        del draft, place
        return ""


def day_of(draft: RequestDraft) -> date | None:
    """Return the day of a draft."""
    value = draft.get("date")
    return date.fromisoformat(value) if value else None
