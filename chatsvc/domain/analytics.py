"""Usage of an account over a window of days (SPEC.md 2.5)."""

from __future__ import annotations

from typing import NamedTuple

from chatsvc.domain.models import Account, Bot
from chatsvc.domain.plans import Plan


class BotUsage(NamedTuple):
    """A bot and its messages within the window."""

    bot: Bot
    messages_in_window: int


class UsageSummary(NamedTuple):
    """Figures of GET /analytics; instants in milliseconds, money in micro-dollars.

    `messages_used` counts this month; `by_day` has each day from `covers_from` to `end` with its number of messages.
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
    by_day: list[tuple[int, int]]
