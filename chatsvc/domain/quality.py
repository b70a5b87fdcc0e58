"""Counts of the work of bots, response times of people, and the entries that answered most."""

from collections.abc import Iterable, Mapping
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
    median = (_at(seconds, (count + 1) // 2) + _at(seconds, count // 2 + 1)) // 2
    return ResponseTimes(count, median, _at(seconds, -(-count * 9 // 10)))


def _at(seconds: Mapping[int, int], rank: int) -> int:
    """Return the time of a rank, which begins with 1."""
    ordered = iter(sorted(seconds.items()))
    value, covered = next(ordered)
    while covered < rank:
        value, times = next(ordered)
        covered += times
    return value


class UsedEntry(NamedTuple):
    """An entry of a bot, and how many replies it was the first origin of."""

    bot_id: str
    entry_id: str
    question: str
    times: int


NOTHING = Quality()


def total(counts: Iterable[Quality]) -> Quality:
    columns = list(zip(*counts, strict=True))
    return Quality(*map(sum, columns)) if columns else NOTHING
