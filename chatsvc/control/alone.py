"""Run one operation without a server, holding the folder's lock."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

from chatsvc.config import Config
from chatsvc.control.rendering import RENDERERS
from chatsvc.control.users import caller_of
from chatsvc.privileges import STARTED_BY
from chatsvc.store import facts, webhooks
from chatsvc.store.direct import DirectDatabase, finish
from chatsvc.store.folder import Folder, FolderInUse
from chatsvc.store.master_key import MasterKey, open_master_key
from chatsvc.usecases.account_cache import AccountCache
from chatsvc.usecases.administration import perform
from chatsvc.usecases.knowledge_loader import KnowledgeLoader
from chatsvc.usecases.services import Services

__all__ = ["FolderInUse", "detached_file", "run"]

# Operations that look up names or send something, which takes an event loop.
SENDING = frozenset({"webhook.set", "webhook.test", "webhook.resend", "webhook.resend_failed"})
_PIECE = 1 << 20


def run(config: Config, operation: str, arguments: dict[str, Any], target: IO[bytes] | None = None) -> Any:
    """Run the operation on the store. A file that it makes is written to `target`.

    Raises Refused, StoreUnavailable and FolderInUse.
    """
    folder = Folder(config.data_dir)
    folder.prepare()
    lock = folder.lock()
    try:
        secret = open_master_key(folder, config.given_master_key)
        if operation in SENDING:
            from chatsvc.control.looped import run_looped

            result = run_looped(config, folder, secret, operation, arguments)
        else:
            result = _with_store(config, folder, secret, operation, arguments)
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
    """Open and remove the file named by `draft` in a result, and remove the key: no path leaves the process."""
    if not isinstance(result, dict) or "draft" not in result:
        return None
    draft = Path(result.pop("draft"))
    try:
        return draft.open("rb")
    finally:
        draft.unlink(missing_ok=True)


def _with_store(config: Config, folder: Folder, secret: MasterKey, operation: str, arguments: dict[str, Any]) -> Any:
    db = DirectDatabase(folder.database, secret)
    try:
        finish(facts.belongs_to(db, secret))
        # The folder's lock is held: attempts in flight in the store were cut off.
        finish(webhooks.interrupt(db))
        services = Services(config, db, secret, AccountCache(db), KnowledgeLoader(db))
        return finish(perform(services, caller_of(STARTED_BY), operation, arguments))
    finally:
        finish(db.close())
