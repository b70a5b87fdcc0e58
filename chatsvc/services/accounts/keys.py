"""API keys (help/interface.md 3): create, list and revoke them."""

import uuid

from chatsvc.domain import keys, paging, refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.models import ApiKey, ListedKey, NewKey
from chatsvc.domain.paging import ResultPage
from chatsvc.services.accounts import accounts
from chatsvc.services.accounts.accounts import instant_of
from chatsvc.services.services import Services
from chatsvc.store import accounts as stored


async def create(
    services: Services, caller: Caller, *, account: str | None = None, name: str | None = None, expires: str | None = None
) -> NewKey:
    """Create a key. The result contains the secret, which no later call can show."""
    state = await accounts.resolve(services, caller, account)
    now = services.clock()
    secret = keys.generate()
    faults, label, expires_at = refusals.Faults(), None, None
    with faults:
        label = accounts.plain_text(name, "key.name") if name is not None else None
    with faults:
        expires_at = instant_of(expires) if expires is not None else None
        if expires_at is not None and expires_at <= now:
            raise refusals.time_passed(time=expires)
    faults.refuse()
    key = ApiKey(str(uuid.uuid4()), state.account.id, label, secret[: keys.SHOWN], now, expires_at, revoked_at=None, last_used_at=None)
    await stored.create_key(services.db, key, keys.digest(secret))
    return NewKey(key, "active", secret)


async def list_all(
    services: Services, caller: Caller, *, account: str | None = None, limit: int = paging.DEFAULT, after: str | None = None
) -> ResultPage[ListedKey]:
    """List the keys of one account, or of the caller's scope, oldest first."""
    chosen = caller.scope.accounts if account is None else [(await accounts.resolve(services, caller, account)).account.id]
    if services.account_cache.key_uses:
        await services.account_cache.flush_key_uses()
    limit, position = paging.clamped(limit), paging.parsed(after, paging.number, str)
    rows = await stored.page_of_keys(services.db, chosen, limit + 1, position)
    page = paging.page_of(rows, limit, lambda key: paging.position(key.created_at, key.id))
    now = services.clock()
    return ResultPage([ListedKey(key, keys.status(key, now)) for key in page.items], page.next)


async def revoke(services: Services, caller: Caller, *, key: str) -> ListedKey:
    """Revoke a key permanently. It is refused from the next request on."""
    now = services.clock()
    revoked = await stored.revoke_key(services.db, key, caller.scope.accounts, now)
    if revoked is None:
        raise refusals.key_not_found(key=key)
    services.account_cache.invalidate_keys()
    return ListedKey(revoked, keys.status(revoked, now))
