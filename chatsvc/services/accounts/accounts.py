"""Accounts and their API keys (help/interface.md 3): create, list, show, change and delete them, and `resolve` an account."""

import uuid

from chatsvc.domain import folding, keys, paging, refusals, times
from chatsvc.domain.actors import Caller
from chatsvc.domain.folding import fold
from chatsvc.domain.models import SUBSCRIPTION_STATUSES, Account, AccountUsage, ApiKey, ListedKey, NewKey, Usage
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.plans import Tier, cost_micro_usd
from chatsvc.services.accounts.account_cache import AccountState
from chatsvc.services.services import Services
from chatsvc.store import accounts as stored
from chatsvc.store import today

MOST = 2**53 - 1
NO_PLAN = "none"


def plain_text(value: str, field: str, most: int = 200) -> str:
    """Check and strip a name or label. It must be printable, visible, and of at most `most` characters. Raises Refused."""
    text = value.strip()
    if len(text) > most:
        raise refusals.text_too_long(field=field, most=most, length=len(text))
    if not text.isprintable():
        raise refusals.text_unprintable(field=field)
    if not folding.is_visible(text):
        raise refusals.text_empty(field=field)
    return text


def long_text(value: str, field: str, most: int, *, optional: bool = False) -> str:
    """Check and strip a text of at most `most` characters. An empty text is refused unless `optional` is true. Raises Refused."""
    text = value.strip()
    if not text and not optional:
        raise refusals.text_empty(field=field)
    if len(text) > most:
        raise refusals.text_too_long(field=field, most=most, length=len(text))
    if "\0" in text:
        raise refusals.text_invalid(field=field)
    return text


def _plan(services: Services, name: str) -> tuple[str | None, int]:
    """Return a plan's name and its number of messages, or None and 0 for no plan. Raises `plan_unknown`."""
    if name == NO_PLAN:
        return None, 0
    plan = services.config.plans.get(name)
    if plan is None:
        raise refusals.plan_unknown(plan=name, plans=[*services.config.plans, NO_PLAN])
    return plan.name, plan.messages


def _with_usage(services: Services, state: AccountState) -> AccountUsage:
    return AccountUsage(state.account, state.allowance.used.get(times.month(services.clock()), 0))


async def resolve(services: Services, caller: Caller, account_id: str | None) -> AccountState:
    """Return an account in the caller's scope. Without an id, return the only account there. Raises Refused."""
    if account_id is None:
        accounts = await stored.page(services.db, caller.scope.accounts, "", 2)
        if not accounts:
            raise refusals.no_accounts()
        if len(accounts) > 1:
            raise refusals.account_needed(count=await stored.count(services.db, caller.scope.accounts))
        account_id = accounts[0][0].id
    state = await services.account_cache.account(account_id) if caller.scope.includes(account_id) else None
    if state is None:
        raise refusals.account_not_found(account=account_id)
    return state


async def count_trial(services: Services, account: Account, bot_id: str, tier: Tier, usage: Usage, counted_at: int) -> None:
    """Record the cost of a model's reply to the team. The account is not charged for it."""
    cost = cost_micro_usd(tier, usage)
    services.tallies.spent(tier.name, account.plan or NO_PLAN, usage, cost)
    await today.count_trial(services.db, bot_id, counted_at, sum(usage), cost)


async def create(services: Services, _: Caller, *, name: str, plan: str = "enterprise") -> AccountUsage:
    """Create an account on a plan, with the plan's allowance."""
    (plan_name, limit), now = _plan(services, plan), services.clock()
    name = plain_text(name, "account.name")
    account = Account(str(uuid.uuid4()), name, plan_name, "active", limit, message_credits=0, created_at=now, updated_at=now)
    await stored.create(services.db, account)
    return AccountUsage(account, 0)


async def list_all(
    services: Services, caller: Caller, *, q: str | None = None, limit: int = paging.DEFAULT, after: str | None = None
) -> ResultPage[AccountUsage]:
    """List the accounts in the caller's scope, oldest first, with this month's messages. `q` finds accounts by id or part of the name."""
    limit, position = paging.clamped(limit), paging.parsed(after, paging.number, str)
    month, wanted, matches = times.month(services.clock()), fold((q or "").strip()), list[AccountUsage]()
    while len(matches) <= limit:
        rows = await stored.page(services.db, caller.scope.accounts, month, paging.MOST if wanted else limit + 1, position)
        matches += [AccountUsage(*row) for row in rows if wanted in fold(row[0].name.strip()) or wanted == row[0].id]
        if not wanted or len(rows) < paging.MOST:
            break
        position = rows[-1][0].created_at, rows[-1][0].id
    return paging.page_of(matches, limit, lambda match: paging.position(match.account.created_at, match.account.id))


async def show(services: Services, caller: Caller, *, account: str) -> AccountUsage:
    """Show one account; raises Refused."""
    return _with_usage(services, await resolve(services, caller, account))


async def change(
    services: Services,
    caller: Caller,
    *,
    account: str,
    name: str | None = None,
    plan: str | None = None,
    status: str | None = None,
    messages_limit: int | None = None,
    credits: int | None = None,
) -> AccountUsage:
    """Change the given fields. A new plan also sets the limit of messages, unless `messages_limit` is given."""
    state = await resolve(services, caller, account)
    changes: dict[str, object] = {}
    faults = refusals.Faults()
    if name is not None:
        with faults:
            changes["name"] = plain_text(name, "account.name")
    if plan is not None:
        with faults:
            changes["plan"], changes["messages_limit"] = _plan(services, plan)
    if status is not None:
        with faults:
            if status not in SUBSCRIPTION_STATUSES:
                raise refusals.status_unknown(status=status, known=list(SUBSCRIPTION_STATUSES))
            changes["subscription_status"] = status
    for column, value in (("messages_limit", messages_limit), ("message_credits", credits)):
        if value is not None:
            with faults:
                if not 0 <= value <= MOST:
                    raise refusals.number_out_of_range(field=column, most=MOST)
                changes[column] = value
    faults.refuse()
    if not changes:
        raise refusals.nothing_to_change()
    changes["updated_at"] = services.clock()
    changed = await stored.update(services.db, state.account.id, changes)
    if changed is None:
        raise refusals.account_not_found(account=account)
    state.update_account(changed)
    return _with_usage(services, state)


async def delete(services: Services, caller: Caller, *, account: str) -> Account:
    """Delete an account with all its records. Only the digests of its keys remain."""
    state = await resolve(services, caller, account)
    await stored.delete(services.db, state.account.id, services.clock())
    services.account_cache.remove_account(state.account.id)
    for bot_id in state.bots:
        services.channels.changed(bot_id)  # at once: what its platforms bring from now on belongs to nobody
    while await stored.sweep(services.db):
        pass
    services.account_cache.invalidate_keys()
    return state.account


def instant_of(text: str) -> int:
    """Convert an ISO 8601 date or time in UTC to Unix milliseconds; raises `time_invalid`."""
    try:
        return times.parse_utc(text)
    except (ValueError, OverflowError):
        raise refusals.time_invalid(time=text) from None


async def create_key(
    services: Services, caller: Caller, *, account: str | None = None, name: str | None = None, expires: str | None = None
) -> NewKey:
    """Create an API key. The result contains the secret, which no later call can show."""
    state = await resolve(services, caller, account)
    now = services.clock()
    secret = keys.generate()
    faults, label, expires_at = refusals.Faults(), None, None
    with faults:
        label = plain_text(name, "key.name") if name is not None else None
    with faults:
        expires_at = instant_of(expires) if expires is not None else None
        if expires_at is not None and expires_at <= now:
            raise refusals.time_passed(time=expires)
    faults.refuse()
    key = ApiKey(str(uuid.uuid4()), state.account.id, label, secret[: keys.SHOWN], now, expires_at, revoked_at=None, last_used_at=None)
    await stored.create_key(services.db, key, keys.digest(secret))
    return NewKey(key, "active", secret)


async def list_keys(
    services: Services, caller: Caller, *, account: str | None = None, limit: int = paging.DEFAULT, after: str | None = None
) -> ResultPage[ListedKey]:
    """List the API keys of one account, or of all accounts in the caller's scope, oldest first."""
    chosen = caller.scope.accounts if account is None else [(await resolve(services, caller, account)).account.id]
    if services.account_cache.key_uses:
        await services.account_cache.flush_key_uses()
    limit, position = paging.clamped(limit), paging.parsed(after, paging.number, str)
    rows = await stored.page_of_keys(services.db, chosen, limit + 1, position)
    page = paging.page_of(rows, limit, lambda key: paging.position(key.created_at, key.id))
    now = services.clock()
    return ResultPage([ListedKey(key, keys.status(key, now)) for key in page.items], page.next)


async def revoke_key(services: Services, caller: Caller, *, key: str) -> ListedKey:
    """Revoke an API key permanently. The key is refused from the next request on."""
    now = services.clock()
    revoked = await stored.revoke_key(services.db, key, caller.scope.accounts, now)
    if revoked is None:
        raise refusals.key_not_found(key=key)
    services.account_cache.invalidate_keys()
    return ListedKey(revoked, keys.status(revoked, now))
