"""API keys (SPEC.md section 5): made and shown once, listed without the key, revoked from one request to the next."""

from __future__ import annotations

import uuid

from chatsvc.domain import keys, shapes, times
from chatsvc.domain.errors import Refused
from chatsvc.domain.models import ApiKey
from chatsvc.domain.shapes import Json
from chatsvc.store import keys as stored
from chatsvc.usecases import accounts
from chatsvc.usecases.services import Services


async def create(services: Services, *, account: str | None = None, name: str | None = None, expires: str | None = None) -> Json:
    """A new key. The answer holds it in `key`: no later call shows it again."""
    state = await accounts.resolve(services, account)
    now = services.clock()
    secret = keys.generate()
    key = ApiKey(
        id=str(uuid.uuid4()),
        account_id=state.account.id,
        label=accounts.plain_text(name, "the key's name") if name is not None else None,
        prefix=keys.shown_prefix(secret),
        created_at=now,
        expires_at=_expiry(expires, now) if expires is not None else None,
        revoked_at=None,
        last_used_at=None,
    )
    await stored.create(services.db, key, keys.digest(secret))
    return {"id": key.id, "key": secret, **shapes.api_key(key, now)}


def _expiry(text: str, now: int) -> int:
    try:
        instant = times.parse_utc(text)
    except (ValueError, OverflowError):
        raise Refused(f"{text!r} is no date; write 2027-01-31 or 2027-01-31T18:00 (UTC)") from None
    if instant <= now:
        raise Refused(f"{text} has passed already")
    return instant


async def list_all(services: Services, *, account: str | None = None) -> list[Json]:
    """The keys of one account, or of all, with what may be shown of them."""
    owner = (await accounts.resolve(services, account)).account.id if account is not None else None
    if services.account_cache.key_uses:
        await services.account_cache.flush_key_uses()
    now = services.clock()
    return [shapes.api_key(key, now) for key in await stored.list_all(services.db, owner)]


async def revoke(services: Services, *, key: str) -> Json:
    """Revoke a key for good; the very next request with it is refused."""
    now = services.clock()
    revoked = await stored.revoke(services.db, key, now, lambda _: services.account_cache.invalidate_keys())
    if revoked is None:
        raise Refused(f"there is no key {key}")
    return shapes.api_key(revoked, now)
