"""Administrative operations in the process of a command. They are used if no service runs, or if several processes share a store."""

import asyncio
import json
import os
import shutil
from typing import IO, Any

from chatsvc.config import Config
from chatsvc.control.rendering import rendered
from chatsvc.domain.times import now_ms
from chatsvc.local_user import caller_of
from chatsvc.platforms import PLATFORMS
from chatsvc.services.administration import perform
from chatsvc.services.operations import stores
from chatsvc.services.operations.nodes import new_node
from chatsvc.services.operations.stores import StoreChoice
from chatsvc.store import facts, webhooks
from chatsvc.store.folder import Folder, FolderInUse
from chatsvc.store.master_key import MasterKey

__all__ = ["FolderInUse", "run"]


def run(config: Config, operation: str, arguments: dict[str, Any], target: IO[bytes] | None = None) -> Any:
    """Open the store and run an operation. A file as its result goes to `target`. Raises Refused, StoreUnavailable and FolderInUse."""
    folder, store = Folder(config.data_dir), stores.chosen(config)
    folder.prepare()
    with store.alone(folder):
        secret = stores.master_key_of(config, folder)
        result, file = rendered(operation, asyncio.run(_perform(store, config, folder, secret, operation, arguments)))
        if file is not None:
            with file:
                if target is not None:
                    shutil.copyfileobj(file, target)
        # As it comes from a running service: tuples are lists there.
        return json.loads(json.dumps(result))


async def _perform(store: StoreChoice, config: Config, folder: Folder, secret: MasterKey, operation: str, arguments: dict[str, Any]) -> Any:
    """Perform the operation. Webhook events stay pending, because only the service sends them."""
    node = new_node(now_ms())
    db = await store.open(folder, secret, node, serves=False)
    try:
        await facts.belongs_to(db, secret)
        # Attempts whose process has ended were cut off.
        await webhooks.interrupt(db)
        services = store.services(config, db, secret)
        services.platforms = PLATFORMS
        presence = store.enter(services, node)
        try:
            return await perform(services, caller_of(os.getuid()), operation, arguments)
        finally:
            await services.close()
            await presence.stop()
    finally:
        await db.close()
