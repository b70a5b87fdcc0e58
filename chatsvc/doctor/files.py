"""Checks of the files and the clock of this machine: configuration, data folder, master key, disk."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from chatsvc.config import Config
from chatsvc.doctor import owner
from chatsvc.doctor.report import Check, fault, ok, warning
from chatsvc.domain.times import with_millis
from chatsvc.store.database import SchemaTooNew, StoreUnavailable
from chatsvc.store.folder import Folder
from chatsvc.store.master_key import MASTER_KEY, MasterKey
from chatsvc.store.sqlite.examination import Examined, examine, sqlite_is_fixed, sqlite_version

LITTLE_BYTES = 100 << 20
TIGHT_BYTES = 1 << 30
EARLIEST_MS = 1_767_225_600_000  # 2026: no clock that is right shows less
AHEAD_MS = 5 * 60_000


def configuration(config: Config) -> Iterator[Check]:
    """Check who may read and write the configuration file."""
    if config.path is None:
        yield warning("configuration", "no file: everything has its default", "make one with: chatsvc init")
        return
    try:
        mode = config.path.stat().st_mode
    except PermissionError:
        mode = 0
    if mode & stat.S_IWOTH:
        yield fault("configuration", f"everybody may write {config.path}", f"chmod o-w {config.path}")
    elif not os.access(config.path, os.R_OK):
        who = owner.name(config.data_dir)
        yield fault(
            "configuration",
            f"the service's user {who} may not read {config.path}",
            f"chgrp {who} {config.path} and chmod 640 {config.path}",
        )
    elif mode & stat.S_IROTH and config.path_holds_secrets:
        yield warning("configuration", f"everybody may read {config.path}, which holds secrets", f"chmod o-r {config.path}")
    else:
        yield ok("configuration", str(config.path))


def folder(config: Config) -> Iterator[Check]:
    """Check the data folder: its rights, its owner, and the free space of its disk."""
    path = config.data_dir
    if not path.exists():
        yield fault("data folder", f"{path} is not there", "make it with: chatsvc init (or see data_dir in the configuration)")
        return
    if not path.is_dir():
        yield fault("data folder", f"{path} is no folder", "move it away, or set data_dir to another folder")
        return
    yield from _rights(path)
    yield from _room(path)


def _rights(path: Path) -> Iterator[Check]:
    status = path.stat()
    uid = status.st_uid
    writable = owner.writable(path)
    if status.st_mode & 0o077:
        yield fault("data folder", f"others may enter {path} (mode {stat.S_IMODE(status.st_mode):04o})", f"chmod 700 {path}")
    strangers = sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.lstat().st_uid != uid)
    if strangers:
        yield fault(
            "data folder",
            f"not everything in {path} belongs to its owner: {', '.join(strangers[:5])}",
            f"chown -R --reference={path} {path}",
        )
    if os.geteuid() not in (0, uid):
        yield fault("data folder", f"{path} belongs to another user", "run the command as its owner or as root")
    elif uid == 0 and owner.packaged():
        remedy = f"if systemd starts the service: chown -R {owner.PACKAGED}:{owner.PACKAGED} {path}"
        yield warning("data folder", f"{path} belongs to root, but the service's user is {owner.PACKAGED}", remedy)
    elif not writable:
        yield fault("data folder", f"{path} cannot be written", "make its file system writable, or mend its rights: chmod 700")
    elif not status.st_mode & 0o077 and not strangers:
        yield ok("data folder", str(path))


def _room(path: Path) -> Iterator[Check]:
    free = shutil.disk_usage(path).free
    files = os.statvfs(path)
    text = f"{free / (1 << 30):.1f} GiB free"
    if free < LITTLE_BYTES:
        yield fault("disk", text, f"make room on the disk of {path}: without it no message can be written")
    elif files.f_files and files.f_favail < 100:
        yield fault("disk", "no inodes left", f"remove files on the disk of {path}")
    elif free < TIGHT_BYTES:
        yield warning("disk", text, f"make room on the disk of {path}")
    else:
        yield ok("disk", text)


def temporary() -> Iterator[Check]:
    """Check the folder for temporary files: backups are verified there, and the single binary unpacks itself there."""
    remedy = "or set TMPDIR to another folder: `backup verify` and the single binary need one"
    try:
        place = tempfile.gettempdir()
    except OSError as none:
        yield fault("temporary files", f"{none.strerror}", f"chmod 1777 /tmp and make room in it, {remedy}")
        return
    free = shutil.disk_usage(place).free
    if free < LITTLE_BYTES:
        yield warning("temporary files", f"{free >> 20} MiB free in {place}", f"make room there, {remedy}")
    else:
        yield ok("temporary files", place)


def store(config: Config) -> tuple[list[Check], Examined | None]:
    """Check the database; returns the checks and the findings that others need."""
    path = Folder(config.data_dir).database
    if not path.exists():
        return [
            warning("database", f"{path} is not there yet", "it is made by the first command; or put a backup back: backup restore")
        ], None
    if not os.access(path, os.R_OK | os.W_OK):
        return [
            fault("database", f"{path} cannot be read and written", "mend its rights: chmod 600, chown to the data folder's owner")
        ], None
    back = f"stop the service, move {path}* into another folder, and put the last backup back: chatsvc backup restore FILE"
    tiers = frozenset(name for name, tier in config.models.items() if tier.engine == "knowledge")
    try:
        found = examine(path, tiers)
    except StoreUnavailable as outage:
        return [fault("database", f"{path}: {outage}", back)], None
    except SchemaTooNew as newer:
        return [fault("database", f"{path}: {newer}", "install the newer chatsvc again")], None
    if found.problems:
        return [fault("database", f"{path} is damaged: {'; '.join(found.problems)}", back)], found
    checks = [ok("database", f"{path}, schema {found.schema_version}")]
    if sqlite_is_fixed():
        checks.append(ok("SQLite", sqlite_version()))
    else:
        # One process writes and checkpoints on one connection, so the fault of older versions is not met.
        checks.append(ok("SQLite", f"{sqlite_version()}; keep other programs from writing the database while the service runs"))
    checks += [
        warning("knowledge", f"the bot {name!r} answers from its knowledge and has none", "add some: chatsvc knowledge add BOT FILE")
        for name in found.mute
    ]
    return checks, found


def master_key(config: Config, examined: Examined | None) -> Iterator[Check]:
    """Check that the master key is there, closed to others, and the one the database was made with."""
    file = config.data_dir / MASTER_KEY
    key = config.given_master_key
    if key is None:
        if not file.exists():
            if examined is not None:
                yield fault("master key", f"{file} is not there", "put it back, or give it in $CHATSVC_MASTER_KEY")
            return
        if file.stat().st_mode & 0o077:
            yield fault("master key", f"others may read {file}", f"chmod 600 {file}; if somebody has: chatsvc master-key rotate")
        try:
            key = bytes.fromhex(file.read_text("ascii").strip())
        except (OSError, ValueError):
            key = b""
        if len(key) != 32:
            yield fault("master key", f"{file} does not hold a master key", "put the right file back: 64 hexadecimal digits")
            return
    if examined is not None and examined.check is not None and MasterKey(key).check != examined.check:
        yield fault("master key", "it is not the one this database was made with", "put the right one back; a backup may hold it")
    elif config.given_master_key is not None or not file.stat().st_mode & 0o077:
        yield ok("master key", "from the configuration" if config.given_master_key is not None else str(file))


def clock(now: int, examined: Examined | None) -> Iterator[Check]:
    """Check the machine's clock against the newest record."""
    remedy = "set the clock, best by NTP: timedatectl set-ntp true"
    if now < EARLIEST_MS:
        yield fault("clock", f"it shows {with_millis(now)}", remedy)
    elif examined is not None and examined.newest > now + AHEAD_MS:
        yield fault("clock", f"it shows {with_millis(now)}, but something happened here at {with_millis(examined.newest)}", remedy)
    else:
        yield ok("clock", with_millis(now))


def backups(config: Config, now: int) -> Iterator[Check]:
    """Check the scheduled backups, where there are any."""
    settings = config.backup
    place = settings.folder
    while not place.exists():
        place = place.parent
    writable = owner.writable(place)
    if settings.every_s is None:
        yield warning("backups", "none are scheduled", "set backup.every, or run chatsvc backup create from a timer of your own")
        return
    kept = sorted(settings.folder.glob("chatsvc-*.backup")) if settings.folder.exists() else []
    if not writable:
        who = owner.name(config.data_dir) if config.data_dir.exists() else "its owner"
        remedy = f"mend the rights of {place} (the service's user is {who}), or set backup.folder to another folder"
        yield fault("backups", f"{settings.folder} cannot be written", remedy)
    elif not kept:
        yield warning("backups", f"there is none in {settings.folder} yet", "the running service makes them; its log says what hinders it")
    elif now / 1000 - kept[-1].stat().st_mtime > 2 * settings.every_s + 3600:
        yield fault("backups", f"the last one is {kept[-1].name}", "see the service's log for why there is no newer one; is it running?")
    else:
        yield ok("backups", f"{len(kept)} in {settings.folder}, the last is {kept[-1].name}")
