"""State of the running service for its administrator: readiness, version, sizes, counters, outbound connections, audit log."""

import os
import platform
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from chatsvc import __version__
from chatsvc.domain import paging
from chatsvc.domain.actors import AuditRecord, Caller
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.tallies import Histogram
from chatsvc.outbound.egress import Egress
from chatsvc.services.accounts import accounts
from chatsvc.services.accounts.accounts import instant_of
from chatsvc.services.services import Services
from chatsvc.store import audit as stored
from chatsvc.store import facts, webhooks
from chatsvc.store.database import LAST, StoreUnavailable
from chatsvc.store.webhooks import Outstanding

MESSAGES = "POST /messages"


class SystemReport(NamedTuple):
    """Version, place and size of the installation. `database` and `memory` are in bytes, `started_at` in Unix milliseconds."""

    version: str
    python: str
    started_at: int
    data_dir: Path
    database: int
    memory: int


class MetricsSummary(NamedTuple):
    """Counters since the start. `requests` is by status class (2 for 2xx), times are in seconds, None without a request.

    `replies` and `deliveries` are by outcome; `outstanding` counts events of webhooks.
    """

    started_at: int
    requests: dict[int, int]
    in_flight: int
    messages: int
    median_s: float | None
    slow_s: float | None
    replies: dict[str, int]
    deliveries: dict[str, int]
    outstanding: Outstanding


async def show(services: Services, _: Caller) -> SystemReport:
    """Show version, place and size of the installation."""
    config = services.config
    size = await services.db.size()
    return SystemReport(__version__, platform.python_version(), services.started_at, config.data_dir, size, _memory())


def _memory() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def metrics(services: Services, _: Caller) -> MetricsSummary:
    """Sum up the counters of the service since its start; raises StoreUnavailable."""
    tallies = services.tallies
    requests: Counter[int] = Counter()
    for (_method, status, _route), count in tallies.requests.items():
        requests[status // 100] += count
    replies: Counter[str] = Counter()
    for (_tier, outcome), histogram in tallies.replies.items():
        replies[outcome] += sum(histogram.counts)
    durations = tallies.durations.get(MESSAGES, Histogram())
    return MetricsSummary(
        started_at=services.started_at,
        requests=dict(sorted(requests.items())),
        in_flight=tallies.in_flight,
        messages=sum(durations.counts),
        median_s=durations.quantile(0.5),
        slow_s=durations.quantile(0.99),
        replies=dict(replies.most_common()),
        deliveries=dict(services.webhooks.outcomes.most_common()),
        outstanding=await webhooks.outstanding(services.db),
    )


async def state(services: Services, *, stopping: bool) -> str:
    """Return `ready`, or the reason why the service is not: `stopping` or `store_unavailable`."""
    if stopping:
        return "stopping"
    if services.db.fault:
        return "store_unavailable"
    try:
        await facts.answers(services.db)
    except StoreUnavailable:
        return "store_unavailable"
    return "ready"


class EgressReport(NamedTuple):
    """Outbound connections since the start, and the fault for which the store writes nothing."""

    egress: Egress
    store_fault: str | None


async def egress(services: Services, _: Caller) -> EgressReport:
    """Show the outbound connections opened and refused since the start, by purpose."""
    return EgressReport(services.egress, services.db.fault)


async def list_acts(
    services: Services,
    caller: Caller,
    *,
    account: str | None = None,
    since: str | None = None,
    actor: str | None = None,
    act: str | None = None,
    limit: int = paging.DEFAULT,
    after: str | None = None,
) -> ResultPage[AuditRecord]:
    """List records of one account, or of the caller's scope, newest first.

    The `outcome` of an act that is under way or was cut off is None. `actor` selects the acts of the actor with this id, and `act` those of
    one operation.
    """
    chosen = caller.scope.accounts if account is None else [(await accounts.resolve(services, caller, account)).account.id]
    start = instant_of(since) if since is not None else 0
    limit, position = paging.clamped(limit), paging.parsed(after, paging.number)
    records = await stored.page(services.db, chosen, start, limit + 1, position[0] if position else LAST, actor, act)
    return paging.page_of(records, limit, lambda record: paging.position(record.number))
