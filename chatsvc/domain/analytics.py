"""Usage of an account over a window of days (SPEC.md 2.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from chatsvc.domain.models import Account, Bot
from chatsvc.domain.plans import Plan

Key = TypeVar("Key")


class UsageTotals(NamedTuple):
    """Messages, tokens and cost in micro-dollars."""

    messages: int = 0
    tokens: int = 0
    cost_micro_usd: int = 0

    def plus(self, other: UsageTotals) -> UsageTotals:
        """Add the figures of two."""
        return UsageTotals(*map(sum, zip(self, other, strict=True)))


class UsageRow(NamedTuple):
    """Usage of one day (its beginning in Unix milliseconds), bot and channel."""

    day: int
    bot_id: str
    channel: str
    usage: UsageTotals


def sums(rows: Iterable[UsageRow], key: Callable[[UsageRow], Key]) -> dict[Key, UsageTotals]:
    made: dict[Key, UsageTotals] = {}
    for row in rows:
        made[key(row)] = made.get(key(row), NO_USAGE).plus(row.usage)
    return made


NO_USAGE = UsageTotals()


class BotUsage(NamedTuple):
    """A bot and its messages within the window."""

    bot: Bot
    messages_in_window: int


class UsageSummary(NamedTuple):
    """Figures of GET /analytics; instants in milliseconds, money in micro-dollars.

    `messages_used` counts this month; `by_day` has each day from `covers_from` to `end`. The sums of `rows` are the totals.
    """

    account: Account
    plan: Plan | None
    messages_used: int
    bots: list[BotUsage]
    window_days: int
    start: int
    end: int
    covers_from: int
    truncated: bool
    row_cap: int
    messages: int
    tokens: int
    cost_micro_usd: int
    by_day: list[tuple[int, UsageTotals]]
    rows: list[UsageRow]
