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
    """Usage of one bot on one channel on one day. `day` is the beginning of the day in Unix milliseconds."""

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
    """Figures of GET /analytics. Instants are in milliseconds, money is in micro-dollars.

    `messages_used` counts the messages of this month. `bots` has each bot with the number of its messages within the window. `by_day` has
    each day from `covers_from` to `end`. `total` is the sum of `rows`.
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
    """Counts: messages with a reply, questions without an answer, conversations given to the team, captures, thumbs, tokens, cost.

    `missed` counts conversations given to the team in which nobody answered in time. `tokens` and cost are for visitors' messages. The
    team's trials of a bot are counted separately.
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
    """Seconds from a visitor's request for a person to the first message of a person. The times are None without such responses."""

    responses: int
    median: int | None
    p90: int | None


def response_times(responses: Mapping[str, int], operator_id: str | None = None) -> ResponseTimes:
    """Return median and 90th percentile of response times, of one operator or all. `responses` counts each item of RESPONSE_S."""
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
    """An entry of a bot, and the number of replies for which this entry was the best source (`times`)."""

    bot_id: str
    entry_id: str
    question: str
    times: int


NOTHING = Quality()


def total(counts: Iterable[Quality]) -> Quality:
    columns = list(zip(*counts, strict=True))
    return Quality(*map(sum, columns)) if columns else NOTHING
