"""HTTP sender for all webhooks: one POST per attempt, its outcome (SPEC.md 6.5), connection reuse. Nothing is retried."""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter

import aiohttp

from chatsvc import background
from chatsvc.domain.targets import Target
from chatsvc.outbound.egress import Egress
from chatsvc.outbound.guarded import DIAL, KEEP_S, Dial, Guard, GuardedConnector
from chatsvc.outbound.session import FAULTS, open_session, reason_of, url_of

MAX_ANSWER_BYTES = 64 * 1024
KEPT_BYTES = 4096  # of an answer, kept with the attempt
# The status decides the outcome; the body is read only to be shown, and so that the connection can be reused.
BODY_S = 1.0

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


class _WebhookSession:
    """Session of one webhook and its target; or, not `kept`, of one delivery. Raises TargetRefused."""

    def __init__(self, target: Target, open_one: Callable[..., aiohttp.ClientSession], *, kept: bool) -> None:
        self.target = target
        self.in_flight = 0
        self.idle_since = 0.0
        self.retired = not kept
        self._url = url_of(target)
        self.session = open_one(keep_alive=kept)

    async def post(self, body: bytes, headers: Mapping[str, str]) -> aiohttp.ClientResponse:
        """Post `body` and wait for the head of the answer; raises one of FAULTS."""
        if any("\r" in value or "\n" in value for value in headers.values()):
            # aiohttp notices after it has connected.
            raise ValueError("a header has a line break in it")
        return await self.session.post(self._url, data=body, headers=headers, allow_redirects=False)

    def discard_closing(self) -> None:
        """Abort connections that wait for the peer's end of TLS."""
        if isinstance(self.session.connector, GuardedConnector):
            self.session.connector.discard_closing()


async def _read(answer: aiohttp.ClientResponse, timeout_s: float) -> bytes:
    """Read the body of a small answer to its end; return its first KEPT_BYTES. Its connection can then be reused."""
    kept, size = bytearray(), 0
    limit = MAX_ANSWER_BYTES if (answer.content_length or 0) <= MAX_ANSWER_BYTES else KEPT_BYTES
    try:
        if answer.content.is_eof():
            # It came with the head, as most answers do: no timer is needed.
            return answer.content.read_nowait()[:KEPT_BYTES]
        async with asyncio.timeout(timeout_s):
            while size < limit and (piece := await answer.content.readany()):
                size += len(piece)
                kept += piece[: KEPT_BYTES - len(kept)]
    except FAULTS:
        pass
    finally:
        # Closes the connection unless the answer has been read to its end.
        answer.release()
    return bytes(kept)


class Sender:
    """Sends the deliveries of all webhooks of a process; `timeout_s` is the limit of a whole attempt, in seconds."""

    def __init__(self, guard: Guard, egress: Egress, *, timeout_s: float, tls: ssl.SSLContext) -> None:
        self._timeout_s = timeout_s
        self._guard = guard
        self._open = partial(open_session, egress, "webhook", tls=tls, guard=guard)
        self._sessions: dict[str, _WebhookSession] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._sweeper: asyncio.TimerHandle | None = None
        self._closed = False

    async def post(self, target: Target, body: bytes, headers: Mapping[str, str], *, webhook: str | None = None) -> PostResult:
        """Send `body` at most once; nothing is retried.

        `target`: from check_url() with the guard's rules; every connection is checked again. `webhook`: the webhook whose connection
        may be reused; None: a connection for this delivery alone. Every failure is an outcome; raises only CancelledError, after
        which it is unknown whether the body has arrived.
        """
        started = perf_counter()
        dial = Dial()
        DIAL.set(dial)
        session: _WebhookSession | None = None
        answer: aiohttp.ClientResponse | None = None
        error: str | None = None
        body_read: bytes | None = None
        try:
            session = self._acquire(webhook, target)
            async with asyncio.timeout(self._timeout_s):
                answer = await session.post(body, headers)
            error = _reason_of_status(answer.status)
            duration_s = perf_counter() - started
            body_read = await _read(answer, min(BODY_S, self._timeout_s - duration_s))
        except FAULTS as fault:
            error = "refused_address" if dial.refused else reason_of(fault)
            duration_s = perf_counter() - started
            if dial.reused and error == "connection_lost":
                self._guard.keep_alive.note((target.host, target.port), keeps=False)
        finally:
            if session is not None:
                session.discard_closing()
                self._release(session)
        return PostResult(error is None, answer.status if answer else None, error, round(duration_s * 1000), body_read)

    async def close(self) -> None:
        """Close every connection; deliveries in flight, and later ones, fail as `connection_lost`."""
        self._closed = True
        for webhook in list(self._sessions):
            self._close(self._sessions.pop(webhook))
        while self._closing:
            await asyncio.wait(self._closing)

    def _acquire(self, webhook: str | None, target: Target) -> _WebhookSession:
        """Return the webhook's session for its target; it stays open until _release()."""
        if self._closed:
            raise RuntimeError("the sender is closed")
        session = self._sessions.get(webhook) if webhook is not None else None
        if session is None or session.target != target:
            if session is not None:
                # The webhook has a new address; deliveries in flight to the old one are finished.
                session.retired = True
                if not session.in_flight:
                    self._close(session)
            session = self._new(webhook, target)
        session.in_flight += 1
        return session

    def _new(self, webhook: str | None, target: Target) -> _WebhookSession:
        session = _WebhookSession(target, self._open, kept=webhook is not None)
        if webhook is not None:
            self._sessions[webhook] = session
            if self._sweeper is None:
                self._sweeper = asyncio.get_running_loop().call_later(KEEP_S, self._sweep)
        return session

    def _release(self, session: _WebhookSession) -> None:
        session.in_flight -= 1
        session.idle_since = asyncio.get_running_loop().time()
        if session.retired and not session.in_flight:
            self._close(session)

    def _sweep(self) -> None:
        """Close sessions whose connections are too old to be reused."""
        loop = asyncio.get_running_loop()
        for webhook, session in list(self._sessions.items()):
            if not session.in_flight and loop.time() - session.idle_since >= KEEP_S:
                self._close(self._sessions.pop(webhook))
        self._sweeper = loop.call_later(KEEP_S, self._sweep) if self._sessions else None

    def _close(self, session: _WebhookSession) -> None:
        background.start("closing of webhook connections", session.session.close(), self._closing)


def _reason_of_status(status: int) -> str | None:
    """Return the error of an answer; None for 2xx (SPEC.md 6.5)."""
    if 200 <= status <= 299:
        return None
    return "redirect" if 300 <= status <= 399 else "http_status"
