"""Metric families for Prometheus, made from the service's counters at each scrape. A listener serves GET /metrics on its own port."""

import platform
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal, NamedTuple, Self

from aiohttp import hdrs, web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from chatsvc import __version__
from chatsvc.domain.errors import CommandError
from chatsvc.domain.tallies import Histogram
from chatsvc.services.operations import nodes
from chatsvc.services.operations.mailer import Mailer
from chatsvc.services.services import Services
from chatsvc.store import mails
from chatsvc.store.database import StoreUnavailable
from chatsvc.store.webhooks import outstanding

Numbers = Mapping[Any, float] | Mapping[Any, Histogram]  # by the values of the labels
_KINDS = {"counter": CounterMetricFamily, "gauge": GaugeMetricFamily, "histogram": HistogramMetricFamily}
PATH = "/metrics"


class Family(NamedTuple):
    """Declaration of a metric family: its kind, its name without the suffix of the kind, its description and its labels."""

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


class Exposition(Collector):
    """Collector of all metrics, which also writes the text of a scrape. If the store cannot be read, its metrics are left out."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._stored: dict[Family, float] = {}
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)

    async def text(self) -> bytes:
        """Return the text of all current metrics. Metrics from the store are left out if the store cannot answer."""
        try:
            events = await outstanding(self._services.db)
            counts = await mails.queued(self._services.db), len(await nodes.find_all(self._services))
            self._stored = dict(zip((EVENTS_PENDING, ATTEMPTS_UNDER_WAY, MAILS_QUEUED, NODES), (*events, *counts), strict=True))
        except StoreUnavailable:
            self._stored = {}
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; see Collector."""
        yield InfoMetricFamily(BUILD.name, BUILD.text, {"version": __version__, "python": platform.python_version()})
        if self._services.node is not None:
            yield InfoMetricFamily(NODE.name, NODE.text, {"id": self._services.node.id})
        for family, number in self._stored.items():
            yield _metric(family, {(): number})
        for family, numbers in (*self._traffic(), *self._threads()):
            yield _metric(family, numbers)

    def _traffic(self) -> Iterator[tuple[Family, Numbers]]:
        services, tallies = self._services, self._services.tallies
        yield REQUESTS, {(route, str(status), error): count for (route, status, error), count in tallies.requests.items()}
        yield REQUEST_SECONDS, {(route,): histogram for route, histogram in tallies.durations.items()}
        yield REQUESTS_IN_FLIGHT, {(): tallies.in_flight}
        yield REPLY_SECONDS, tallies.replies
        spendings = tallies.spendings.items()
        yield TOKENS, {(*key, name.removesuffix("_tokens")): n for key, spent in spendings for name, n in spent.usage._asdict().items()}
        yield COST, {key: spent.cost_micro_usd / 1_000_000 for key, spent in spendings}
        yield MESSAGES_UNDER_WAY, {(): services.conversation_locks.unfinished}
        yield MESSAGES_WAITING, {(): services.conversation_locks.waiting}
        yield WEBHOOK_ATTEMPTS, _by_outcome(services.webhooks.outcomes)
        yield MAILS, _by_outcome(services.part(Mailer).outcomes if services.sends_mail else {"sent": 0})
        opened = {(purpose, "opened"): count for purpose, count in services.egress.opened.items()}
        yield EGRESS, opened | {(purpose, "refused"): count for purpose, count in services.egress.refused.items()}

    def _threads(self) -> Iterator[tuple[Family, Numbers]]:
        threads = {("read",): self._services.db.readers, ("write",): [self._services.db.writer]}
        yield BATCH_SIZE, {kind: _sum([thread.sizes for thread in of_kind]) for kind, of_kind in threads.items()}
        yield BATCH_SECONDS, {kind: _sum([thread.seconds for thread in of_kind]) for kind, of_kind in threads.items()}
        yield STORE_FAULTS, {kind: sum(thread.outages for thread in of_kind) for kind, of_kind in threads.items()}
        yield STORE_WAITING, {kind: sum(len(thread.queue) for thread in of_kind) for kind, of_kind in threads.items()}


def _by_outcome(outcomes: Mapping[str, int]) -> Numbers:
    return {(outcome,): count for outcome, count in outcomes.items()}


def _metric(declared: Family, numbers: Numbers) -> Metric:
    family: Any = _KINDS[declared.kind](declared.name, declared.text, labels=declared.labels)
    for key, value in numbers.items():
        if isinstance(value, Histogram):
            bounds = [*(str(bound) for bound in value.bounds), "+Inf"]
            family.add_metric(key, list(zip(bounds, accumulate(value.counts), strict=True)), value.total)
        else:
            family.add_metric(key, value)
    return family  # type: ignore[no-any-return]  # their methods differ


def _sum(histograms: Sequence[Histogram]) -> Histogram:
    total = Histogram(histograms[0].bounds)
    total.counts = [sum(counts) for counts in zip(*(histogram.counts for histogram in histograms), strict=True)]
    total.total = sum(histogram.total for histogram in histograms)
    return total


class MetricsListener:
    """HTTP server of the metrics. `port` is the port on which it listens."""

    def __init__(self, exposition: Exposition) -> None:
        self._exposition = exposition
        self._runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=1.0)
        self.port = 0

    @classmethod
    async def open(cls, exposition: Exposition, host: str, port: int) -> Self:
        """Begin to listen. Raise CommandError if the address cannot be used."""
        listener = cls(exposition)
        await listener._runner.setup()
        try:
            await web.TCPSite(listener._runner, host or None, port).start()
        except OSError as fault:
            await listener.close()
            raise CommandError(f"cannot listen on {host}:{port} for metrics: {fault.strerror or fault}") from fault
        listener.port = listener._runner.addresses[0][1]
        return listener

    async def _handle(self, request: web.BaseRequest) -> web.Response:
        headers = {hdrs.SERVER: "chatsvc"}
        if request.path != PATH:
            return web.Response(status=404, text=f"metrics are at {PATH}\n", headers=headers)
        if request.method not in (hdrs.METH_GET, hdrs.METH_HEAD):
            return web.Response(status=405, headers={**headers, hdrs.ALLOW: "GET, HEAD"})
        return web.Response(body=await self._exposition.text(), headers={**headers, hdrs.CONTENT_TYPE: CONTENT_TYPE_LATEST})

    async def close(self) -> None:
        """Stop listening."""
        await self._runner.cleanup()
