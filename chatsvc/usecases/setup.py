"""First account with a bot and a key, so that a new installation can be used at once."""

from __future__ import annotations

from chatsvc.domain.actors import Caller
from chatsvc.domain.models import FirstRecords
from chatsvc.store import accounts as stored
from chatsvc.usecases import accounts, bots, keys
from chatsvc.usecases.services import Services


async def first(services: Services, caller: Caller) -> FirstRecords:
    """Create an account, a bot and an API key, unless there is an account."""
    if await stored.count(services.db, None):
        return FirstRecords(None, None, None)
    made = await accounts.create(services, caller, name="My company", plan=list(services.config.plans)[-1])
    owner = made.account.id
    bot = await bots.create(services, caller, name="Assistant", account=owner)
    return FirstRecords(made, bot, await keys.create(services, caller, account=owner, name="first key"))
