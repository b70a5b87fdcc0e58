"""Checks of the store: the file of SQLite, or the server of PostgreSQL with its rights, settings that lose data, clock and encryption."""

import os
from collections.abc import Callable, Iterator

from chatsvc.config import Config
from chatsvc.doctor import FAULT, Finding
from chatsvc.domain.times import now_ms
from chatsvc.store.database import SchemaTooNew, StoreUnavailable
from chatsvc.store.examination import Examined, ServerState
from chatsvc.store.folder import Folder
from chatsvc.store.sqlite.examination import examine

_APART_MS = 2_000
# Of a process by default, a command and a backup.
_CONNECTIONS = 12
_SAFE = {"fsync": ("on",), "full_page_writes": ("on",), "synchronous_commit": ("on", "remote_apply", "remote_write", "local")}

ExamineServer = Callable[[Config, frozenset[str]], tuple[ServerState, Examined | None]]


def sqlite(config: Config, limit_s: float | None) -> tuple[list[Finding], Examined | None]:
    """Check the database, and its content for at most `limit_s` seconds. Return the findings, and the data that other checks need."""
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
    """Check the server and the database. Return the findings, and the data that other checks need."""
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
    """Check the state of a server. The state was requested between `before` and `after`, in milliseconds of this machine's clock."""
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
