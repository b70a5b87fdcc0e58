"""From what the service has counted to Prometheus' families, made anew at each scrape: between scrapes nothing is done for them."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import TypeVar

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from chatsvc import __version__
from chatsvc.domain.tallies import Histogram
from chatsvc.store.committer import GroupCommitDatabase
from chatsvc.store.database import StoreUnavailable
from chatsvc.store.webhooks import Outstanding, outstanding
from chatsvc.usecases.services import Services

Labels = TypeVar("Labels", bound=tuple[str, ...])


class ServiceCollector(Collector):
    """The families of one service. `outstanding` is what was last read from the store; None where it could not be read."""

    def __init__(self, services: Services, db: GroupCommitDatabase) -> None:
        self._services = services
        self._db = db
        self.outstanding: Outstanding | None = None

    def collect(self) -> Iterator[Metric]:
        """See Collector."""
        yield InfoMetricFamily("chatsvc_build", "The program.", {"version": __version__, "python": platform.python_version()})
        yield from self._requests()
        yield from self._replies()
        yield from self._store()
        yield from self._webhooks()
        egress = self._services.egress
        opened = {(purpose, "opened"): count for purpose, count in egress.opened.items()}
        refused = {(purpose, "refused"): count for purpose, count in egress.refused.items()}
        yield _counter("chatsvc_egress_connections", "Outbound connections by purpose.", ("purpose", "outcome"), opened | refused)

    def _requests(self) -> Iterator[Metric]:
        tallies = self._services.tallies
        by_code = {(route, str(status), error): count for (route, status, error), count in tallies.requests.items()}
        yield _counter("chatsvc_requests", "Requests answered, by operation, status and error code.", ("route", "status", "error"), by_code)
        by_route = {(route,): histogram for route, histogram in tallies.durations.items()}
        yield _histogram("chatsvc_request_seconds", "From a request's head to its answer.", ("route",), by_route)
        yield _gauge("chatsvc_requests_in_flight", "Requests behind the gates.", {(): tallies.in_flight})

    def _replies(self) -> Iterator[Metric]:
        tallies, locks = self._services.tallies, self._services.conversation_locks
        yield _histogram("chatsvc_reply_seconds", "Replies of engines, by outcome: ok, or why not.", ("tier", "outcome"), tallies.replies)
        tokens = {
            (*key, name.removesuffix("_tokens")): count
            for key, spending in tallies.spendings.items()
            for name, count in spending.usage._asdict().items()
        }
        yield _counter("chatsvc_tokens", "Tokens of the replies written down.", ("tier", "plan", "kind"), tokens)
        dollars = {key: spending.cost_micro_usd / 1_000_000 for key, spending in tallies.spendings.items()}
        yield _counter("chatsvc_cost_usd", "What they cost by the configuration's prices, in US dollars.", ("tier", "plan"), dollars)
        if locks is not None:
            yield _gauge("chatsvc_messages_under_way", "Messages being answered, those that wait included.", {(): locks.unfinished})
            yield _gauge("chatsvc_messages_waiting", "Messages that wait for an earlier one of their conversation.", {(): locks.waiting})

    def _store(self) -> Iterator[Metric]:
        threads = {("read",): self._db.readers, ("write",): [self._db.writer]}
        sizes = {kind: _sum(thread.sizes for thread in of_kind) for kind, of_kind in threads.items()}
        seconds = {kind: _sum(thread.seconds for thread in of_kind) for kind, of_kind in threads.items()}
        faults = {kind: sum(thread.outages for thread in of_kind) for kind, of_kind in threads.items()}
        waiting = {kind: sum(len(thread.queue) for thread in of_kind) for kind, of_kind in threads.items()}
        yield _histogram("chatsvc_store_batch_size", "Units of work in a transaction.", ("kind",), sizes)
        yield _histogram("chatsvc_store_batch_seconds", "How long a transaction takes, its commit included.", ("kind",), seconds)
        yield _counter("chatsvc_store_faults", "Units of work that the disk or SQLite failed.", ("kind",), faults)
        yield _gauge("chatsvc_store_waiting", "Units of work that wait for a transaction.", waiting, ("kind",))

    def _webhooks(self) -> Iterator[Metric]:
        dispatcher = self._services.dispatcher
        if dispatcher is not None:
            outcomes = {(outcome,): count for outcome, count in dispatcher.outcomes.items()}
            yield _counter("chatsvc_webhook_attempts", "Deliveries, by outcome: delivered, or why not.", ("outcome",), outcomes)
        if self.outstanding is not None:
            yield _gauge("chatsvc_webhook_events_pending", "Events that were never attempted.", {(): self.outstanding.pending})
            yield _gauge("chatsvc_webhook_attempts_under_way", "Deliveries without an outcome.", {(): self.outstanding.under_way})


class Exposition:
    """The text of a scrape."""

    def __init__(self, services: Services, db: GroupCommitDatabase) -> None:
        self._db = db
        self._collector = ServiceCollector(services, db)
        self._registry = CollectorRegistry()
        self._registry.register(self._collector)
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)

    async def text(self) -> bytes:
        """All metrics as they stand; without those from the store where it cannot answer."""
        try:
            self._collector.outstanding = await outstanding(self._db)
        except StoreUnavailable:
            self._collector.outstanding = None
        return generate_latest(self._registry)


def _counter(name: str, text: str, labels: tuple[str, ...], numbers: Mapping[Labels, float]) -> Metric:
    family = CounterMetricFamily(name, text, labels=labels)
    for key, number in numbers.items():
        family.add_metric(key, number)
    return family


def _gauge(name: str, text: str, numbers: Mapping[Labels, float], labels: tuple[str, ...] = ()) -> Metric:
    family = GaugeMetricFamily(name, text, labels=labels)
    for key, number in numbers.items():
        family.add_metric(key, number)
    return family


def _histogram(name: str, text: str, labels: tuple[str, ...], histograms: Mapping[Labels, Histogram]) -> Metric:
    family = HistogramMetricFamily(name, text, labels=labels)
    for key, histogram in histograms.items():
        bounds = [*(str(bound) for bound in histogram.bounds), "+Inf"]
        family.add_metric(key, list(zip(bounds, accumulate(histogram.counts), strict=True)), histogram.total)
    return family


def _sum(histograms: Iterable[Histogram]) -> Histogram:
    first, *others = histograms
    total = Histogram(first.bounds)
    for histogram in (first, *others):
        total.counts = [one + other for one, other in zip(total.counts, histogram.counts, strict=True)]
        total.total += histogram.total
    return total
