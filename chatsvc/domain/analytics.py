"""Usage of an account over a window of days (help/interface.md 5.6), and the quality of its bots' work."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import NamedTuple, TypeVar

from chatsvc.domain.models import Account, Bot
from chatsvc.domain.plans import Plan

Key = TypeVar("Key")


class UsageTotals(NamedTuple):
    """Messages, tokens and cost in micro-dollars."""

    messages: int = 0
    tokens: int = 0
    cost_micro_usd: int = 0


class UsageRow(NamedTuple):
    """Usage of one day (its beginning in Unix milliseconds), bot and channel."""

    day: int
    bot_id: str
    channel: str
    usage: UsageTotals


def sums(rows: Iterable[UsageRow], key: Callable[[UsageRow], Key]) -> dict[Key, UsageTotals]:
    totals: dict[Key, UsageTotals] = {}
    for row in rows:
        before = totals.get(key(row), NO_USAGE)
        totals[key(row)] = UsageTotals(*map(sum, zip(before, row.usage, strict=True)))
    return totals


NO_USAGE = UsageTotals()


class UsageSummary(NamedTuple):
    """Figures of GET /analytics; instants in milliseconds, money in micro-dollars.

    `messages_used` counts this month, `bots` come with their messages within the window; `by_day` has each day from `covers_from` to `end`.
    The sums of `rows` are the totals.
    """

    account: Account
    plan: Plan | None
    messages_used: int
    bots: list[tuple[Bot, int]]
    window_days: int
    start: int
    end: int
    covers_from: int
    truncated: bool
    row_cap: int
    total: UsageTotals
    by_day: list[tuple[int, UsageTotals]]
    rows: list[UsageRow]


ENTRY, RESPONSE_S = "entry", "response_s"


class Quality(NamedTuple):
    """Counts: messages with a reply, questions without an answer, conversations given to people, captures, thumbs, tokens, cost.

    `missed` are conversations given to people to which nobody came in time. Tokens and cost are those of visitors' messages; the team's
    trials of a bot are counted separately.
    """

    answered: int = 0
    unanswered: int = 0
    handed_over: int = 0
    requests: int = 0
    appointments: int = 0
    up: int = 0
    down: int = 0
    tokens: int = 0
    cost_micro_usd: int = 0
    trial_tokens: int = 0
    trial_cost_micro_usd: int = 0
    missed: int = 0

    @property
    def other_requests(self) -> int:
        """Return the number of requests that are not appointments. `requests` counts both."""
        return max(0, self.requests - self.appointments)


# All that is counted of a day. ENTRY counts the entries of replies, and RESPONSE_S first responses: the item is their time in seconds,
# and behind a space the id of the operator who wrote.
COUNTED = (*Quality._fields, ENTRY, RESPONSE_S)


class ResponseTimes(NamedTuple):
    """Seconds from a visitor's wish for a person to the person's first message. They are None if there were none."""

    responses: int
    median: int | None
    p90: int | None


def response_times(responses: Mapping[str, int], operator_id: str | None = None) -> ResponseTimes:
    """Return median and 90th percentile of first responses (items of RESPONSE_S with their counts), of all or of one operator."""
    seconds = Counter[int]()
    for item, times in responses.items():
        text, _, responder = item.partition(" ")
        # An imported item may be anything.
        if operator_id in (None, responder) and text.isdecimal() and len(text) < 10:
            seconds[int(text)] += times
    count = sum(seconds.values())
    if not count:
        return ResponseTimes(0, None, None)
    ordered = sorted(seconds)
    covered = list(accumulate(seconds[time] for time in ordered))

    def of_rank(rank: int) -> int:
        return ordered[bisect_left(covered, rank)]

    return ResponseTimes(count, (of_rank((count + 1) // 2) + of_rank(count // 2 + 1)) // 2, of_rank(-(-count * 9 // 10)))


class UsedEntry(NamedTuple):
    """An entry of a bot, and the number of replies of which it was the best origin."""

    bot_id: str
    entry_id: str
    question: str
    times: int


NOTHING = Quality()


def total(counts: Iterable[Quality]) -> Quality:
    columns = list(zip(*counts, strict=True))
    return Quality(*map(sum, columns)) if columns else NOTHING
