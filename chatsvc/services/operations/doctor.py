"""`chatsvc doctor`'s examination of the installation. In the running service its result is cached for the dashboard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple

from chatsvc import background, config, timezones
from chatsvc.config import Config, ConfigError
from chatsvc.doctor import Finding
from chatsvc.domain.actors import Caller
from chatsvc.domain.channels import Platform
from chatsvc.domain.errors import CommandError
from chatsvc.domain.times import now_ms
from chatsvc.outbound.egress import Egress

if TYPE_CHECKING:
    from chatsvc.services.services import Services

LIMIT_S = 60
DATABASE_S = 20.0
FRESH_MS = 5 * 60_000
# Findings of a whole examination alone, which a later partial one keeps.
_WHOLE_ONLY = ("model_", "mail_", "team_", "channel_unreachable", "database_damaged", "database_unchecked", "webhook_unresolved")


class Extent(NamedTuple):
    """Choice of the checks that an examination makes.

    If `network` is true, it connects to the model server and looks up names. If `models` is true, it asks the model server for its models,
    which loads a large library. `database_s` is the time for the check of the database in seconds, None for no limit, 0 for no check.
    `egress` is the ledger that records the connections.
    """

    network: bool = True
    models: bool = True
    database_s: float | None = None
    egress: Egress | None = None


WHOLE = Extent()


class Examination(NamedTuple):
    """The findings of an examination, and when it was made in Unix milliseconds."""

    examined_at: int
    findings: list[Finding]

    @property
    def faults(self) -> list[Finding]:
        """Return the findings that keep the installation from working."""
        return [finding for finding in self.findings if finding.state == "fault"]


class ExaminationCache:
    """The latest examination, and the task that makes a new one."""

    def __init__(self, _: Services) -> None:
        self.latest: Examination | None = None
        self.task: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """Cancel the running examination, if there is one."""
        await background.cancel(self.task)


async def run(services: Services, _: Caller) -> Examination:
    """Examine the installation now, for at most LIMIT_S seconds, of which DATABASE_S are for the content of the database."""
    examination = await _examine(services, Extent(models=False, database_s=DATABASE_S, egress=services.egress))
    services.part(ExaminationCache).latest = examination
    return examination


async def show(services: Services, _: Caller) -> Examination | None:
    """Return the latest examination, or None before the first.

    If there is none, or it is older than FRESH_MS, begin a new examination without connections and database check.
    """
    cache = services.part(ExaminationCache)
    is_fresh = cache.latest is not None and services.clock() - cache.latest.examined_at < FRESH_MS
    if not is_fresh and (cache.task is None or cache.task.done()):
        cache.task = background.start("examination of the installation", _refresh(services))
    return cache.latest


async def _refresh(services: Services) -> None:
    examination = await _examine(services, Extent(network=False, models=False, database_s=0))
    cache = services.part(ExaminationCache)
    earlier = [finding for finding in cache.latest.findings if finding.code.startswith(_WHOLE_ONLY)] if cache.latest else []
    cache.latest = examination._replace(findings=examination.findings + earlier)


async def _examine(services: Services, extent: Extent) -> Examination:
    begun_at = services.clock()
    findings: list[Finding] = []

    def collect() -> None:
        for finding in examine(partial(_load, services.config), partial(_service, services), services.platforms, extent):
            findings.append(finding)  # noqa: PERF402  # those found before the time is over count

    try:
        await asyncio.wait_for(services.offload(collect), LIMIT_S)
    except TimeoutError:
        # The thread may still add to its list.
        return Examination(begun_at, [*findings, Finding.warning("examination", "examination_unfinished", seconds=LIMIT_S)])
    return Examination(begun_at, findings)


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
    from chatsvc.doctor import servers

    egress = services.egress
    connections = egress.opened if egress.allowed else egress.refused
    return servers.running(loaded, may_connect=egress.allowed, connections=connections, store_fault=services.db.fault)


def examine(
    load: Callable[[], Config], service: Callable[[Config], Iterator[Finding]], platforms: Mapping[str, Platform], extent: Extent = WHOLE
) -> Iterator[Finding]:
    """Check the installation whose configuration `load` returns. Yield its faults as findings, and raise no errors for them.

    `service` checks the running service, or whether a service could listen.
    """
    try:
        config = load()
    except ConfigError as faulty:
        for line in str(faulty).splitlines():
            yield Finding.fault("configuration", "configuration_invalid", fault=line)
        return
    except OSError as unreadable:
        yield Finding.fault("configuration", "configuration_unreadable", file=str(unreadable.filename), reason=unreadable.strerror)
        return
    except CommandError as refusal:
        yield Finding.fault("configuration", "configuration_untrusted", fault=str(refusal))
        return
    try:
        yield from _checks(config, service, platforms, extent)
    except PermissionError as closed:
        yield Finding.fault("data folder", "folder_closed", file=str(closed.filename or config.data_dir), folder=str(config.data_dir))


def _checks(
    config: Config, service: Callable[[Config], Iterator[Finding]], platforms: Mapping[str, Platform], extent: Extent
) -> Iterator[Finding]:
    # Imported on use: a service that is not examined needs none of them.
    from chatsvc.doctor import servers, storage
    from chatsvc.services.accounts import channel_secrets
    from chatsvc.services.operations import stores

    now, may_connect, egress = now_ms(), extent.network and config.egress == "all", extent.egress or Egress()
    yield from storage.configuration(config)
    yield from storage.folder(config)
    yield from storage.temporary()
    in_file = config.store is None
    findings, examined = storage.sqlite(config, extent.database_s) if in_file else storage.postgres(config, stores.examine_server)
    yield from findings
    yield from storage.master_key(config, examined)
    yield from storage.clock(now, examined)
    if (older := timezones.use_newest_zones()) is not None:  # not used here, but other programs of the machine use them
        yield Finding.ok("time zones", "zones_old", system=older or "?", shipped=timezones.shipped_version())
    yield from service(config)
    yield from servers.public_url(config)
    yield from servers.certificates(config)
    if may_connect:
        yield from servers.model(config, egress, with_models=extent.models)
        yield from servers.mail(config, egress)
    for platform in platforms.values():
        if platform.examine:
            yield from resolve_name(platform.examine)(config, examined, egress if may_connect else None)
    yield from servers.webhooks(config, examined, resolve=may_connect)
    noted = list(storage.channels(examined, platforms, now))
    yield from noted
    if may_connect:
        tokens = servers.tokens(config, examined, channel_secrets.token_of, platforms, egress)
        yield from (finding for finding in tokens if finding not in noted)
    yield from storage.backups(config, now)
