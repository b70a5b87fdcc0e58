"""Reports on an account: usage (GET /analytics), quality of its bots' work, and messages on platforms that charge."""

from collections.abc import Mapping
from typing import NamedTuple

from chatsvc.domain import refusals, times
from chatsvc.domain.actors import Caller
from chatsvc.domain.analytics import NO_USAGE, NOTHING, Quality, ResponseTimes, UsageSummary, UsedEntry, response_times, sums, total
from chatsvc.domain.models import Bot
from chatsvc.services.accounts import accounts
from chatsvc.services.accounts.account_cache import AccountState
from chatsvc.services.knowledge import unanswered
from chatsvc.services.services import Services
from chatsvc.store import channels, day_counts, operators, platforms
from chatsvc.store import unanswered as questions
from chatsvc.store.unanswered import MissedQuestion

ROW_CAP = 5000
DEFAULT_DAYS = 30
MAX_DAYS = 90


async def summary(services: Services, state: AccountState, days: int) -> UsageSummary:
    """Sum up an account's usage of the last `days` days (1 to 90), today included; raises StoreUnavailable."""
    to = services.clock()
    start = times.start_of_day(to) - (days - 1) * times.DAY_MS
    oldest, rows = await day_counts.usage_summary(services.db, state.account.id, start, to, ROW_CAP)
    covers_from = start if oldest is None else oldest
    by_bot = sums(rows, lambda row: row.bot_id)
    by_day = sums(rows, lambda row: row.day)
    covered = range(times.start_of_day(covers_from), to + 1, times.DAY_MS)
    return UsageSummary(
        account=state.account,
        plan=services.config.plans.get(state.account.plan or ""),
        messages_used=state.allowance.used.get(times.month(to), 0),
        bots=[(bot, by_bot.get(bot.id, NO_USAGE).messages) for bot in reversed(state.bots.values())],
        window_days=days,
        start=start,
        end=to,
        covers_from=covers_from,
        truncated=oldest is not None,
        row_cap=ROW_CAP,
        total=sums(rows, lambda _: None).get(None, NO_USAGE),
        by_day=[(day, by_day.get(day, NO_USAGE)) for day in covered],
        rows=rows,
    )


async def show(services: Services, caller: Caller, *, account: str | None = None, days: int = DEFAULT_DAYS) -> UsageSummary:
    """Sum up the usage of an account in the caller's scope over the last `days` days. Raises Refused."""
    return await summary(services, await accounts.resolve(services, caller, account), max(1, min(days, MAX_DAYS)))


MISSED = 10
MOST_PEOPLE = 100


class QualityReport(NamedTuple):
    """Counts of the bots' work over some days up to `end` (Unix milliseconds), and over as many days before (`before`).

    `days` are those of each bot's time zone, written as 00:00 UTC of the date. `rows` has the counts by day and bot, without empty ones.
    `people` are the operators, by name or e-mail address, who wrote to waiting visitors. `entries` are the most used knowledge entries of
    the last `entry_days` days, and `missed` the most frequent questions without an answer.
    """

    bots: list[Bot]
    days: list[int]
    end: int
    rows: dict[tuple[int, str], Quality]
    before: dict[str, Quality]
    responses: ResponseTimes
    responses_before: ResponseTimes
    people: list[tuple[str, ResponseTimes]]
    entries: list[UsedEntry]
    entry_days: int
    missed: list[MissedQuestion]

    def of_day(self, day: int) -> Quality:
        """Return the sum of all bots' counts on a day."""
        return total(self.rows.get((day, bot.id), NOTHING) for bot in self.bots)

    def of_bot(self, bot_id: str) -> Quality:
        """Return the sum of a bot's counts over all days."""
        return total(self.rows.get((day, bot_id), NOTHING) for day in self.days)


async def show_quality(
    services: Services, caller: Caller, *, account: str | None = None, bot: Bot | None = None, days: int = DEFAULT_DAYS
) -> QualityReport:
    """Report the quality of the last `days` days, today included, for an account or one of its bots. Raises Refused."""
    if bot is not None and account not in (None, bot.account_id):
        raise refusals.bot_not_found(bot=bot.id)
    state, bot_id = await accounts.resolve(services, caller, bot.account_id if bot else account), bot.id if bot else None
    account_id, end, length = state.account.id, services.clock(), max(1, min(days, MAX_DAYS)) * times.DAY_MS
    chosen = [entry for entry in reversed(state.bots.values()) if bot_id in (None, entry.id)]
    today = max((times.local_day(end, entry.timezone) for entry in chosen), default=times.start_of_day(end))
    first = today + times.DAY_MS - length
    counts = await day_counts.of_period(services.db, account_id, bot_id, first, length)
    asked = await questions.most_frequent(services.db, account_id, unanswered.MOST_READ, first, bot_id)
    return QualityReport(
        chosen,
        list(range(first, first + length, times.DAY_MS)),
        end,
        counts.rows,
        counts.before,
        response_times(counts.responses),
        response_times(counts.responses_before),
        await _people(services, counts.responses),
        counts.entries,
        min(length // times.DAY_MS, day_counts.ENTRY_DAYS),
        unanswered.most_missed(asked, MISSED),
    )


async def _people(services: Services, responses: Mapping[str, int]) -> list[tuple[str, ResponseTimes]]:
    """List the operators (also administrators) who wrote to waiting visitors. Operators with the most first responses come first."""
    ids = sorted({item.partition(" ")[2] for item in responses} - {""})[:MOST_PEOPLE]
    writers = [operator for operator_id in ids if (operator := await operators.find_by_id(services.db, operator_id))]
    people = [(operator.name or operator.email, response_times(responses, operator.id)) for operator in writers]
    return sorted(people, key=lambda person: (-person[1].responses, person[0]))


LIMIT = "monthly_limit"  # the setting of a platform that charges for messages
FREE = 1000  # replies of a month before they are said to cost


class SendUsage(NamedTuple):
    """Number of messages that a bot sent in a UTC month. The platform charges for `beyond` of them. `limit` is None for no limit."""

    bot_id: str
    month: str
    sent: int
    beyond: int
    limit: int | None


async def show_sends(services: Services, caller: Caller, *, account: str | None = None) -> list[SendUsage]:
    """Return the usage of each bot that has a platform with charges for messages, or used one this month."""
    state = await accounts.resolve(services, caller, account)
    month = times.month(services.clock())
    sent = await platforms.sends(services.db, list(state.bots), month)
    charging = next(name for name, platform in services.platforms.items() if LIMIT in platform.settings)
    limits = await channels.settings_of(services.db, state.account.id, charging)
    usages = []
    for bot_id, count in sent.items():
        limit = limits.get(bot_id, {}).get(LIMIT)
        if count or bot_id in limits:
            usages.append(SendUsage(bot_id, month, count, max(0, count - FREE), limit if isinstance(limit, int) else None))
    return usages
