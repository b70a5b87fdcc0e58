"""Usage of an account: GET /analytics (SPEC.md 2.5, 4.6) and `usage`."""

from __future__ import annotations

from chatsvc.domain import times
from chatsvc.domain.actors import Caller
from chatsvc.domain.analytics import BotUsage, UsageSummary
from chatsvc.store import usage
from chatsvc.usecases import accounts
from chatsvc.usecases.account_cache import AccountState
from chatsvc.usecases.services import Services

ROW_CAP = 5000
DEFAULT_DAYS = 30
MAX_DAYS = 90


async def summary(services: Services, state: AccountState, days: int) -> UsageSummary:
    """Sum up the last `days` days (1 to 90), today included; raises StoreUnavailable."""
    to = services.clock()
    start = times.start_of_day(to) - (days - 1) * times.DAY_MS
    totals = await usage.summary(services.db, state.account.id, start, to, ROW_CAP)
    covers_from = start if totals.covers_from is None else totals.covers_from
    covered = range(covers_from // times.DAY_MS, to // times.DAY_MS + 1)
    return UsageSummary(
        account=state.account,
        plan=services.config.plans.get(state.account.plan or ""),
        messages_used=state.allowance.used.get(times.month(to), 0),
        bots=[BotUsage(bot, totals.by_bot.get(bot.id, 0)) for bot in reversed(state.bots.values())],
        window_days=days,
        start=start,
        end=to,
        covers_from=covers_from,
        truncated=totals.covers_from is not None,
        row_cap=ROW_CAP,
        messages=totals.messages,
        tokens=totals.tokens,
        cost_micro_usd=totals.cost_micro_usd,
        by_day=[(day * times.DAY_MS, totals.by_day.get(day, 0)) for day in covered],
    )


async def show(services: Services, caller: Caller, *, account: str | None = None, days: int = DEFAULT_DAYS) -> UsageSummary:
    """Sum up the usage of an account in the caller's scope."""
    return await summary(services, await accounts.resolve(services, caller, account), max(1, min(days, MAX_DAYS)))
