"""Checks of what is stored: configuration file, data folder, master key, database, disk and backups.

The database is an SQLite file or on a PostgreSQL server, whose rights, unsafe settings, clock and encryption are also checked.
"""

import os
import pwd
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from chatsvc.config import Config
from chatsvc.doctor import FAULT, Finding
from chatsvc.domain.channels import TOKEN_ELSEWHERE, TOKEN_REFUSED, Platform
from chatsvc.domain.times import DAY_MS, now_ms, with_millis
from chatsvc.local_user import user_name
from chatsvc.store.database import SchemaTooNew, StoreUnavailable
from chatsvc.store.examination import Examined, ServerState, examine
from chatsvc.store.folder import Folder
from chatsvc.store.master_key import MASTER_KEY, MasterKey, read_key

LITTLE_BYTES = 100 << 20
TIGHT_BYTES = 1 << 30
EARLIEST_MS = 1_767_225_600_000  # 2026: no clock that is right shows less
AHEAD_MS = 5 * 60_000


def configuration(config: Config) -> Iterator[Finding]:
    """Check who may read and write the configuration file."""
    if config.path is None:
        yield Finding.warning("configuration", "configuration_absent")
        return
    file = str(config.path)
    try:
        mode = config.path.stat().st_mode
    except PermissionError:
        mode = 0
    if mode & stat.S_IWOTH:
        yield Finding.fault("configuration", "configuration_writable", file=file)
    elif mode & stat.S_IROTH and config.path_holds_secrets:
        yield Finding.warning("configuration", "configuration_exposed", file=file)
    else:
        yield Finding.ok("configuration", "configuration_good", file=file)


def folder(config: Config) -> Iterator[Finding]:
    """Check the data folder: its rights, its owner, and the free space of its disk."""
    path = config.data_dir
    if not path.exists():
        yield Finding.fault("data folder", "folder_missing", folder=str(path))
    elif not path.is_dir():
        yield Finding.fault("data folder", "folder_is_file", folder=str(path))
    else:
        yield from _rights(path)
        yield from _disk(path)


def _rights(path: Path) -> Iterator[Finding]:
    status = path.stat()
    uid, name = status.st_uid, str(path)
    if status.st_mode & 0o077:
        yield Finding.fault("data folder", "folder_exposed", folder=name, mode=f"{stat.S_IMODE(status.st_mode):04o}")
    strangers = sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.lstat().st_uid != uid)
    if strangers:
        yield Finding.fault("data folder", "folder_mixed", folder=name, files=strangers[:5])
    if os.geteuid() not in (0, uid):
        yield Finding.fault("data folder", "folder_foreign", folder=name)
    elif uid == 0 and is_packaged():
        yield Finding.warning("data folder", "folder_of_root", folder=name, user=PACKAGED)
    elif not is_writable(path):
        yield Finding.fault("data folder", "folder_read_only", folder=name)
    elif not status.st_mode & 0o077 and not strangers:
        yield Finding.ok("data folder", "folder_good", folder=name)


def _disk(path: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(path).free
    if free < LITTLE_BYTES:
        yield Finding.fault("disk", "disk_full", folder=str(path), free=free)
    elif free < TIGHT_BYTES:
        yield Finding.warning("disk", "disk_tight", folder=str(path), free=free)
    else:
        yield Finding.ok("disk", "disk_good", free=free)


def temporary() -> Iterator[Finding]:
    """Check the folder for temporary files. Backups are verified there, and the single binary unpacks itself there."""
    try:
        folder = tempfile.gettempdir()
    except OSError as fault:
        yield Finding.fault("temporary files", "temporary_missing", reason=fault.strerror)
        return
    free = shutil.disk_usage(folder).free
    if free < LITTLE_BYTES:
        yield Finding.warning("temporary files", "temporary_tight", folder=folder, free=free)
    else:
        yield Finding.ok("temporary files", "temporary_good", folder=folder)


_CHANNEL_FAULTS = {TOKEN_REFUSED: "channel_token_refused", TOKEN_ELSEWHERE: "channel_token_elsewhere"}
SILENT_MS = 7 * DAY_MS


def channels(examined: Examined | None, platforms: Mapping[str, Platform], now: int) -> Iterator[Finding]:
    """Report faults of channels which messaging platforms returned, and callbacks that the platforms do not call."""
    for bot, channel, fault in examined.faulty_channels if examined else ():
        if fault in _CHANNEL_FAULTS:
            yield Finding.fault("channels", _CHANNEL_FAULTS[fault], bot=bot, channel=channel)
    for bot, channel, verified_at, heard_at in examined.heard_channels if examined else ():
        if platforms[channel].callback_path is None:
            continue
        if verified_at is None:
            yield Finding.warning("channels", "channel_unverified", bot=bot, channel=channel)
        elif now - heard_at >= SILENT_MS:
            yield Finding.warning("channels", "channel_silent", bot=bot, channel=channel, days=(now - heard_at) // DAY_MS)


def master_key_of(config: Config) -> bytes | None:
    """Return the master key, or None if it cannot be read."""
    if config.given_master_key is not None:
        return config.given_master_key
    try:
        return read_key(config.data_dir / MASTER_KEY)
    except OSError:
        return None


def master_key(config: Config, examined: Examined | None) -> Iterator[Finding]:
    """Check that the master key exists, that other users cannot read it, and that it belongs to the database."""
    path = config.data_dir / MASTER_KEY
    file, key = str(path), master_key_of(config)
    if config.given_master_key is None:
        if not path.exists():
            if examined is not None:
                yield Finding.fault("master key", "master_key_missing", file=file)
            return
        if path.stat().st_mode & 0o077:
            yield Finding.fault("master key", "master_key_exposed", file=file)
    if key is None:
        yield Finding.fault("master key", "master_key_invalid", file=file)
    elif examined is not None and examined.check is not None and MasterKey(key).check != examined.check:
        yield Finding.fault("master key", "master_key_other")
    elif config.given_master_key is not None:
        yield Finding.ok("master key", "master_key_configured")
    elif not path.stat().st_mode & 0o077:
        yield Finding.ok("master key", "master_key_good", file=file)


def clock(now: int, examined: Examined | None) -> Iterator[Finding]:
    if now < EARLIEST_MS:
        yield Finding.fault("clock", "clock_early", time=with_millis(now))
    elif examined is not None and examined.newest > now + AHEAD_MS:
        yield Finding.fault("clock", "clock_behind", time=with_millis(now), newest=with_millis(examined.newest))
    else:
        yield Finding.ok("clock", "clock_good", time=with_millis(now))


def backups(config: Config, now: int) -> Iterator[Finding]:
    """Check the scheduled backups, or warn if none are scheduled."""
    settings = config.backup
    existing = settings.folder
    while not existing.exists():
        existing = existing.parent
    if settings.every_s is None:
        yield Finding.warning("backups", "backups_unscheduled")
        return
    folder = str(settings.folder)
    files = sorted(settings.folder.glob("chatsvc-*.backup")) if settings.folder.exists() else []
    if not is_writable(existing):
        user = user_name(config.data_dir.stat().st_uid) if config.data_dir.exists() else "its owner"
        yield Finding.fault("backups", "backups_read_only", folder=folder, existing=str(existing), user=user)
    elif not files:
        yield Finding.warning("backups", "backups_none", folder=folder)
    elif now / 1000 - files[-1].stat().st_mtime > 2 * settings.every_s + 3600:
        yield Finding.fault("backups", "backups_late", last=files[-1].name)
    else:
        yield Finding.ok("backups", "backups_good", count=len(files), folder=folder, last=files[-1].name)


PACKAGED = "chatsvc"  # the user of the Debian package


def is_packaged() -> bool:
    """Return whether the service's user of the Debian package exists on this machine."""
    try:
        pwd.getpwnam(PACKAGED)
    except KeyError:
        return False
    return True


def is_writable(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=True)


_APART_MS = 2_000
# Of a process by default, a command and a backup.
_CONNECTIONS = 12
_SAFE = {"fsync": ("on",), "full_page_writes": ("on",), "synchronous_commit": ("on", "remote_apply", "remote_write", "local")}

ExamineServer = Callable[[Config, frozenset[str]], tuple[ServerState, Examined | None]]


def sqlite(config: Config, limit_s: float | None) -> tuple[list[Finding], Examined | None]:
    """Check the SQLite database, its content for at most `limit_s` seconds. Return the findings, and the data that other checks need."""
    path = Folder(config.data_dir).database
    file = str(path)
    if not path.exists():
        return [Finding.warning("database", "database_absent", file=file)], None
    if not os.access(path, os.R_OK | os.W_OK):
        return [Finding.fault("database", "database_closed", file=file)], None
    try:
        contents = examine(path, _knowledge_tiers(config), limit_s)
    except StoreUnavailable as outage:
        return [Finding.fault("database", "database_unreadable", file=file, reason=str(outage))], None
    except SchemaTooNew as newer:
        return [Finding.fault("database", "database_newer", file=file, reason=str(newer))], None
    if contents.problems:
        return [Finding.fault("database", "database_damaged", file=file, problems=contents.problems)], contents
    findings = [Finding.ok("database", "database_good", file=file, schema=contents.schema_version)]
    if not contents.checked and limit_s:
        findings = [Finding.warning("database", "database_unchecked", file=file, seconds=round(limit_s))]
    return [*findings, *_mute_bots(contents)], contents


def _knowledge_tiers(config: Config) -> frozenset[str]:
    return frozenset(name for name, tier in config.models.items() if tier.engine == "knowledge")


def _mute_bots(examined: Examined) -> Iterator[Finding]:
    return (Finding.warning("knowledge", "knowledge_empty", bot=name) for name in examined.mute)


def postgres(config: Config, examine: ExamineServer) -> tuple[list[Finding], Examined | None]:
    """Check the PostgreSQL server and its database. Return the findings, and the data that other checks need."""
    before = now_ms()
    try:
        state, contents = examine(config, _knowledge_tiers(config))
    except StoreUnavailable as outage:
        return [Finding.fault("database", "postgres_unusable", reason=str(outage))], None
    except SchemaTooNew as newer:
        return [Finding.fault("database", "postgres_newer", reason=str(newer))], None
    findings = [*server_findings(state, before, now_ms())]
    if contents is None:
        return [*findings, Finding.warning("database", "postgres_empty")], None
    if all(finding.state != FAULT for finding in findings):
        findings.insert(0, Finding.ok("database", "postgres_good", version=state.version, schema=contents.schema_version))
    return [*findings, *_mute_bots(contents)], contents


def server_findings(state: ServerState, before: int, after: int) -> Iterator[Finding]:
    """Check the state of a PostgreSQL server. It was requested between `before` and `after` (Unix ms by this machine's clock)."""
    for name, value in state.settings.items():
        if value not in _SAFE[name]:
            yield Finding.fault("database", "postgres_loses", setting=name, value=value)
    if not state.may_create:
        yield Finding.fault("database", "postgres_rights")
    apart = max(before - state.clock_ms, state.clock_ms - after)
    if apart > _APART_MS:
        yield Finding.warning("database", "postgres_clock", seconds=round(apart / 1000))
    used, most = state.connections
    if most - used < _CONNECTIONS:
        yield Finding.warning("database", "postgres_connections", used=used, most=most)
    if state.is_encrypted is False:
        yield Finding.warning("database", "postgres_unencrypted")
