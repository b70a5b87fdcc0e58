"""Backups, made by hand or on schedule while the service runs: create, list, read, verify and restore them. Also copies to PostgreSQL."""

import errno
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

from chatsvc.config import Config
from chatsvc.config.model import PostgresSettings
from chatsvc.domain import refusals, times
from chatsvc.domain.actors import AuditRecord, Caller
from chatsvc.services.operations import stores
from chatsvc.services.services import Services
from chatsvc.store import audit
from chatsvc.store.copying import Report, TableDigest
from chatsvc.store.database import Connection, StoreUnavailable
from chatsvc.store.folder import Folder, FolderInUse
from chatsvc.store.master_key import MASTER_KEY, MasterKey, keep_master_key, read_key
from chatsvc.store.sqlite import backup
from chatsvc.store.sqlite.backup import Backup

OUTGOING = "outgoing-"  # prefix of drafts in the data folder
NAME = "chatsvc-{}.backup"
PIECE = 1 << 20  # bytes read at a time


class BackupDraft(NamedTuple):
    """A backup in the data folder, for the caller to move to its destination."""

    backup: Backup
    size: int
    draft: Path


class KeptBackup(NamedTuple):
    """A backup in the folder of backups. `written_at` is in Unix milliseconds."""

    name: str
    written_at: int
    size: int


async def create(services: Services, _: Caller, *, with_master_key: bool = False, keep: bool = False) -> BackupDraft:
    """Write a backup into the data folder, as a draft. With `keep`, write it into the folder of backups."""
    folder, now = services.config.backup.folder, services.clock()
    target = folder / NAME.format(_stamp(now)) if keep else services.config.data_dir / f"{OUTGOING}{uuid.uuid4().hex}"

    def write() -> BackupDraft:
        if keep:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        written = backup.create(services.db.fill_backup, target, services.secret, made_at=now, with_master_key=with_master_key)
        return BackupDraft(written, target.stat().st_size, target)

    try:
        return await services.offload(write)
    except OSError as fault:
        raise refusals.backup_folder_unusable(folder=str(folder), fault=fault.strerror or str(fault)) from None


async def list_all(services: Services, _: Caller) -> list[KeptBackup]:
    """List the backups in the folder of backups, newest first, both those of the schedule and those made by hand."""

    def look() -> list[KeptBackup]:
        backups = []
        for file in sorted(services.config.backup.folder.glob(NAME.format("*")), reverse=True):
            with suppress(FileNotFoundError):  # deleted by the schedule in the meantime
                status = file.stat()
                backups.append(KeptBackup(file.name, int(status.st_mtime * 1000), status.st_size))
        return backups

    return await services.offload(look)


async def read(services: Services, caller: Caller, *, backup: str) -> AsyncIterator[bytes]:
    """Return an iterator over a backup's content in pieces. Raises `backup_not_found` for a name that `list_all` does not return."""
    if backup not in [entry.name for entry in await list_all(services, caller)]:
        raise refusals.backup_not_found(backup=backup)

    async def pieces() -> AsyncIterator[bytes]:
        with (services.config.backup.folder / backup).open("rb") as stream:
            while piece := await services.offload(lambda: stream.read(PIECE)):
                yield piece

    return pieces()


async def keep(services: Services) -> str | None:
    """Write the scheduled backup if it is due, and delete the oldest backups. Return the new backup's name, or None if none was due."""
    settings, now = services.config.backup, services.clock()
    if settings.every_s is None:
        return None
    folder, due = settings.folder, NAME.format(_stamp(now - int(settings.every_s * 1000)))
    target = folder / NAME.format(_stamp(now))

    def write() -> str | None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        backups = sorted(folder.glob(NAME.format("*")))
        if backups and backups[-1].name > due:
            return None
        backup.create(services.db.fill_backup, target, services.secret, made_at=now)
        for oldest in [*backups, target][: -settings.keep]:
            oldest.unlink(missing_ok=True)
        return target.name

    return await services.offload(write)


def _stamp(now: int) -> str:
    return times.without_fraction(now).replace("-", "").replace(":", "")


def clear_outgoing(config: Config) -> None:
    """Delete drafts that a crash left in the data folder."""
    for draft in config.data_dir.glob(f"{OUTGOING}*"):
        draft.unlink(missing_ok=True)


def verify(source: IO[bytes], name: str, master_key: bytes | None = None) -> Backup:
    """Restore a backup to a temporary folder and check it with `master_key` or the key in it. It is valid if the result has no `faults`."""
    with tempfile.TemporaryDirectory(prefix="chatsvc-") as folder:
        try:
            keys = [master_key] if master_key else []
            examined = backup.examine(source, Path(folder) / "restored.db", keys, contained=master_key is None)
        except OSError as fault:
            raise refusals.backup_unreadable(fault=f"{name} cannot be examined: {fault.strerror or fault}") from None
    if master_key and not examined.authenticated and not examined.faults:
        examined.faults.append("it was made with another master key")
    return examined


@contextmanager
def _locked(folder: Folder) -> Iterator[None]:
    """Hold the lock of the data folder during a `with` block. Raises Refused if another process holds it, and StoreUnavailable."""
    try:
        with folder.locked():
            yield
    except FolderInUse:
        raise refusals.folder_in_use(folder=str(folder.path)) from None


def restore(config: Config, source: IO[bytes], *, master_key: bytes | None, now: int) -> tuple[Backup, Path | None]:
    """Restore a backup into the data folder or an empty PostgreSQL database. Return the backup, and the path of a replaced database."""
    folder = Folder(config.data_dir)
    folder.prepare()
    scratch = folder.path / f"{OUTGOING}{uuid.uuid4().hex}"
    with _locked(folder):
        try:
            key_file = folder.path / MASTER_KEY
            present = config.given_master_key or (read_key(key_file) if key_file.exists() else None)
            examined = backup.examine(source, scratch, [key for key in (present, master_key) if key], contained=master_key is None)
            if examined.faults:
                raise refusals.backup_faulty(faults=examined.faults)
            key = _key_of(examined, config, present, master_key)
            backup.settle(scratch, now)
            if config.store is not None:
                _fill(config.store, scratch)
                return examined, None
            ending = _ending(folder, now)
            replaced = _set_aside(folder, examined, ending)
            backup.install(scratch, folder.database)
            if key != present:
                keep_master_key(folder, key, ending)
        except OSError as fault:
            raise refusals.backup_unwritable(fault=fault.strerror or str(fault)) from None
        finally:
            scratch.unlink(missing_ok=True)
    return examined, replaced


def copy(config: Config, caller: Caller, *, to: PostgresSettings, now: int, report: Report) -> list[TableDigest]:
    """Copy all rows of a stopped SQLite installation to an empty PostgreSQL database, and record this in its audit log.

    Raises Refused, StoreUnavailable and SchemaTooNew.
    """
    folder = Folder(config.data_dir)
    if config.store is not None:
        raise refusals.store_copy_configured()
    if not folder.database.exists():
        raise refusals.store_copy_nothing(database=str(folder.database))
    act = AuditRecord(now, caller.actor, caller.via, None, "store.copy", {}, "done")
    with _locked(folder):
        return _fill(to, folder.database, report, lambda target: audit.record_in(target, act))


def _fill(
    settings: PostgresSettings, file: Path, report: Report = lambda *_: None, record: Callable[[Connection], object] = lambda _: None
) -> list[TableDigest]:
    from chatsvc.store.postgres import copying

    with backup.opened(file) as source:
        return copying.fill(stores.postgres_target(settings), source, backup.last_numbers(source), report, record)


def _key_of(examined: Backup, config: Config, present: bytes | None, given: bytes | None) -> bytes:
    """Return the master key of the backup's secrets. Raises Refused if the key is missing, or differs from the configured key.

    It also raises Refused if the backup is not authenticated.
    """
    known = [key for key in (present, given, examined.master_key) if key is not None]
    try:
        key = MasterKey(*known).of(examined.check).in_force if known and examined.authenticated else None
    except StoreUnavailable:
        key = None
    if key is None:
        raise refusals.backup_key_missing()
    if config.given_master_key is not None and key != config.given_master_key:
        raise refusals.backup_key_differs()
    return key


def _ending(folder: Folder, now: int) -> str:
    number, ending = 1, f".replaced-{_stamp(now)}"
    while list(folder.path.glob(f"*{ending}")):
        number, ending = number + 1, f".replaced-{_stamp(now)}-{number + 1}"
    return ending


def _set_aside(folder: Folder, examined: Backup, ending: str) -> Path | None:
    """Give the present database a second name, so that it remains after the restore. Raises Refused if it is newer than the backup."""
    database = folder.database
    if not database.exists():
        if database.with_name(f"{database.name}-wal").exists():
            raise refusals.restore_wal_alone(folder=str(folder.path), database=database.name)
        return None
    try:
        changed = backup.last_change(database)
    except StoreUnavailable as fault:
        raise refusals.restore_over_damage(fault=str(fault), database=str(database)) from None
    if changed > examined.made_at:
        moments = {"changed_at": times.with_millis(changed), "made_at": times.with_millis(examined.made_at)}
        raise refusals.restore_over_newer(folder=str(folder.path), database=str(database), **moments)
    aside = database.with_name(f"{database.name}{ending}")
    backup.close_up(database)
    try:
        aside.hardlink_to(database)
    except OSError as fault:
        if fault.errno not in (errno.EPERM, errno.EOPNOTSUPP):
            raise
        database.replace(aside)  # a file system without hard links
    return aside
