"""Lists records of the audit log; services/administration.py writes them."""

from chatsvc.domain import paging
from chatsvc.domain.actors import Caller
from chatsvc.domain.audit import AuditRecord
from chatsvc.domain.paging import ResultPage
from chatsvc.services.accounts import accounts
from chatsvc.services.accounts.accounts import instant_of
from chatsvc.services.services import Services
from chatsvc.store import audit as stored


async def list_all(
    services: Services,
    caller: Caller,
    *,
    account: str | None = None,
    since: str | None = None,
    limit: int = paging.DEFAULT,
    after: str | None = None,
) -> ResultPage[AuditRecord]:
    """List records of one account, or of the caller's scope, newest first. An `outcome` of None is one under way or cut off."""
    chosen = caller.scope.accounts if account is None else [(await accounts.resolve(services, caller, account)).account.id]
    start = instant_of(since) if since is not None else 0
    limit, place = paging.clamped(limit), paging.parsed(after, paging.number)
    found = await stored.page(services.db, chosen, start, limit + 1, *(place or ()))
    return paging.page_of(found, limit, lambda record: paging.position(record.number))
