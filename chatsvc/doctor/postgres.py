"""Checks of a store in PostgreSQL: server, rights, settings that lose data, clock, connections, encryption."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from chatsvc.config import Config
from chatsvc.doctor import files, report
from chatsvc.doctor.report import Finding
from chatsvc.domain.times import now_ms
from chatsvc.store.database import SchemaTooNew, StoreUnavailable

if TYPE_CHECKING:
    from chatsvc.store.examination import Examined, ServerState

APART_MS = 2_000
# Of a process by default, a command and a backup.
CONNECTIONS = 12
_SAFE = {"fsync": ("on",), "full_page_writes": ("on",), "synchronous_commit": ("on", "remote_apply", "remote_write", "local")}

ExamineServer = Callable[[Config, frozenset[str]], "tuple[ServerState, Examined | None]"]


def store(config: Config, examine: ExamineServer) -> tuple[list[Finding], Examined | None]:
    """Check the server and the database. Returns the findings and the facts that others need."""
    tiers = frozenset(name for name, tier in config.models.items() if tier.engine == "knowledge")
    before = now_ms()
    try:
        state, contents = examine(config, tiers)
    except StoreUnavailable as outage:
        return [report.fault("database", "postgres_unusable", reason=str(outage))], None
    except SchemaTooNew as newer:
        return [report.fault("database", "postgres_newer", reason=str(newer))], None
    findings = [*server(state, before, now_ms())]
    if contents is None:
        return [*findings, report.warning("database", "postgres_empty")], None
    if all(finding.state != report.FAULT for finding in findings):
        findings.insert(0, report.ok("database", "postgres_good", version=state.version, schema=contents.schema_version))
    return [*findings, *files.bots(contents)], contents


def server(state: ServerState, before: int, after: int) -> Iterator[Finding]:
    """Check the state of a server. It was asked for between the times `before` and `after`."""
    for name, value in state.settings.items():
        if value not in _SAFE[name]:
            yield report.fault("database", "postgres_loses", setting=name, value=value)
    if not state.may_create:
        yield report.fault("database", "postgres_rights")
    apart = max(before - state.clock_ms, state.clock_ms - after)
    if apart > APART_MS:
        yield report.warning("database", "postgres_clock", seconds=round(apart / 1000))
    used, most = state.connections
    if most - used < CONNECTIONS:
        yield report.warning("database", "postgres_connections", used=used, most=most)
    if state.is_encrypted is False:
        yield report.warning("database", "postgres_unencrypted")
