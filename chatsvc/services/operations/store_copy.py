"""Copies a stopped SQLite installation, or a backup, into an empty PostgreSQL database."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from chatsvc.config import Config, PostgresSettings
from chatsvc.domain import refusals
from chatsvc.domain.actors import AuditRecord, Caller
from chatsvc.services.operations import stores
from chatsvc.store import audit, facts
from chatsvc.store.copying import Report, RowUnfit, SourceChanged, TableDigest, TargetNotEmpty
from chatsvc.store.database import Connection, StoreInUse
from chatsvc.store.folder import Folder, FolderInUse
from chatsvc.store.sqlite import copying


def copy(config: Config, caller: Caller, *, to: PostgresSettings, now: int, report: Report) -> list[TableDigest]:
    """Copy all rows to an empty database, or complete a copy, and audit it there. Raises Refused, StoreUnavailable and SchemaTooNew."""
    folder = Folder(config.data_dir)
    if config.store is not None:
        raise refusals.store_copy_configured()
    if not folder.database.exists():
        raise refusals.store_copy_nothing(database=str(folder.database))
    try:
        lock = folder.lock()
    except FolderInUse:
        raise refusals.folder_in_use(folder=str(folder.path)) from None
    act = AuditRecord(now, caller.actor, caller.via, None, "store.copy", {}, "done")
    try:
        with copying.source(folder.database) as source:
            check = facts.find_check(source) or b""
            return _fill(to, source, check, report, lambda target: audit.record_in(target, act), anew=False)
    finally:
        os.close(lock)


def restore(settings: PostgresSettings, file: Path, check: bytes) -> None:
    """Fill an empty database with the rows of an examined backup. Raises Refused and StoreUnavailable.

    An attempt that was interrupted begins anew, since it may have been of another backup.
    """
    with copying.source(file) as source:
        _fill(settings, source, check, _silent, _silent, anew=True)


def _silent(*_: object) -> None:
    """Report nothing."""


def _fill(
    settings: PostgresSettings, source: Connection, check: bytes, report: Report, record: Callable[[Connection], object], *, anew: bool
) -> list[TableDigest]:
    from chatsvc.store.postgres.copying import CopyTarget

    server = stores.postgres_target(settings)
    with _refusals(server.name), CopyTarget.opened(server, check, anew=anew) as target:
        digests = target.fill(source, check, report)
        target.finish(copying.numbers(source), record)
        return digests


@contextmanager
def _refusals(store: str) -> Iterator[None]:
    """Translate what the store refuses."""
    try:
        yield
    except TargetNotEmpty as fault:
        table = str(fault)
        raise refusals.store_target_used(store=store, table=table) if table else refusals.store_target_other(store=store) from None
    except StoreInUse:
        raise refusals.store_target_busy(store=store) from None
    except SourceChanged as fault:
        raise refusals.store_copy_differs(table=str(fault)) from None
    except RowUnfit as fault:
        raise refusals.store_copy_unfit(table=fault.table, key=fault.key) from None
