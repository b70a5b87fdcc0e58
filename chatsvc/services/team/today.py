"""Open work of an account: requests, appointments, questions, failed webhooks, allowance and first steps."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from chatsvc.domain import knowledge_findings, times
from chatsvc.domain.actors import Caller, Role
from chatsvc.domain.captures import InboxItem
from chatsvc.domain.models import Bot
from chatsvc.services.accounts import accounts
from chatsvc.services.accounts.account_cache import AccountState
from chatsvc.services.knowledge import unanswered
from chatsvc.services.knowledge.unanswered import MOST_READ
from chatsvc.services.services import Services
from chatsvc.store import inbox, knowledge
from chatsvc.store import today as stored
from chatsvc.store.inbox import InboxFilter
from chatsvc.store.today import FailedDelivery, MissedVisitor, RefusedSite
from chatsvc.store.unanswered import UnansweredGroup, most_frequent

SHOWN = 5
FAILED_DAYS = 7
FOR_DEVELOPERS = ("key", "webhook")
"""First steps of accounts whose own programs talk to the bot."""
NEW_DAYS = 30  # of an account, in which its first steps are shown


class AllowanceState(NamedTuple):
    """Messages of this month: used, the limit, credits, and what is left."""

    used: int
    limit: int
    credits: int
    left: int
    subscription_status: str


class Step(NamedTuple):
    """A first step of an account. `name` is "bot", "settings", "teach", "try", "embed", or one of FOR_DEVELOPERS."""

    name: str
    done: bool


class IncompleteBot(NamedTuple):
    """A bot without settings that visitors ask for. `missing` names them: "phone", "address" or "opening_hours".

    `offers` has the values that the bot's knowledge contains for these settings.
    """

    bot: Bot
    missing: list[str]
    offers: Mapping[str, str]


class Today(NamedTuple):
    """Open work of an account. Each list has at most SHOWN records; `more` names the lists that were cut.

    `questions` are groups of questions without an answer, each with the id of its bot. `allowance` is None for roles that may not see it.
    `steps` is empty once the bot is taught, tried and on a website, or the account is older than NEW_DAYS.
    """

    missed: list[MissedVisitor]
    requests: list[InboxItem]
    appointments: list[InboxItem]
    questions: list[tuple[str, UnansweredGroup]]
    failed: list[FailedDelivery]
    allowance: AllowanceState | None
    steps: list[Step]
    more: frozenset[str]
    incomplete: list[IncompleteBot]
    refused: list[RefusedSite]


async def show(services: Services, caller: Caller, *, account: str | None = None, offers: bool = False) -> Today:
    """Show the open work of an account; raises Refused. If `offers` is true, search the knowledge for missing settings of bots."""
    state = await accounts.resolve(services, caller, account)
    account_id, now = state.account.id, services.clock()
    new = await inbox.page(services.db, [account_id], InboxFilter(status="new", urgent_first=True), 2 * SHOWN)
    since = now - FAILED_DAYS * times.DAY_MS
    records = await stored.read(services.db, account_id, now, since, MOST_READ)
    asked = {question.bot_id for question in await most_frequent(services.db, account_id, MOST_READ)} & state.bots.keys()
    groups = [(bot, group) for bot in asked for group in await unanswered.listed(services, state.bots[bot], SHOWN + 1, answered=False)]
    questions = sorted(groups, key=lambda question: -question[1].times)
    # A new request that stands among the appointments is listed there alone.
    listed = {item.request.id for item in records.appointments[:SHOWN]}
    requests = [item for item in new.items if item.request.id not in listed]
    lists: dict[str, Any] = {"requests": requests, "questions": questions, **records._asdict()}
    steps = _steps(services, state, lists.pop("steps"))
    more = {name for name, entries in lists.items() if len(entries) > SHOWN} | ({"requests"} if new.next is not None else set())
    month, counts, allowance = times.month(now), state.allowance, None
    if (caller.scope.role(account_id) or Role.READER) >= Role.OWNER:
        used = counts.used.get(month, 0)
        allowance = AllowanceState(used, counts.limit, counts.credits, counts.left(month), state.account.subscription_status)
    incomplete = [(bot, missing) for bot in state.bots.values() if bot.active and (missing := knowledge_findings.missing(bot))][:SHOWN]
    return Today(
        **{name: entries[:SHOWN] for name, entries in lists.items()},
        allowance=allowance,
        steps=steps,
        more=frozenset(more),
        incomplete=[IncompleteBot(bot, missing, await _offers(services, bot) if offers else {}) for bot, missing in incomplete],
    )


async def _offers(services: Services, bot: Bot) -> dict[str, str]:
    """Return the values that the bot's knowledge contains for settings that the bot lacks."""
    entries = await knowledge.entries(services.db, bot.id)
    findings = await services.offload(lambda: list(knowledge_findings.findings(bot, entries)))
    return {finding.kind.removesuffix("_missing"): str(finding.facts["value"]) for finding in findings if finding.facts}


def _steps(services: Services, state: AccountState, taken: Mapping[str, bool]) -> list[Step]:
    plan, needed = services.config.plans.get(state.account.plan or ""), ["teach", "try", "embed"]
    if services.clock() - state.account.created_at >= NEW_DAYS * times.DAY_MS or all(taken[name] for name in needed):
        return []
    for_developers = [name for name, has in zip(FOR_DEVELOPERS, (plan.rest_api, plan.webhooks), strict=True) if has] if plan else []
    own = [Step("bot", bool(state.bots)), Step("settings", any(bot.opening_hours for bot in state.bots.values()))]
    return own + [Step(name, taken[name]) for name in needed + for_developers]
