"""Run one operation that sends a webhook, on an event loop without a server."""

from __future__ import annotations

import asyncio
from typing import Any

from chatsvc.config import Config
from chatsvc.control.users import caller_of
from chatsvc.domain.plans import with_webhooks
from chatsvc.outbound.egress import Egress
from chatsvc.privileges import STARTED_BY
from chatsvc.store import facts, webhooks
from chatsvc.store.committer import GroupCommitDatabase
from chatsvc.store.folder import Folder
from chatsvc.store.master_key import MasterKey
from chatsvc.usecases.account_cache import AccountCache
from chatsvc.usecases.administration import perform
from chatsvc.usecases.knowledge_loader import KnowledgeLoader
from chatsvc.usecases.services import Services
from chatsvc.webhooks.courier import make_courier
from chatsvc.webhooks.dispatcher import Dispatcher


def run_looped(config: Config, folder: Folder, secret: MasterKey, operation: str, arguments: dict[str, Any]) -> Any:
    """Run the operation; raises Refused and StoreUnavailable. Other pending events stay pending, for the service to send."""
    return asyncio.run(_run(config, folder, secret, operation, arguments))


async def _run(config: Config, folder: Folder, secret: MasterKey, operation: str, arguments: dict[str, Any]) -> Any:
    db = await GroupCommitDatabase.open(folder.database, secret)
    try:
        await facts.belongs_to(db, secret)
        # The folder's lock is held: a delivery that the store calls in flight was that of a killed command.
        await webhooks.interrupt(db)
        services = Services(config, db, secret, AccountCache(db), KnowledgeLoader(db), egress=Egress(allowed=config.egress == "all"))
        courier = services.courier = make_courier(config, secret, config.server.port, services.egress)
        services.dispatcher = Dispatcher(db, courier.deliver, courier.sign, with_webhooks(config.plans), services.clock)
        try:
            return await perform(services, caller_of(STARTED_BY), operation, arguments)
        finally:
            await courier.close()
    finally:
        await db.close()
