"""Administrative operations without a running service, under the lock of the data folder."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import IO, Any

from chatsvc.config import Config
from chatsvc.control.rendering import RENDERERS
from chatsvc.control.users import caller_of
from chatsvc.privileges import STARTED_BY
from chatsvc.store import facts, webhooks
from chatsvc.store.folder import Folder, FolderInUse
from chatsvc.store.master_key import MasterKey
from chatsvc.usecases import stores
from chatsvc.usecases.account_cache import AccountCache
from chatsvc.usecases.administration import perform
from chatsvc.usecases.services import Services

__all__ = ["FolderInUse", "detached_file", "run"]

_PIECE = 1 << 20


def run(config: Config, operation: str, arguments: dict[str, Any], target: IO[bytes] | None = None) -> Any:
    """Run the operation on the store. A file that it makes is written to `target`.

    Raises Refused, StoreUnavailable and FolderInUse.
    """
    folder = Folder(config.data_dir)
    folder.prepare()
    lock = folder.lock()
    try:
        secret = stores.master_key_of(config, folder)
        result = asyncio.run(_perform(config, folder, secret, operation, arguments))
        rendered = RENDERERS[operation](result)
        file = detached_file(rendered)
        if file is not None:
            with file:
                while target is not None and (piece := file.read(_PIECE)):
                    target.write(piece)
        return rendered
    finally:
        os.close(lock)


def detached_file(result: Any) -> IO[bytes] | None:
    """Open and remove the file named by `draft` in a result, and remove the key. No path leaves the process."""
    if not isinstance(result, dict) or "draft" not in result:
        return None
    draft = Path(result.pop("draft"))
    try:
        return draft.open("rb")
    finally:
        draft.unlink(missing_ok=True)


async def _perform(config: Config, folder: Folder, secret: MasterKey, operation: str, arguments: dict[str, Any]) -> Any:
    """Perform the operation. Pending webhook events stay pending: the service sends them."""
    db = await stores.opener(config, readers=0)(folder.database, secret)
    try:
        await facts.belongs_to(db, secret)
        # The folder's lock is held: attempts in flight in the store were cut off.
        await webhooks.interrupt(db)
        services = Services(config, db, secret, AccountCache(db))
        try:
            return await perform(services, caller_of(STARTED_BY), operation, arguments)
        finally:
            await services.close()
    finally:
        await db.close()
