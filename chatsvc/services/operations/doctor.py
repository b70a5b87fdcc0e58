"""Runs `chatsvc doctor`'s examination in the running service, and caches the result for the dashboard."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from chatsvc import background, config
from chatsvc.config import Config
from chatsvc.domain.actors import Caller

if TYPE_CHECKING:
    from chatsvc.doctor.examination import Extent
    from chatsvc.doctor.report import Finding
    from chatsvc.services.services import Services

LIMIT_S = 60
DATABASE_S = 20.0
FRESH_MS = 5 * 60_000
# Findings of a whole examination alone, which a later partial one keeps.
_WHOLE_ONLY = ("model_", "mail_", "team_", "channel_unreachable", "database_damaged", "database_unchecked", "webhook_unresolved")


class Examination(NamedTuple):
    """The findings of an examination, and when it was made in Unix milliseconds."""

    at: int
    findings: list[Finding]

    @property
    def faults(self) -> list[Finding]:
        """The findings that keep the installation from working."""
        return [finding for finding in self.findings if finding.state == "fault"]


class ExaminationCache:
    """The latest examination, and the task that makes a new one."""

    def __init__(self, _: Services) -> None:
        self.latest: Examination | None = None
        self.task: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """End an examination that runs."""
        await background.cancel(self.task)


async def run(services: Services, _: Caller) -> Examination:
    """Examine the installation now. The database's content for at most DATABASE_S, everything for at most LIMIT_S."""
    from chatsvc.doctor.examination import Extent

    examination = await _examine(services, Extent(models=False, database_s=DATABASE_S, egress=services.egress))
    services.part(ExaminationCache).latest = examination
    return examination


async def show(services: Services, _: Caller) -> Examination | None:
    """Show the latest examination, None before the first. Older than FRESH_MS, a new one begins, without connections and database check."""
    cache = services.part(ExaminationCache)
    is_fresh = cache.latest is not None and services.clock() - cache.latest.at < FRESH_MS
    if not is_fresh and (cache.task is None or cache.task.done()):
        cache.task = background.start("examination of the installation", _refresh(services))
    return cache.latest


async def _refresh(services: Services) -> None:
    from chatsvc.doctor.examination import Extent

    examination = await _examine(services, Extent(network=False, models=False, database_s=0))
    cache = services.part(ExaminationCache)
    earlier = [finding for finding in cache.latest.findings if finding.code.startswith(_WHOLE_ONLY)] if cache.latest else []
    cache.latest = examination._replace(findings=examination.findings + earlier)


async def _examine(services: Services, extent: Extent) -> Examination:
    from chatsvc.doctor import report
    from chatsvc.doctor.examination import examine
    from chatsvc.services.accounts import channel_secrets
    from chatsvc.services.operations import stores

    at = services.clock()
    findings: list[Finding] = []

    def collect() -> None:
        load, service = partial(_load, services.config), partial(_service, services)
        for finding in examine(load, service, stores.examine_server, channel_secrets.token_of, services.platforms, extent):
            findings.append(finding)  # noqa: PERF402  # those found before the time is over count

    try:
        await asyncio.wait_for(services.offload(collect), LIMIT_S)
    except TimeoutError:
        # The thread may still add to its list.
        return Examination(at, [*findings, report.warning("examination", "examination_unfinished", seconds=LIMIT_S)])
    return Examination(at, findings)


def _load(running: Config) -> Config:
    """Load the configuration anew, since the file may have been changed since the start. Raises ConfigError and OSError."""
    if running.path is None:
        return running
    try:
        return config.load(running.path)
    except PermissionError:
        # Root has read it before it became the service's user.
        return running


def _service(services: Services, loaded: Config) -> Iterator[Finding]:
    from chatsvc.doctor import network

    egress = services.egress
    connections = egress.opened if egress.allowed else egress.refused
    return network.running(loaded, may_connect=egress.allowed, connections=connections, store_fault=services.db.fault)
