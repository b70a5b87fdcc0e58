"""Administrative operations without a running service, under the lock of the data folder."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import IO, Any

from chatsvc.config import Config
from chatsvc.control.rendering import RENDERERS
from chatsvc.control.users import caller_of
from chatsvc.domain.refusals import Refused
from chatsvc.privileges import STARTED_BY
from chatsvc.store import facts, webhook_events
from chatsvc.store.database import StoreInUse
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

    Where another process works on the store, it runs there. Raises Refused, StoreUnavailable and FolderInUse.
    """
    folder = Folder(config.data_dir)
    folder.prepare()
    lock = folder.lock()
    try:
        secret = stores.master_key_of(config, folder)
        try:
            rendered = RENDERERS[operation](asyncio.run(_perform(config, folder, secret, operation, arguments)))
        except StoreInUse:
            rendered = asyncio.run(_hand_over(config, secret, operation, arguments))
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


async def _hand_over(config: Config, secret: MasterKey, operation: str, arguments: dict[str, Any]) -> Any:
    """Hand the operation to the process that works; return the result, rendered."""
    from chatsvc.control.handing_over import hand_over

    session = stores.session(config, secret)
    if session is None:
        raise TypeError("SQLite has one process")
    raw = json.dumps({"operation": operation, "arguments": arguments}).encode()
    try:
        answer = await hand_over(session, secret, caller_of(STARTED_BY), raw, config.data_dir)
    finally:
        await session.close()
    if "refused" in answer:
        raise Refused(answer["refused"]["code"], **answer["refused"]["facts"])
    return answer["result"]


async def _perform(config: Config, folder: Folder, secret: MasterKey, operation: str, arguments: dict[str, Any]) -> Any:
    """Perform the operation. Pending webhook events stay pending: the service sends them."""
    db = await stores.opener(config, readers=0)(folder.database, secret)
    try:
        await facts.belongs_to(db, secret)
        # The folder's lock is held: attempts in flight in the store were cut off.
        await webhook_events.interrupt(db)
        services = Services(config, db, secret, AccountCache(db))
        try:
            return await perform(services, caller_of(STARTED_BY), operation, arguments)
        finally:
            await services.close()
    finally:
        await db.close()
