"""Backups: made while the service runs, looked through, and put back."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from chatsvc import __version__
from chatsvc.config import Config
from chatsvc.domain import times
from chatsvc.domain.errors import Refused
from chatsvc.domain.shapes import Json
from chatsvc.store import backup
from chatsvc.store.backup import Backup
from chatsvc.store.database import StoreUnavailable
from chatsvc.store.folder import Folder, FolderInUse
from chatsvc.store.master_key import MASTER_KEY, MasterKey, keep_master_key
from chatsvc.usecases.services import Services

OUTGOING = "outgoing-"  # backups on their way from the data folder to where they were asked for
NAME = "chatsvc-{}.backup"
NOT_AUTHENTICATED = "not authenticated: a change made on purpose shows only with the master key (--master-key-file)"


def _shape(made: Backup) -> Json:
    return {
        # Of what cannot be read, nothing is told.
        "made_at": times.with_millis(made.made_at) if made.made_at else None,
        "chatsvc_version": made.chatsvc_version or None,
        "schema_version": made.schema_version or None,
        "master_key": made.master_key is not None,
        "counts": made.counts,
    }


async def create(services: Services, *, with_master_key: bool = False) -> Json:
    """Write a backup into the data folder, as `draft`; whoever asked puts it where it belongs. Raises StoreUnavailable."""
    folder, now = Folder(services.config.data_dir), services.clock()
    draft = folder.path / f"{OUTGOING}{uuid.uuid4().hex}"
    made = await services.offload(
        lambda: backup.create(folder.database, draft, services.secret, made_at=now, version=__version__, with_master_key=with_master_key)
    )
    return {**_shape(made), "bytes": draft.stat().st_size, "draft": str(draft)}


async def keep(services: Services) -> str | None:
    """Write the scheduled backup if the last one is old enough, and let go of the oldest; gives its name where one was written.

    Raises StoreUnavailable, and OSError where the folder cannot be used.
    """
    settings, now = services.config.backup, services.clock()
    if settings.every_s is None:
        return None
    folder = settings.folder
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept = sorted(folder.glob(NAME.format("*")))
    due = NAME.format(_stamp(now - int(settings.every_s * 1000)))
    if kept and kept[-1].name > due:
        return None
    target = folder / NAME.format(_stamp(now))
    database = Folder(services.config.data_dir).database
    await services.offload(lambda: backup.create(database, target, services.secret, made_at=now, version=__version__))
    for old in [*kept, target][: -settings.keep]:
        old.unlink(missing_ok=True)
    return target.name


def _stamp(now: int) -> str:
    return times.without_fraction(now).replace("-", "").replace(":", "")


def clear_outgoing(config: Config) -> None:
    """Remove what a crash left on its way."""
    for left in config.data_dir.glob(f"{OUTGOING}*"):
        left.unlink(missing_ok=True)


def verify(file: Path, master_key: bytes | None = None) -> Json:
    """Restore a backup to a temporary place and check it; authenticated with `master_key` or the key that it contains.

    Raises Refused where the file cannot be read.
    """
    with _scratch() as scratch:
        try:
            found = backup.examine(file, scratch, [master_key] if master_key else [], contained=master_key is None)
        except StoreUnavailable as fault:
            raise Refused(str(fault)) from None
    if master_key and not found.authenticated and not found.faults:
        found.faults.append("it was made with another master key")
    told = {"authenticated": found.authenticated, "faults": found.faults, "notes": [] if found.authenticated else [NOT_AUTHENTICATED]}
    return {"valid": not found.faults, "file": str(file), **_shape(found), **told}


@contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="chatsvc-") as folder:
        yield Path(folder) / "restored.db"


def restore(config: Config, source: IO[bytes], *, master_key: bytes | None, now: int) -> Json:
    """Put a backup into the data folder; a store there is kept beside it under another name.

    Raises Refused where a service runs, where the store there is newer, where the backup has faults, or where its master key is missing.
    """
    folder = Folder(config.data_dir)
    folder.prepare()
    try:
        lock = folder.lock()
    except FolderInUse:
        raise Refused(f"a chatsvc is running on {folder.path}: stop it first") from None
    incoming, scratch = (folder.path / f"{OUTGOING}{uuid.uuid4().hex}" for _ in range(2))
    try:
        with os.fdopen(os.open(incoming, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as copied:
            shutil.copyfileobj(source, copied)
        present = _present(config, folder)
        found = backup.examine(incoming, scratch, [key for key in (present, master_key) if key is not None], contained=master_key is None)
        if found.faults:
            raise Refused(f"the backup has faults: {'; '.join(found.faults)}")
        key = _key_of(found, config, present, master_key)
        aside = _aside(folder, now)
        replaced = _set_aside(folder, found, aside)
        backup.install(scratch, folder.database, now)
        if key != present:
            keep_master_key(folder, key, aside)
    except OSError as fault:
        raise Refused(f"the backup cannot be restored: {fault.strerror or fault}") from None
    finally:
        for left in (incoming, scratch):
            left.unlink(missing_ok=True)
        os.close(lock)
    return {**_shape(found), "data_dir": str(folder.path), "replaced": str(replaced) if replaced else None}


def _present(config: Config, folder: Folder) -> bytes | None:
    """The master key that the configuration or the data folder has."""
    file = folder.path / MASTER_KEY
    if config.given_master_key is not None or not file.exists():
        return config.given_master_key
    return bytes.fromhex(file.read_text("ascii").strip())


def _key_of(found: Backup, config: Config, present: bytes | None, given: bytes | None) -> bytes:
    """The master key that the backup's secrets are sealed with; raises Refused where it is missing or the backup not authenticated."""
    known = [key for key in (present, given, found.master_key) if key is not None]
    try:
        key = MasterKey(*known).of(found.check).in_force if known and found.authenticated else None
    except StoreUnavailable:
        key = None
    if key is None:
        raise Refused("the master key that this backup belongs to is not here: give it with --master-key-file")
    if config.given_master_key is not None and key != config.given_master_key:
        raise Refused("the configuration gives another master key (master_key) than this backup belongs to: change it there first")
    return key


def _aside(folder: Folder, now: int) -> str:
    """What the names of replaced files end in: the time, and a number where that has been used."""
    number, ending = 1, f".replaced-{_stamp(now)}"
    while list(folder.path.glob(f"*{ending}")):
        number, ending = number + 1, f".replaced-{_stamp(now)}-{number + 1}"
    return ending


def _set_aside(folder: Folder, found: Backup, ending: str) -> Path | None:
    """Rename the store that is there, unless it is newer than the backup."""
    database = folder.database
    if not database.exists():
        if database.with_name(f"{database.name}-wal").exists():
            raise Refused(
                f"{database.name}-wal lies in {folder.path} without its database, and holds the last of what was written: move it to where"
                f" {database.name} was moved to"
            )
        return None
    try:
        changed = backup.last_change(database)
    except StoreUnavailable as fault:
        raise Refused(f"{fault}; to restore all the same, move {database}* into another folder first") from None
    if changed > found.made_at:
        raise Refused(
            f"the store in {folder.path} is newer than the backup: something happened there at {times.with_millis(changed)},"
            f" the backup is of {times.with_millis(found.made_at)}; to restore all the same, move {database}* into another folder first"
        )
    aside = database.with_name(f"{database.name}{ending}")
    backup.close_up(database)
    database.replace(aside)
    return aside
