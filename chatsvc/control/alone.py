"""Run one operation without a server, holding the folder's lock."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

from chatsvc.config import Config
from chatsvc.control.audited import perform
from chatsvc.control.operations import SENDING, Call
from chatsvc.privileges import STARTED_BY
from chatsvc.store import facts
from chatsvc.store.direct import DirectDatabase, finish
from chatsvc.store.folder import Folder, FolderInUse
from chatsvc.store.master_key import MasterKey, open_master_key
from chatsvc.usecases.account_cache import AccountCache
from chatsvc.usecases.knowledge_loader import KnowledgeLoader
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
        call, secret = Call(operation, arguments), open_master_key(folder, config.given_master_key)
        if operation in SENDING:
            from chatsvc.control.looped import run_looped

            return run_looped(config, folder, secret, call)
        result = _with_store(config, folder, secret, call)
        file = detached_file(result)
        if file is not None:
            with file:
                while target is not None and (piece := file.read(_PIECE)):
                    target.write(piece)
        return result
    finally:
        os.close(lock)


def detached_file(result: Any) -> IO[bytes] | None:
    """Open and remove the file named by `draft` in a result, and remove the key: no path leaves the process."""
    if not isinstance(result, dict) or "draft" not in result:
        return None
    draft = Path(result.pop("draft"))
    try:
        return draft.open("rb")
    finally:
        draft.unlink(missing_ok=True)


def _with_store(config: Config, folder: Folder, secret: MasterKey, call: Call) -> Any:
    db = DirectDatabase(folder.database, secret)
    try:
        finish(facts.belongs_to(db, secret))
        services = Services(config, db, secret, AccountCache(db), KnowledgeLoader(db))
        return finish(perform(services, call, STARTED_BY))
    finally:
        finish(db.close())
