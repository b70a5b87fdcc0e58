"""HTTP sender for all webhooks: one POST per attempt, its outcome (SPEC.md 6.5), connection reuse. Nothing is retried."""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import inf
from time import monotonic, perf_counter

from chatsvc.domain.targets import Target
from chatsvc.outbound.client import Guard
from chatsvc.outbound.egress import Egress
from chatsvc.outbound.guarded import FAULTS, GuardedDialler, reason_of
from chatsvc.outbound.http_connection import ClientConnection, ConnectionLost, request_head

MAX_ANSWER_BYTES = 64 * 1024
KEPT_BYTES = 4096  # of an answer, kept with the attempt
# The status decides the outcome; the body is read only to be shown, and so that the connection can be reused.
BODY_S = 1.0
# Seconds for which an idle connection may be reused; it is closed after twice as long (DECISIONS.md section 2, "connections").
KEEP_S = 0.5
# A receiver may close after its answer without "Connection: close", and its FIN may come this much later: Nagle's algorithm delays it
# until an acknowledgement that is itself delayed by 40 ms. A request sent meanwhile is lost.
PROOF_S = 0.05
FORGET_S = 600.0
MAX_RECEIVERS = 10_000

# Values of an attempt's `error`.
ERRORS = frozenset(
    {
        "timeout",  # no status within the time-out
        "refused_address",  # an address that no webhook may reach
        "dns_failed",  # the host's name does not resolve
        "connect_failed",  # no TCP connection
        "tls_failed",  # no TLS, or a certificate that is not valid for the host
        "connection_lost",  # closed or reset before an answer came
        "bad_response",  # the answer was not HTTP
        "redirect",  # 3xx, not followed
        "http_status",  # any other status but 2xx
    }
)


@dataclass(frozen=True, slots=True)
class PostResult:
    """Outcome of an attempt.

    `error`: one of ERRORS, None for a success; `duration_ms`: until the status was known; `answer`: the first KEPT_BYTES of the
    answer's body, None without an answer.
    """

    success: bool
    status_code: int | None
    error: str | None
    duration_ms: int
    answer: bytes | None = field(default=None, repr=False)


class KeepAliveHistory:
    """Cache of which receivers (host and port) keep connections open after an answer. The others close them without notice."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._seen: dict[tuple[str, int], tuple[bool, float]] = {}

    def keeps(self, receiver: tuple[str, int]) -> bool | None:
        """Return what was seen last. None where nothing is known or a bad experience has expired: a restart closes connections too."""
        keeps, at = self._seen.get(receiver, (None, 0.0))
        return None if keeps is False and self._clock() - at >= FORGET_S else keeps

    def note(self, receiver: tuple[str, int], *, keeps: bool) -> None:
        """Record whether a receiver kept its connection open."""
        if receiver not in self._seen and len(self._seen) >= MAX_RECEIVERS:
            del self._seen[next(iter(self._seen))]
        self._seen[receiver] = keeps, self._clock()


class _WebhookRoute:
    """Way of a webhook to its target: the head of its requests, and its idle connections with the time since when, oldest first."""

    def __init__(self, target: Target, dialler: GuardedDialler, *, kept: bool) -> None:
        self.target, self.dialler = target, dialler
        self.idle: list[tuple[float, ClientConnection]] = []
        self.in_flight = 0
        self._fields = {"Host": target.host_and_port, "Accept": "*/*", "Accept-Encoding": "identity"}
        self._fields |= {} if kept else {"Connection": "close"}

    def request(self, body: bytes, headers: Mapping[str, str]) -> bytes:
        """Make a request; raises ValueError for a header that none can carry."""
        fields = {**self._fields, **headers, "Content-Length": str(len(body))}
        return request_head(f"POST {self.target.path} HTTP/1.1", fields).encode("ascii") + b"\r\n" + body

    def close_idle(self, before: float = inf) -> None:
        """Close the connections that have been idle since before a time of the event loop."""
        while self.idle and self.idle[0][0] <= before:
            self.idle.pop(0)[1].abort()


class Sender:
    """Sends the deliveries of all webhooks of a process; `timeout_s` is the limit of a whole attempt, in seconds."""

    def __init__(self, guard: Guard, egress: Egress, *, timeout_s: float, tls: ssl.SSLContext) -> None:
        self._guard, self._egress, self._timeout_s, self._tls = guard, egress, timeout_s, tls
        self._routes: dict[str, _WebhookRoute] = {}
        self._busy: set[ClientConnection] = set()
        self._history = KeepAliveHistory()
        self._sweeper: asyncio.TimerHandle | None = None
        self._closed = False

    async def post(self, target: Target, body: bytes, headers: Mapping[str, str], *, webhook: str | None = None) -> PostResult:
        """Send `body` at most once; nothing is retried.

        `target`: from check_url() with the guard's rules; every connection is checked again. `webhook`: the webhook whose connection
        may be reused; None: a connection for this delivery alone. Every failure is an outcome; raises only CancelledError, after
        which it is unknown whether the body has arrived.
        """
        started = perf_counter()
        begun_at: list[float] = []
        route = connection = answer = error = None
        is_reused = False
        try:
            route = self._route(webhook, target)
            route.in_flight += 1
            request = route.request(body, headers)
            async with asyncio.timeout(self._timeout_s) as limit:
                connection, is_reused = await self._connection(route)
                connection.on_head = partial(_leave_time_for_body, limit, begun_at)
                answer = await connection.ask(request)
        except FAULTS as fault:
            # The status decides the outcome, whatever becomes of the rest.
            answer = connection.begun() if connection is not None else None
            error = reason_of(fault) if answer is None else None
            if is_reused and error == "connection_lost":
                self._history.note((target.host, target.port), keeps=False)
        finally:
            if route is not None:
                self._release(webhook, route, connection, is_whole=answer is not None and answer.whole)
        duration_s = (begun_at[0] if begun_at else perf_counter()) - started
        if answer is None:
            return PostResult(False, None, error, round(duration_s * 1000))
        error = _reason_of_status(answer.status)
        return PostResult(error is None, answer.status, error, round(duration_s * 1000), answer.body[:KEPT_BYTES])

    async def close(self) -> None:
        """Close every connection; deliveries in flight, and later ones, fail as `connection_lost`."""
        self._closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        for route in self._routes.values():
            route.close_idle()
        for connection in tuple(self._busy):
            connection.abort()

    def _route(self, webhook: str | None, target: Target) -> _WebhookRoute:
        """Return the webhook's way to its target; raises TargetRefused, and ConnectionLost once the sender is closed."""
        if self._closed:
            raise ConnectionLost("the sender is closed")
        route = self._routes.get(webhook) if webhook is not None else None
        if route is None or route.target != target:
            if route is not None:
                # The webhook has a new address; deliveries in flight to the old one are finished.
                route.close_idle()
            route = _WebhookRoute(target, GuardedDialler(self._egress, "webhook", target, self._tls, self._guard), kept=webhook is not None)
            if webhook is not None:
                self._routes[webhook] = route
                if self._sweeper is None:
                    self._sweeper = asyncio.get_running_loop().call_later(KEEP_S, self._sweep)
        return route

    async def _connection(self, route: _WebhookRoute) -> tuple[ClientConnection, bool]:
        """Return a connection, and whether it is a kept one."""
        loop = asyncio.get_running_loop()
        while route.idle:
            since, connection = route.idle.pop()
            self._busy.add(connection)
            may_reuse = False
            try:
                may_reuse = loop.time() - since <= KEEP_S and await self._may_reuse(connection, route)
            finally:
                if not may_reuse:
                    self._busy.discard(connection)
                    connection.abort()
            if may_reuse:
                return connection, True
        connection = await route.dialler.open(partial(ClientConnection, loop, MAX_ANSWER_BYTES))
        if self._closed:
            connection.abort()
            raise ConnectionLost("the sender is closed")
        self._busy.add(connection)
        return connection, False

    async def _may_reuse(self, connection: ClientConnection, route: _WebhookRoute) -> bool:
        """Check a kept connection. A receiver has to prove once that its connections stay open after an answer."""
        receiver = (route.target.host, route.target.port)
        keeps = self._history.keeps(receiver)
        if keeps is None:
            await asyncio.sleep(PROOF_S)
            # Another connection may have recorded a bad experience meanwhile.
            keeps = self._history.keeps(receiver)
        if keeps is False or not connection.quiet:
            self._history.note(receiver, keeps=False)
            return False
        if keeps is None:
            self._history.note(receiver, keeps=True)
        return True

    def _release(self, webhook: str | None, route: _WebhookRoute, connection: ClientConnection | None, *, is_whole: bool) -> None:
        """Keep a connection for the webhook's next delivery, or close it."""
        route.in_flight -= 1
        if connection is None:
            return
        self._busy.discard(connection)
        connection.on_head = None
        if is_whole and connection.usable and webhook is not None and self._routes.get(webhook) is route:
            route.idle.append((asyncio.get_running_loop().time(), connection))
        else:
            connection.abort()

    def _sweep(self) -> None:
        """Close connections that are too old to be reused."""
        loop = asyncio.get_running_loop()
        for webhook, route in list(self._routes.items()):
            route.close_idle(loop.time() - KEEP_S)
            if not route.idle and not route.in_flight:
                del self._routes[webhook]
        self._sweeper = loop.call_later(KEEP_S, self._sweep) if self._routes else None


def _leave_time_for_body(limit: asyncio.Timeout, begun_at: list[float]) -> None:
    """Note when the status was known, and shorten the limit of the attempt for the rest."""
    begun_at.append(perf_counter())
    ends_at = asyncio.get_running_loop().time() + BODY_S
    limit.reschedule(min(limit.when() or ends_at, ends_at))


def _reason_of_status(status: int) -> str | None:
    """Return the error of an answer; None for 2xx (SPEC.md 6.5)."""
    if 200 <= status <= 299:
        return None
    return "redirect" if 300 <= status <= 399 else "http_status"
