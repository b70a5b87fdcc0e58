"""Counts of the work of bots, response times of people, and the entries that answered most."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import NamedTuple

ENTRY, RESPONSE_S = "entry", "response_s"


class Quality(NamedTuple):
    """Counts: messages with a reply, questions without an answer, conversations given to people, captures, thumbs, tokens, cost."""

    answered: int = 0
    unanswered: int = 0
    handed_over: int = 0
    requests: int = 0
    appointments: int = 0
    up: int = 0
    down: int = 0
    tokens: int = 0
    cost_micro_usd: int = 0


# All that is counted of a day. ENTRY counts the entries of replies, and RESPONSE_S the times of first responses in seconds.
COUNTED = (*Quality._fields, ENTRY, RESPONSE_S)


class ResponseTimes(NamedTuple):
    """Seconds from a visitor's wish for a person to the person's first message. None without any."""

    responses: int
    median: int | None
    p90: int | None


def response_times(seconds: Mapping[int, int]) -> ResponseTimes:
    """Return median and 90th percentile of times in seconds, which come with their counts."""
    count = sum(seconds.values())
    if not count:
        return ResponseTimes(0, None, None)
    times = sorted(seconds)
    covered = list(accumulate(seconds[time] for time in times))

    def at(rank: int) -> int:
        return times[bisect_left(covered, rank)]

    return ResponseTimes(count, (at((count + 1) // 2) + at(count // 2 + 1)) // 2, at(-(-count * 9 // 10)))


class UsedEntry(NamedTuple):
    """An entry of a bot, and how many replies it was the first origin of."""

    bot_id: str
    entry_id: str
    question: str
    times: int


NOTHING = Quality()


def total(counts: Iterable[Quality]) -> Quality:
    """Sum up counts."""
    columns = list(zip(*counts, strict=True))
    return Quality(*map(sum, columns)) if columns else NOTHING
