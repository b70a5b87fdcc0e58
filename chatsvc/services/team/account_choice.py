"""Account selection in the dashboard: accounts in scope, a record's account, and time zone."""

from chatsvc.domain import times
from chatsvc.domain.actors import Scope
from chatsvc.domain.models import Account
from chatsvc.services.services import Services
from chatsvc.store import accounts as stored
from chatsvc.store import owners

MOST = 50


async def choices(services: Services, scope: Scope, chosen: str | None) -> list[Account]:
    """List the first accounts of a scope, oldest first. The chosen one is added if it is still there."""
    found = [account for account, _ in await stored.page(services.db, scope.accounts, times.month(services.clock()), MOST)]
    if chosen is None or any(account.id == chosen for account in found) or not scope.includes(chosen):
        return found
    state = await services.account_cache.account(chosen)
    return [*found, state.account] if state else found


async def account_of(services: Services, scope: Scope, kind: str, record_id: str) -> str | None:
    """Look up the account of a record inside a scope. None where there is no such record."""
    return await owners.account_of(services.db, kind, record_id, scope.accounts)


async def timezone(services: Services, account_id: str) -> str | None:
    """Return the time zone of an account's first bot; None without bots."""
    state = await services.account_cache.account(account_id)
    bots = sorted(state.bots.values(), key=lambda bot: (bot.created_at, bot.id)) if state else []
    return bots[0].timezone if bots else None
