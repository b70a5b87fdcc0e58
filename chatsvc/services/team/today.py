"""Open work of an account: requests, appointments, questions, failed webhooks, allowance and first steps."""

from typing import NamedTuple

from chatsvc.domain import knowledge_findings, times
from chatsvc.domain.actors import Caller, Role
from chatsvc.domain.captures import BotAppointment, InboxItem
from chatsvc.domain.models import Bot
from chatsvc.services.accounts import accounts
from chatsvc.services.accounts.account_cache import AccountState
from chatsvc.services.knowledge import unanswered
from chatsvc.services.knowledge.unanswered import MOST_READ, UnansweredGroup
from chatsvc.services.services import Services
from chatsvc.store import inbox
from chatsvc.store import today as stored
from chatsvc.store.inbox import InboxFilter
from chatsvc.store.today import FailedDelivery, MissedVisitor, RefusedSite
from chatsvc.store.unanswered import most_frequent

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
    """A first step: "bot", "settings", "teach", "try", "embed", and those of FOR_DEVELOPERS."""

    name: str
    done: bool


class IncompleteBot(NamedTuple):
    """A bot whose settings lack what visitors ask for: "phone", "address" or "opening_hours"."""

    bot: Bot
    missing: list[str]


class Today(NamedTuple):
    """Open work. Each list has SHOWN records at most, `more` names the lists that were cut.

    `questions` are groups without an answer, each with the id of its bot. allowance: None for roles that may not see it. steps: empty once
    the bot is taught, tried and on a website, or the account is older than NEW_DAYS.
    """

    missed: list[MissedVisitor]
    requests: list[InboxItem]
    appointments: list[BotAppointment]
    questions: list[tuple[str, UnansweredGroup]]
    failed: list[FailedDelivery]
    allowance: AllowanceState | None
    steps: list[Step]
    more: frozenset[str]
    incomplete: list[IncompleteBot]
    refused: list[RefusedSite]


async def show(services: Services, caller: Caller, *, account: str | None = None) -> Today:
    """Show what waits in an account; raises Refused."""
    state = await accounts.resolve(services, caller, account)
    account_id, now = state.account.id, services.clock()
    new = await inbox.page(services.db, [account_id], InboxFilter(status="new", urgent_first=True), SHOWN)
    since = now - FAILED_DAYS * times.DAY_MS
    records = await stored.read(services.db, account_id, now, since, MOST_READ)
    asked = {question.bot_id for question in await most_frequent(services.db, account_id, MOST_READ)} & state.bots.keys()
    groups = [(bot, group) for bot in asked for group in await unanswered.listed(services, state.bots[bot], SHOWN + 1, answered=False)]
    questions = sorted(groups, key=lambda question: -question[1].times)
    lengths = {"appointments": len(records.appointments), "questions": len(questions), "failed": len(records.failed)}
    more = {name for name, length in lengths.items() if length > SHOWN} | ({"requests"} if new.next is not None else set())
    return Today(
        records.missed[:SHOWN],
        new.items[:SHOWN],
        records.appointments[:SHOWN],
        questions[:SHOWN],
        records.failed[:SHOWN],
        _allowance(services, caller, state),
        _steps(services, state, records.steps),
        frozenset(more),
        [IncompleteBot(bot, missing) for bot in state.bots.values() if bot.active and (missing := knowledge_findings.missing(bot))][:SHOWN],
        records.refused[:SHOWN],
    )


def _allowance(services: Services, caller: Caller, state: AccountState) -> AllowanceState | None:
    if (caller.scope.role(state.account.id) or Role.READER) < Role.OWNER:
        return None
    month, counts = times.month(services.clock()), state.allowance
    return AllowanceState(counts.used.get(month, 0), counts.limit, counts.credits, counts.left(month), state.account.subscription_status)


def _steps(services: Services, state: AccountState, steps: stored.FirstSteps) -> list[Step]:
    account = state.account
    plan = services.config.plans.get(account.plan or "")
    needed = [Step("teach", steps.taught), Step("try", steps.tried), Step("embed", steps.embedded)]
    is_done = all(step.done for step in needed)
    taken = [Step("bot", bool(state.bots)), Step("settings", any(bot.opening_hours for bot in state.bots.values())), *needed]
    if plan is not None and plan.rest_api:
        taken.append(Step("key", steps.key))
    if plan is not None and plan.webhooks:
        taken.append(Step("webhook", steps.webhook))
    is_new = services.clock() - account.created_at < NEW_DAYS * times.DAY_MS
    return taken if is_new and not is_done else []
