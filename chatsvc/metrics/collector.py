"""Metric families for Prometheus, made from the service's counters at each scrape."""

import platform
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import accumulate
from typing import Literal, NamedTuple, TypeVar

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from chatsvc import __version__
from chatsvc.domain.tallies import Histogram
from chatsvc.services.operations import nodes
from chatsvc.services.operations.mailer import Mailer
from chatsvc.services.services import Services
from chatsvc.store import mails
from chatsvc.store.batches import StoreDatabase
from chatsvc.store.database import StoreUnavailable
from chatsvc.store.webhooks import Outstanding, outstanding

Labels = TypeVar("Labels", bound=tuple[str, ...])


class Family(NamedTuple):
    """Declaration of a metric family: kind, name without the kind's suffix, description, labels."""

    kind: Literal["counter", "gauge", "histogram", "info"]
    name: str
    text: str
    labels: tuple[str, ...] = ()


BUILD = Family("info", "chatsvc_build", "Version of the program and of Python; always 1.", ("version", "python"))
NODE = Family("info", "chatsvc_node", "This process, by its id in `chatsvc nodes`; always 1.", ("id",))
NODES = Family("gauge", "chatsvc_nodes", "Processes over the store that live.")
REQUESTS = Family("counter", "chatsvc_requests", "Requests answered, by operation, status and error code.", ("route", "status", "error"))
REQUEST_SECONDS = Family("histogram", "chatsvc_request_seconds", "Time from a request's head to its answer.", ("route",))
REQUESTS_IN_FLIGHT = Family("gauge", "chatsvc_requests_in_flight", "Requests being processed after the gates (key, plan, rate limit).")
REPLY_SECONDS = Family(
    "histogram", "chatsvc_reply_seconds", "Time an engine took, by outcome: ok, or the reason of the 502.", ("tier", "outcome")
)
TOKENS = Family("counter", "chatsvc_tokens", "Tokens of stored replies.", ("tier", "plan", "kind"))
COST = Family("counter", "chatsvc_cost_usd", "Cost of stored replies by the configured prices, in US dollars.", ("tier", "plan"))
MESSAGES_UNDER_WAY = Family("gauge", "chatsvc_messages_under_way", "Messages being answered, waiting ones included.")
MESSAGES_WAITING = Family("gauge", "chatsvc_messages_waiting", "Messages that wait for an earlier one of their conversation.")
BATCH_SIZE = Family("histogram", "chatsvc_store_batch_size", "Units of work in a transaction; kind is read or write.", ("kind",))
BATCH_SECONDS = Family("histogram", "chatsvc_store_batch_seconds", "Time a transaction takes, its commit included.", ("kind",))
STORE_FAULTS = Family("counter", "chatsvc_store_faults", "Units of work that failed because of the disk or SQLite.", ("kind",))
STORE_WAITING = Family("gauge", "chatsvc_store_waiting", "Units of work that wait for a transaction.", ("kind",))
WEBHOOK_ATTEMPTS = Family(
    "counter", "chatsvc_webhook_attempts", "Deliveries, by outcome: delivered, or the reason of the failure.", ("outcome",)
)
EVENTS_PENDING = Family("gauge", "chatsvc_webhook_events_pending", "Webhook events that were never attempted.")
ATTEMPTS_UNDER_WAY = Family("gauge", "chatsvc_webhook_attempts_under_way", "Deliveries without an outcome.")
MAILS = Family("counter", "chatsvc_mails", "Attempts to send a mail, by outcome: sent, or the reason of the failure.", ("outcome",))
MAILS_QUEUED = Family("gauge", "chatsvc_mails_queued", "Mails that wait to be sent.")
EGRESS = Family("counter", "chatsvc_egress_connections", "Outbound connections; outcome is opened or refused.", ("purpose", "outcome"))
FAMILIES = [declared for declared in list(globals().values()) if isinstance(declared, Family)]


class ServiceCollector(Collector):
    """Prometheus collector of one service.

    `outstanding`, `queued_mails` and `nodes` (how many live) are the last readings of the store; None after a failed one.
    """

    def __init__(self, services: Services, db: StoreDatabase) -> None:
        self._services = services
        self._db = db
        self.outstanding: Outstanding | None = None
        self.queued_mails: int | None = None
        self.nodes: int | None = None

    def collect(self) -> Iterator[Metric]:
        """See Collector."""
        yield InfoMetricFamily(BUILD.name, BUILD.text, {"version": __version__, "python": platform.python_version()})
        node = self._services.node
        if node is not None:
            yield InfoMetricFamily(NODE.name, NODE.text, {"id": node.id})
        if self.nodes is not None:
            yield _gauge(NODES, {(): self.nodes})
        yield from self._requests()
        yield from self._replies()
        yield from self._store()
        yield from self._webhooks()
        yield from self._mails()
        egress = self._services.egress
        opened = {(purpose, "opened"): count for purpose, count in egress.opened.items()}
        refused = {(purpose, "refused"): count for purpose, count in egress.refused.items()}
        yield _counter(EGRESS, opened | refused)

    def _requests(self) -> Iterator[Metric]:
        tallies = self._services.tallies
        yield _counter(REQUESTS, {(route, str(status), error): count for (route, status, error), count in tallies.requests.items()})
        yield _histogram(REQUEST_SECONDS, {(route,): histogram for route, histogram in tallies.durations.items()})
        yield _gauge(REQUESTS_IN_FLIGHT, {(): tallies.in_flight})

    def _replies(self) -> Iterator[Metric]:
        tallies, locks = self._services.tallies, self._services.conversation_locks
        yield _histogram(REPLY_SECONDS, tallies.replies)
        tokens = {
            (*key, name.removesuffix("_tokens")): count
            for key, spending in tallies.spendings.items()
            for name, count in spending.usage._asdict().items()
        }
        yield _counter(TOKENS, tokens)
        yield _counter(COST, {key: spending.cost_micro_usd / 1_000_000 for key, spending in tallies.spendings.items()})
        yield _gauge(MESSAGES_UNDER_WAY, {(): locks.unfinished})
        yield _gauge(MESSAGES_WAITING, {(): locks.waiting})

    def _store(self) -> Iterator[Metric]:
        threads = {("read",): self._db.readers, ("write",): [self._db.writer]}
        yield _histogram(BATCH_SIZE, {kind: _sum(thread.sizes for thread in of_kind) for kind, of_kind in threads.items()})
        yield _histogram(BATCH_SECONDS, {kind: _sum(thread.seconds for thread in of_kind) for kind, of_kind in threads.items()})
        yield _counter(STORE_FAULTS, {kind: sum(thread.outages for thread in of_kind) for kind, of_kind in threads.items()})
        yield _gauge(STORE_WAITING, {kind: sum(len(thread.queue) for thread in of_kind) for kind, of_kind in threads.items()})

    def _webhooks(self) -> Iterator[Metric]:
        outcomes = self._services.dispatcher.outcomes
        yield _counter(WEBHOOK_ATTEMPTS, {(outcome,): count for outcome, count in outcomes.items()})
        if self.outstanding is not None:
            yield _gauge(EVENTS_PENDING, {(): self.outstanding.pending})
            yield _gauge(ATTEMPTS_UNDER_WAY, {(): self.outstanding.under_way})

    def _mails(self) -> Iterator[Metric]:
        outcomes = self._services.part(Mailer).outcomes if self._services.sends_mail else {"sent": 0}
        yield _counter(MAILS, {(outcome,): count for outcome, count in outcomes.items()})
        if self.queued_mails is not None:
            yield _gauge(MAILS_QUEUED, {(): self.queued_mails})


class Exposition:
    """The text of a scrape."""

    def __init__(self, services: Services, db: StoreDatabase) -> None:
        self._db = db
        self._list_nodes = partial(nodes.find_all, services)
        self._collector = ServiceCollector(services, db)
        self._registry = CollectorRegistry()
        self._registry.register(self._collector)
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)

    async def text(self) -> bytes:
        """Return all current metrics, without those of the store when it cannot answer."""
        try:
            self._collector.outstanding = await outstanding(self._db)
            self._collector.queued_mails = await mails.queued(self._db)
            self._collector.nodes = len(await self._list_nodes())
        except StoreUnavailable:
            self._collector.outstanding = self._collector.queued_mails = self._collector.nodes = None
        return generate_latest(self._registry)


def _counter(declared: Family, numbers: Mapping[Labels, float]) -> Metric:
    family = CounterMetricFamily(declared.name, declared.text, labels=declared.labels)
    for key, number in numbers.items():
        family.add_metric(key, number)
    return family


def _gauge(declared: Family, numbers: Mapping[Labels, float]) -> Metric:
    family = GaugeMetricFamily(declared.name, declared.text, labels=declared.labels)
    for key, number in numbers.items():
        family.add_metric(key, number)
    return family


def _histogram(declared: Family, histograms: Mapping[Labels, Histogram]) -> Metric:
    family = HistogramMetricFamily(declared.name, declared.text, labels=declared.labels)
    for key, histogram in histograms.items():
        bounds = [*(str(bound) for bound in histogram.bounds), "+Inf"]
        family.add_metric(key, list(zip(bounds, accumulate(histogram.counts), strict=True)), histogram.total)
    return family


def _sum(histograms: Iterable[Histogram]) -> Histogram:
    first, *others = histograms
    total = Histogram(first.bounds)
    for histogram in (first, *others):
        total.counts = [count + more for count, more in zip(total.counts, histogram.counts, strict=True)]
        total.total += histogram.total
    return total
