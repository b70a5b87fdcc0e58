"""GET /analytics (SPEC.md 2.5, 4.6)."""

from __future__ import annotations

from chatsvc.domain import times
from chatsvc.domain.pricing import Usd
from chatsvc.domain.shapes import Json
from chatsvc.store import usage
from chatsvc.usecases import accounts
from chatsvc.usecases.account_cache import AccountState
from chatsvc.usecases.services import Services

ROW_CAP = 5000
DEFAULT_DAYS = 30
MAX_DAYS = 90


async def summary(services: Services, state: AccountState, days: int) -> Json:
    """The account's usage over the last `days` days (1 to 90), today included; raises StoreUnavailable."""
    to = services.clock()
    start = times.start_of_day(to) - (days - 1) * times.DAY_MS
    totals = await usage.summary(services.db, state.account.id, start, to, ROW_CAP)
    covers_from = start if totals.covers_from is None else totals.covers_from
    covered = range(covers_from // times.DAY_MS, to // times.DAY_MS + 1)
    return {
        "account": _account(services, state, to),
        "chatbots": [
            {
                "id": bot.id,
                "name": bot.name,
                "active": bot.active,
                "messages_used_total": bot.messages_used,
                "messages_in_window": totals.by_bot.get(bot.id, 0),
            }
            for bot in reversed(state.bots.values())
        ],
        "usage": {
            "window_days": days,
            "from": times.with_millis(start),
            "to": times.with_millis(to),
            "covers_from": times.with_millis(covers_from),
            "truncated": totals.covers_from is not None,
            "row_cap": ROW_CAP,
            "total_messages": totals.messages,
            "total_tokens": totals.tokens,
            "total_cost_usd": Usd(totals.cost_micro_usd),
            "by_day": [{"day": times.day(day * times.DAY_MS), "messages": totals.by_day.get(day, 0)} for day in covered],
        },
    }


def _account(services: Services, state: AccountState, now: int) -> Json:
    account = state.account
    plan = services.config.plans.get(account.plan or "")
    return {
        "plan": account.plan,
        "plan_version": plan.version if plan else None,
        "subscription_status": account.subscription_status,
        "messages_used": state.allowance.used.get(times.month(now), 0),
        "messages_limit": account.messages_limit,
        "plan_message_limit": plan.messages if plan else None,
        "plan_bot_limit": plan.bots if plan else None,
        "message_credits": account.message_credits,
    }


async def show(services: Services, *, account: str | None = None, days: int = DEFAULT_DAYS) -> Json:
    """For the administrator: the same summary of any account."""
    return await summary(services, await accounts.resolve(services, account), max(1, min(days, MAX_DAYS)))
