"""The first account with a bot and a key, so that a new installation can be used at once."""

from __future__ import annotations

from chatsvc.domain.shapes import Json
from chatsvc.store import accounts as stored
from chatsvc.usecases import accounts, bots, keys
from chatsvc.usecases.services import Services


async def first(services: Services) -> Json:
    """Make an account, a bot and an API key where there is no account yet; else give nothing."""
    if await stored.everyone(services.db):
        return {"account": None, "bot": None, "key": None}
    account = await accounts.create(services, name="My company", plan=list(services.config.plans)[-1])
    owner = str(account["id"])
    bot = await bots.create(services, name="Assistant", account=owner)
    return {"account": account, "bot": bot, "key": await keys.create(services, account=owner, name="first key")}
