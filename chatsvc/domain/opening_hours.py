"""Opening hours as they are written in a bot's settings: `mon-fri 09:00-18:00; sat 10:00-14:00`."""

from __future__ import annotations

import re
from itertools import pairwise

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_RULE = re.compile(r"(?P<first>[a-z]{3})(?:-(?P<last>[a-z]{3}))? +(?P<opens>\d\d:\d\d)-(?P<closes>\d\d:\d\d)", re.ASCII)


def _minutes(clock: str) -> int:
    hours, minutes = int(clock[:2]), int(clock[3:])
    if hours > 24 or minutes > 59 or (hours == 24 and minutes):
        raise ValueError(f"{clock} is no time of day")
    return hours * 60 + minutes


def parse(text: str) -> dict[str, list[tuple[int, int]]]:
    """The spans of each open day in minutes since midnight, in order; raises ValueError that says what is wrong."""
    week: dict[str, list[tuple[int, int]]] = {}
    for rule in filter(None, (part.strip().lower() for part in text.split(";"))):
        match = _RULE.fullmatch(rule)
        if not match:
            raise ValueError(f"{rule!r} is not of the form 'mon-fri 09:00-18:00'")
        first, last = match["first"], match["last"] or match["first"]
        if first not in DAYS or last not in DAYS:
            raise ValueError(f"{rule!r} names a day other than {', '.join(DAYS)}")
        opens, closes = _minutes(match["opens"]), _minutes(match["closes"])
        if opens >= closes:
            raise ValueError(f"{rule!r} closes before it opens")
        span = (DAYS.index(last) - DAYS.index(first)) % 7
        for offset in range(span + 1):
            week.setdefault(DAYS[(DAYS.index(first) + offset) % 7], []).append((opens, closes))
    if not week:
        raise ValueError("no opening hours are given")
    for day, spans in week.items():
        spans.sort()
        if any(before[1] > after[0] for before, after in pairwise(spans)):
            raise ValueError(f"the hours of {day} overlap")
    return week
