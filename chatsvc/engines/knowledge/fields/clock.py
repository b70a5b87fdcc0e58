"""Time of an appointment."""

from dataclasses import dataclass
from datetime import time

from chatsvc.engines.knowledge import hours
from chatsvc.engines.knowledge.fields.base import Field, Place
from chatsvc.engines.knowledge.fields.day import day_of
from chatsvc.engines.knowledge.policy.state import RequestDraft
from chatsvc.engines.knowledge.understand import Understanding

_NOON = 12
_FIRST_BARE = 7  # the first hour that is taken for the morning as said


@dataclass(frozen=True, slots=True)
class Clock(Field):
    """The time, which must lie in the opening hours of its day."""

    key: str = "time"

    def read(self, said: Understanding) -> str | None:
        """Return the time as HH:MM. A number of people is none: "for 6 ppl"."""
        found, people = said.values.time, said.values.people
        counted = found is not None and people is not None and people.start <= found.start < people.end
        return f"{found.value:%H:%M}" if found and not counted else None

    def refused(self, draft: RequestDraft, place: Place) -> str:
        """Say that the time is past or outside of the opening hours."""
        clock = clock_of(draft)
        reason = hours.refused_time(clock, day_of(draft), place.now, place.week) if clock else None
        if reason == "closed" and draft.insists:
            return ""
        return place.say(f"{reason}.time", hours=hours.in_words(place.week, place.say.days), time=f"{clock:%H:%M}") if reason else ""


def clock_of(draft: RequestDraft) -> time | None:
    """Return the time of a draft."""
    value = draft.get("time")
    return time.fromisoformat(value) if value else None


def meant(draft: RequestDraft, said: Understanding, place: Place, part_before: str = "") -> RequestDraft:
    """Return the draft with the time that is meant, in the evening for an hour from 7 to 11."""
    clock, part = clock_of(draft), said.values.part_of_day or part_before
    if said.values.time is None or clock is None or not _FIRST_BARE <= clock.hour < _NOON or part == "morning":
        return draft
    later = clock.replace(hour=clock.hour + _NOON)
    if hours.refused_time(later, day_of(draft), place.now, place.week):
        return draft
    closed = hours.refused_time(clock, day_of(draft), place.now, place.week) == "closed"
    return draft.put("time", f"{later:%H:%M}") if closed or part in ("evening", "night") else draft
