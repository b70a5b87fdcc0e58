"""HTTP sender of all webhooks. Each attempt is one POST over a new connection and has an outcome. Nothing is retried here.

No connection is reused, because a receiver may close it unannounced after its response, and a request sent meanwhile would be lost.
"""

import asyncio
import ssl
from collections.abc import Mapping
from functools import partial
from time import perf_counter

from aiohttp import ClientSession

from chatsvc.domain.webhooks import PostResult
from chatsvc.outbound.client import FAULTS, Guard, open_session, read, reason_of, request
from chatsvc.outbound.egress import Egress

MAX_ANSWER_BYTES = 64 * 1024
KEPT_BYTES = 4096  # of an answer, kept with the attempt
BODY_S = 1.0  # the status decides the outcome; the body is read only to be shown


class WebhookSender:
    """Sender of the deliveries of all webhooks of a process. `timeout_s` is the time limit of a whole attempt."""

    def __init__(self, guard: Guard, egress: Egress, *, timeout_s: float, tls: ssl.SSLContext) -> None:
        self._guard, self._egress, self._timeout_s = guard, egress, timeout_s
        self._open = partial(open_session, egress, "webhook", tls, guard=guard)
        self._session: ClientSession | None = None

    async def check(self, url: str) -> None:
        """Check the URL of a webhook. Raise TargetRefused if it is forbidden."""
        await self._guard.check(url, self._egress)

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> PostResult:
        """Send `body` at most once, to an address that the guard's rules permit. Every failure is returned as an outcome.

        The only exception raised is CancelledError, after which it is unknown whether the body has arrived.
        """
        loop, answer = asyncio.get_running_loop(), bytearray()
        status: int | None = None
        started = ended_at = perf_counter()
        try:
            self._egress.check("webhook")
            target = self._guard.target(url)
            self._session = self._session or self._open()
            async with (
                asyncio.timeout(self._timeout_s) as limit,
                request(self._session, "POST", target, headers, body) as response,
            ):
                status, ended_at = response.status, perf_counter()
                limit.reschedule(min(limit.when() or 0.0, loop.time() + BODY_S))
                await read(response, answer, MAX_ANSWER_BYTES)
        except FAULTS as fault:
            if status is None:
                return PostResult(False, None, reason_of(fault), round((perf_counter() - started) * 1000))
        error = None if 200 <= status <= 299 else "redirect" if 300 <= status <= 399 else "http_status"
        return PostResult(error is None, status, error, round((ended_at - started) * 1000), bytes(answer[:KEPT_BYTES]))

    async def close(self) -> None:
        """Close every connection. Deliveries in flight and later ones fail as `connection_lost`."""
        if self._session is not None:
            await self._session.close()
