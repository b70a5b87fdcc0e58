"""One operation without a server, in the process of the command itself, which holds the folder's lock."""

from __future__ import annotations

from typing import Any

from chatsvc.config import Config
from chatsvc.control.operations import find
from chatsvc.domain.cursors import Cursors
from chatsvc.store import facts
from chatsvc.store.direct import DirectDatabase, finish
from chatsvc.store.folder import Folder, derive
from chatsvc.usecases.directory import Directory
from chatsvc.usecases.library import Library
from chatsvc.usecases.services import Services


def run(config: Config, folder: Folder, master_key: bytes, operation: str, arguments: dict[str, Any]) -> Any:
    """Open the store, run the operation and close again; raises Refused and StoreUnavailable."""
    db = DirectDatabase(folder.database)
    try:
        finish(facts.belongs_to(db, derive(master_key, "check")))
        services = Services(config, db, Cursors(derive(master_key, "cursors")), Directory(db), Library(db))
        return finish(_run(services, operation, arguments))
    finally:
        finish(db.close())


async def _run(services: Services, operation: str, arguments: dict[str, Any]) -> Any:
    return await find(operation)(services, **arguments)
