"""HTTP sender for all webhooks: one POST per attempt, its outcome, connection reuse. Nothing is retried."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from time import perf_counter

from aiohttp import ClientConnectionError, ClientSession

from chatsvc.domain.addresses import TargetRefused
from chatsvc.domain.targets import Target
from chatsvc.domain.webhooks import PostResult
from chatsvc.outbound.client import FAULTS, Guard, open_session, read, reason_of, request
from chatsvc.outbound.egress import Egress

MAX_ANSWER_BYTES = 64 * 1024
KEPT_BYTES = 4096  # of an answer, kept with the attempt
# The status decides the outcome; the body is read only to be shown, and so that the connection can be reused.
BODY_S = 1.0
# Seconds for which an idle connection may be reused; it is closed after twice as long.
KEEP_S = 0.5
# A receiver may close after its answer without "Connection: close", and its FIN may come this much later: Nagle's algorithm delays it
# until an acknowledgement that is itself delayed by 40 ms. A request sent meanwhile is lost, so each has to prove once that it does not.
PROOF_S = 0.05

# Values of a result's `error`.
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


class _PostState:
    """State of a post that is being made."""

    def __init__(self) -> None:
        self.is_reused = self.leaves_open = False
        self.status: int | None = None
        self.ended_at = 0.0
        self.error: str | None = None
        self.answer = bytearray()


class _WebhookRoute:
    """Way of a webhook to its target: a session, and what is known of the receiver.

    `keeps`: whether the receiver keeps connections open after an answer; None while nothing is known. `free_at`: when a connection became
    free for the next delivery; None if there is none.
    """

    def __init__(self, target: Target, session: ClientSession, *, keeps: bool | None) -> None:
        self.target, self.session, self.keeps, self.reuses = target, session, keeps, keeps is not False
        self.free_at: float | None = None
        self.in_flight = 0


class WebhookSender:
    """Sends the deliveries of all webhooks of a process; `timeout_s` is the limit of a whole attempt, in seconds."""

    def __init__(self, guard: Guard, egress: Egress, *, timeout_s: float, tls: ssl.SSLContext) -> None:
        self._guard, self._egress, self._timeout_s, self._tls = guard, egress, timeout_s, tls
        self._routes: dict[str, _WebhookRoute] = {}
        self._open: set[_WebhookRoute] = set()  # with those that are in use for the last time
        self._closed = False

    async def post(self, target: Target, body: bytes, headers: Mapping[str, str], *, webhook: str | None = None) -> PostResult:
        """Send `body` at most once; nothing is retried.

        `target`: from check_url() with the guard's rules; every connection is checked again. `webhook`: the webhook whose connection
        may be reused until release(); None: a connection for this delivery alone. Every failure is an outcome; raises only
        CancelledError, after which it is unknown whether the body has arrived.
        """
        started = perf_counter()
        attempt = _PostState()
        try:
            async with self._route(webhook, target) as route:
                await self._send(route, attempt, body, headers)
                if (
                    webhook is not None
                    and not self._closed
                    and route.reuses
                    and route.keeps is False
                    and self._routes.get(webhook) is route
                ):
                    # What is in flight is finished over the old route.
                    self._routes[webhook] = self._open_route(target, keeps=False)
        except (TargetRefused, ClientConnectionError) as fault:
            attempt.error, attempt.ended_at = reason_of(fault), perf_counter()
        duration_ms = round((attempt.ended_at - started) * 1000)
        if attempt.status is None:
            return PostResult(False, None, attempt.error, duration_ms)
        error = _reason_of_status(attempt.status)
        return PostResult(error is None, attempt.status, error, duration_ms, bytes(attempt.answer[:KEPT_BYTES]))

    async def _send(self, route: _WebhookRoute, attempt: _PostState, body: bytes, headers: Mapping[str, str]) -> None:
        """Make an attempt, and note what it tells of the receiver. The status decides the outcome, whatever becomes of the rest."""
        loop = asyncio.get_running_loop()
        expects_free = False
        try:
            async with asyncio.timeout(self._timeout_s) as limit:
                if route.keeps is None and route.free_at is not None:
                    await asyncio.sleep(PROOF_S)
                expects_free = route.in_flight == 1 and route.free_at is not None and loop.time() - route.free_at < KEEP_S
                async with request(route.session, "POST", route.target, headers, body, trace_request_ctx=attempt) as response:
                    attempt.status, attempt.ended_at = response.status, perf_counter()
                    limit.reschedule(min(limit.when() or 0.0, loop.time() + BODY_S))
                    is_whole = await read(response, attempt.answer, MAX_ANSWER_BYTES)
                    attempt.leaves_open = is_whole and response.headers.get("Connection", "").lower() != "close"
        except FAULTS as fault:
            if attempt.status is None:
                attempt.error, attempt.ended_at = reason_of(fault), perf_counter()
        if attempt.is_reused:
            route.keeps = attempt.error != "connection_lost"
        elif expects_free and route.keeps is None:
            route.keeps = False  # the free connection was closed by the receiver
        route.free_at = loop.time() if attempt.leaves_open else None

    @asynccontextmanager
    async def _route(self, webhook: str | None, target: Target) -> AsyncIterator[_WebhookRoute]:
        """Enter the webhook's way to its target; raises TargetRefused, and ClientConnectionError once the sender is closed."""
        route = self._routes.get(webhook) if webhook is not None else None
        if route is None or route.target != target:
            await self._retire(route)
            route = self._open_route(target, keeps=False if webhook is None else None)
            if webhook is not None:
                self._routes[webhook] = route
        route.in_flight += 1
        try:
            yield route
        finally:
            route.in_flight -= 1
            if webhook is None or self._routes.get(webhook) is not route:
                await self._retire(route)

    def _open_route(self, target: Target, *, keeps: bool | None) -> _WebhookRoute:
        if self._closed:
            raise ClientConnectionError("the sender is closed")
        if self._guard.target(target.url) != target:
            raise TargetRefused(f"the address at {target.host} could be read in two ways")
        idle_s = None if keeps is False else KEEP_S
        session = open_session(self._egress, "webhook", self._tls, guard=self._guard, idle_s=idle_s, on_reuse=_note_reuse)
        route = _WebhookRoute(target, session, keeps=keeps)
        self._open.add(route)
        return route

    async def _retire(self, route: _WebhookRoute | None) -> None:
        """Close a route that nobody uses."""
        if route is not None and not route.in_flight:
            self._open.discard(route)
            await route.session.close()

    async def release(self, webhook: str) -> None:
        """Forget a webhook that has nothing more to send."""
        await self._retire(self._routes.pop(webhook, None))

    async def close(self) -> None:
        """Close every connection; deliveries in flight, and later ones, fail as `connection_lost`."""
        self._closed = True
        for route in tuple(self._open):
            await route.session.close()


def _note_reuse(attempt: _PostState) -> None:
    attempt.is_reused = True


def _reason_of_status(status: int) -> str | None:
    """Return the error of an answer; None for 2xx."""
    if 200 <= status <= 299:
        return None
    return "redirect" if 300 <= status <= 399 else "http_status"
