"""Report on the work of an account's bots over some days, beside the days before: `usage --quality` and the page of usage."""

from __future__ import annotations

from typing import NamedTuple

from chatsvc.domain import refusals, times
from chatsvc.domain.actors import Caller
from chatsvc.domain.models import Bot
from chatsvc.domain.quality import NOTHING, Quality, ResponseTimes, UsedEntry, response_times, total
from chatsvc.services.accounts import accounts, bots
from chatsvc.services.accounts.account_cache import AccountState
from chatsvc.services.accounts.analytics import DEFAULT_DAYS, MAX_DAYS
from chatsvc.services.knowledge import unanswered
from chatsvc.services.knowledge.unanswered import MissedQuestion
from chatsvc.services.services import Services
from chatsvc.store import day_counts
from chatsvc.store import unanswered as questions

MISSED = 10


class QualityReport(NamedTuple):
    """Counts of some days (their beginnings, in UTC) up to the instant `end`, and of as many days before.

    rows: the counts by day and bot, without those that have none. entries: the most used ones of the last `entry_days` days.
    missed: the most frequent questions without an answer.
    """

    bots: list[Bot]
    days: list[int]
    end: int
    rows: dict[tuple[int, str], Quality]
    before: dict[str, Quality]
    responses: ResponseTimes
    responses_before: ResponseTimes
    entries: list[UsedEntry]
    entry_days: int
    missed: list[MissedQuestion]

    def of_day(self, day: int) -> Quality:
        """Sum up a day over the bots."""
        return total(self.rows.get((day, bot.id), NOTHING) for bot in self.bots)

    def of_bot(self, bot_id: str) -> Quality:
        """Sum up a bot over the days."""
        return total(self.rows.get((day, bot_id), NOTHING) for day in self.days)


async def show(
    services: Services, caller: Caller, *, account: str | None = None, bot: str | None = None, days: int = DEFAULT_DAYS
) -> QualityReport:
    """Sum up the last `days` days, today included, of an account or one of its bots; raises Refused."""
    state = await _state(services, caller, account, bot)
    account_id, end, length = state.account.id, services.clock(), max(1, min(days, MAX_DAYS)) * times.DAY_MS
    first = times.start_of_day(end) + times.DAY_MS - length
    counts = await day_counts.of_period(services.db, account_id, bot, first, length)
    asked = await questions.most_frequent(services.db, account_id, unanswered.MOST_READ, first, bot)
    return QualityReport(
        [one for one in reversed(state.bots.values()) if bot in (None, one.id)],
        list(range(first, first + length, times.DAY_MS)),
        end,
        counts.rows,
        counts.before,
        response_times(counts.responses),
        response_times(counts.responses_before),
        counts.entries,
        min(length // times.DAY_MS, day_counts.ENTRY_DAYS),
        await services.offload(lambda: unanswered.most_missed(asked, MISSED)),
    )


async def _state(services: Services, caller: Caller, account: str | None, bot: str | None) -> AccountState:
    if bot is None:
        return await accounts.resolve(services, caller, account)
    state, _ = await bots.resolve(services, caller, bot)
    if account not in (None, state.account.id):
        raise refusals.bot_not_found(bot=bot)
    return state
