"""Sums an account's usage over some days: GET /analytics (SPEC.md 2.5, 4.6) and `usage`."""

from chatsvc.domain import times
from chatsvc.domain.actors import Caller
from chatsvc.domain.analytics import NO_USAGE, BotUsage, UsageSummary, sums
from chatsvc.services.accounts import accounts
from chatsvc.services.accounts.account_cache import AccountState
from chatsvc.services.services import Services
from chatsvc.store import day_counts

ROW_CAP = 5000
DEFAULT_DAYS = 30
MAX_DAYS = 90


async def summary(services: Services, state: AccountState, days: int) -> UsageSummary:
    """Sum up the last `days` days (1 to 90), today included; raises StoreUnavailable."""
    to = services.clock()
    start = times.start_of_day(to) - (days - 1) * times.DAY_MS
    found = await day_counts.usage_summary(services.db, state.account.id, start, to, ROW_CAP)
    covers_from = start if found.covers_from is None else found.covers_from
    total = sums(found.rows, lambda _: None).get(None, NO_USAGE)
    by_bot = sums(found.rows, lambda row: row.bot_id)
    by_day = sums(found.rows, lambda row: row.day)
    covered = range(times.start_of_day(covers_from), to + 1, times.DAY_MS)
    return UsageSummary(
        account=state.account,
        plan=services.config.plans.get(state.account.plan or ""),
        messages_used=state.allowance.used.get(times.month(to), 0),
        bots=[BotUsage(bot, by_bot.get(bot.id, NO_USAGE).messages) for bot in reversed(state.bots.values())],
        window_days=days,
        start=start,
        end=to,
        covers_from=covers_from,
        truncated=found.covers_from is not None,
        row_cap=ROW_CAP,
        messages=total.messages,
        tokens=total.tokens,
        cost_micro_usd=total.cost_micro_usd,
        by_day=[(day, by_day.get(day, NO_USAGE)) for day in covered],
        rows=found.rows,
    )


async def show(services: Services, caller: Caller, *, account: str | None = None, days: int = DEFAULT_DAYS) -> UsageSummary:
    """Sum up the usage of an account in the caller's scope."""
    return await summary(services, await accounts.resolve(services, caller, account), max(1, min(days, MAX_DAYS)))
