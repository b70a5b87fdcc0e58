"""One operation without a server, in the process of the command itself, which holds the folder's lock."""

from __future__ import annotations

import os
from typing import Any

from chatsvc.config import Config
from chatsvc.control.audited import perform
from chatsvc.control.operations import SENDING, Call
from chatsvc.store import facts
from chatsvc.store.direct import DirectDatabase, finish
from chatsvc.store.folder import Folder, FolderInUse
from chatsvc.store.master_key import MasterKey, open_master_key
from chatsvc.usecases.account_cache import AccountCache
from chatsvc.usecases.knowledge_loader import KnowledgeLoader
from chatsvc.usecases.services import Services

__all__ = ["FolderInUse", "run"]


def run(config: Config, operation: str, arguments: dict[str, Any]) -> Any:
    """Open the store, run the operation and close again; raises Refused, StoreUnavailable and FolderInUse."""
    folder = Folder(config.data_dir)
    folder.prepare()
    lock = folder.lock()
    try:
        call, secret = Call(operation, arguments), open_master_key(folder, config.given_master_key)
        if operation in SENDING:
            from chatsvc.control.looped import run_looped

            return run_looped(config, folder, secret, call)
        return _with_store(config, folder, secret, call)
    finally:
        os.close(lock)


def _with_store(config: Config, folder: Folder, secret: MasterKey, call: Call) -> Any:
    db = DirectDatabase(folder.database, secret)
    try:
        finish(facts.belongs_to(db, secret))
        services = Services(config, db, secret, AccountCache(db), KnowledgeLoader(db))
        return finish(perform(services, call, os.getuid()))
    finally:
        finish(db.close())
