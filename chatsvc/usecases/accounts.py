"""Accounts, for the administrator: created, shown, changed, deleted."""

from __future__ import annotations

import uuid

from chatsvc.domain import shapes, times
from chatsvc.domain.errors import Refused
from chatsvc.domain.models import SUBSCRIPTION_STATUSES, Account
from chatsvc.domain.plans import Plan
from chatsvc.domain.shapes import Json
from chatsvc.store import accounts as stored
from chatsvc.usecases.account_cache import AccountState
from chatsvc.usecases.services import Services

MOST = 2**53 - 1
NO_PLAN = "none"


def plain_text(value: str, what: str, most: int = 200) -> str:
    """A text that people typed as a name or label: not empty, no control characters, at most `most` characters."""
    text = value.strip()
    if not text:
        raise Refused(f"{what} must not be empty")
    if len(text) > most:
        raise Refused(f"{what} may have {most} characters at most, this one has {len(text)}")
    if not text.isprintable():
        raise Refused(f"{what} must not hold control characters")
    return text


def _plan(services: Services, name: str) -> Plan | None:
    if name == NO_PLAN:
        return None
    plan = services.config.plans.get(name)
    if plan is None:
        raise Refused(f"there is no plan {name!r}; the configuration has {', '.join(services.config.plans)}, or {NO_PLAN}")
    return plan


def _shown(services: Services, state: AccountState) -> Json:
    return shapes.account(state.account, state.allowance.used.get(times.month(services.clock()), 0))


async def resolve(services: Services, account_id: str | None) -> AccountState:
    """The account that is meant: the one named, or the only one; raises Refused."""
    if account_id is None:
        everyone = await stored.everyone(services.db)
        if not everyone:
            raise Refused("there is no account yet: make one with `chatsvc account create NAME`")
        if len(everyone) > 1:
            raise Refused(f"there are {len(everyone)} accounts: say which one with --account ID (`chatsvc account list` shows them)")
        account_id = everyone[0].id
    state = await services.account_cache.account(account_id)
    if state is None:
        raise Refused(f"there is no account {account_id}")
    return state


async def create(services: Services, *, name: str, plan: str = "enterprise") -> Json:
    """A new account on a plan; its allowance is the plan's."""
    chosen = _plan(services, plan)
    now = services.clock()
    account = Account(
        id=str(uuid.uuid4()),
        name=plain_text(name, "the account's name"),
        plan=chosen.name if chosen else None,
        subscription_status="active",
        messages_limit=chosen.messages if chosen else 0,
        message_credits=0,
        created_at=now,
        updated_at=now,
    )
    await stored.create(services.db, account)
    return shapes.account(account, 0)


async def list_all(services: Services) -> list[Json]:
    """All accounts, oldest first."""
    found = [await services.account_cache.account(account.id) for account in await stored.everyone(services.db)]
    return [_shown(services, state) for state in found if state]


async def show(services: Services, *, account: str) -> Json:
    """One account with its bots' and keys' owner fields; raises Refused where there is none."""
    return _shown(services, await resolve(services, account))


async def change(
    services: Services,
    *,
    account: str,
    plan: str | None = None,
    status: str | None = None,
    messages_limit: int | None = None,
    credits: int | None = None,
) -> Json:
    """Change what is given. A new plan brings its allowance with it unless `messages_limit` says otherwise."""
    state = await resolve(services, account)
    changes: dict[str, object] = {}
    if plan is not None:
        chosen = _plan(services, plan)
        changes["plan"] = chosen.name if chosen else None
        changes["messages_limit"] = chosen.messages if chosen else 0
    if status is not None:
        if status not in SUBSCRIPTION_STATUSES:
            raise Refused(f"the status {status!r} is none of {', '.join(SUBSCRIPTION_STATUSES)}")
        changes["subscription_status"] = status
    for column, value in (("messages_limit", messages_limit), ("message_credits", credits)):
        if value is not None:
            if not 0 <= value <= MOST:
                raise Refused(f"{column} must be from 0 to {MOST}")
            changes[column] = value
    if not changes:
        raise Refused("nothing to change was given")
    changes["updated_at"] = services.clock()
    if await stored.update(services.db, state.account.id, changes, state.update_account) is None:
        raise Refused(f"there is no account {account}")
    return _shown(services, state)


async def delete(services: Services, *, account: str) -> Json:
    """Delete an account with everything that belongs to it; only the digests of its keys stay (DECISIONS.md section 1)."""
    state = await resolve(services, account)

    def applied(_: bool) -> None:
        services.account_cache.remove_account(state.account.id)

    await stored.delete(services.db, state.account.id, services.clock(), applied)
    while await stored.sweep(services.db):
        pass
    services.account_cache.invalidate_keys()
    return {"id": state.account.id, "deleted": True}
