"""Guarded connector for aiohttp: checks every address where its socket is opened (SPEC.md 6.4).

It protects against SSRF and DNS rebinding, and reuses a connection only if its receiver keeps connections open. `Guard` has the rules.
"""

from __future__ import annotations

import asyncio
import errno
import select
import socket
import ssl
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from time import monotonic
from typing import TYPE_CHECKING

from aiohttp import TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult

from chatsvc.domain.addresses import Networks, Own, TargetRefused, check_address
from chatsvc.domain.targets import Target, check_url
from chatsvc.outbound.egress import Egress
from chatsvc.outbound.resolver import Resolve, SystemResolver, lookup

if TYPE_CHECKING:
    from aiohttp import AddrInfoType, ClientRequest, ClientTimeout
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

Receiver = tuple[str, int]  # host and port

# Seconds for which an idle connection may be reused; it is closed after twice as long (DECISIONS.md section 2, "connections").
KEEP_S = 0.5
# A receiver may close after its answer without "Connection: close", and its FIN may come this much later: Nagle's algorithm delays it
# until an acknowledgement that is itself delayed by 40 ms. A request sent meanwhile is lost.
PROOF_S = 0.05
FORGET_S = 600.0
MAX_RECEIVERS = 10_000


class KeepAliveHistory:
    """Cache of which receivers keep connections open after an answer. The others close them without notice."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._seen: dict[Receiver, tuple[bool, float]] = {}

    def keeps(self, receiver: Receiver) -> bool | None:
        """Return what was seen last. None where nothing is known or a bad experience has expired: a restart closes connections too."""
        keeps, at = self._seen.get(receiver, (None, 0.0))
        return None if keeps is False and self._clock() - at >= FORGET_S else keeps

    def note(self, receiver: Receiver, *, keeps: bool) -> None:
        """Record whether a receiver kept its connection open."""
        if receiver not in self._seen and len(self._seen) >= MAX_RECEIVERS:
            del self._seen[next(iter(self._seen))]
        self._seen[receiver] = keeps, self._clock()


@dataclass(frozen=True, slots=True)
class Guard:
    """Rules for the addresses of guarded connections, their name resolver, and the history of keep-alive. `plain`: http is accepted."""

    own: Own
    allowed: Networks
    resolve: Resolve = field(default_factory=SystemResolver)
    keep_alive: KeepAliveHistory = field(default_factory=KeepAliveHistory)
    plain: bool = False

    def target(self, url: str) -> Target:
        """Check a URL without a name lookup; raises TargetRefused."""
        return check_url(url, self.own, self.allowed, plain=self.plain)


@dataclass(slots=True)
class Dial:
    """Outcome of the connection attempt of one request."""

    refused: TargetRefused | None = None
    reused: bool = False


# aiohttp passes no data of a request to the connector or the socket factory; a context variable reaches both.
DIAL: ContextVar[Dial] = ContextVar("dial")


class _GuardedResolver(AbstractResolver):
    """Resolver that checks every address of a name once for each connection. Only those addresses are returned."""

    def __init__(self, guard: Guard, egress: Egress, purpose: str) -> None:
        self._guard, self._egress, self._purpose = guard, egress, purpose

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,  # noqa: ARG002  # every address counts, of either family
    ) -> list[ResolveResult]:
        """See AbstractResolver; raises EgressRefused, TargetRefused and LookupFailed."""
        self._egress.check(self._purpose)
        guard = self._guard
        scheme = "http" if guard.plain and port == 80 else "https"
        addresses = await lookup(guard.target(f"{scheme}://{host}:{port}/"), guard.own, guard.allowed, guard.resolve)
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET if address.version == 4 else socket.AF_INET6,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in addresses
        ]

    async def close(self) -> None:
        """See AbstractResolver."""


def open_socket(info: AddrInfoType) -> socket.socket:
    """Open a TCP socket for an entry of getaddrinfo."""
    family, kind, proto, _, _ = info
    return socket.socket(family=family, type=kind, proto=proto)


# No method of the connector: that would be a reference cycle.
def _checked_socket(guard: Guard, egress: Egress, purpose: str, info: AddrInfoType) -> socket.socket:
    try:
        # ip_address keeps the zone of a scoped address, and check_address refuses zones.
        check_address(ip_address(info[4][0]), int(info[4][1]), guard.own, guard.allowed)
    except (TargetRefused, ValueError) as refusal:
        DIAL.get(Dial()).refused = refusal if isinstance(refusal, TargetRefused) else TargetRefused("not an address")
        # aiohttp expects an OSError from a socket factory.
        raise OSError(errno.EACCES, "address refused") from None
    egress.open(purpose)
    return open_socket(info)


class GuardedConnector(TCPConnector):
    """Connector that checks each name and address. It reuses a connection only if it is still open and idle for at most KEEP_S.

    aiohttp resolves no literal address, but every connection needs a socket: the decisive check is in the socket factory.
    """

    def __init__(self, guard: Guard, egress: Egress, purpose: str, *, tls: ssl.SSLContext, keep_alive: bool = True) -> None:
        super().__init__(
            ssl=tls,
            resolver=_GuardedResolver(guard, egress, purpose),
            use_dns_cache=False,
            limit=0,
            force_close=not keep_alive,
            keepalive_timeout=KEEP_S if keep_alive else None,
            socket_factory=partial(_checked_socket, guard, egress, purpose),
        )
        self._open: set[asyncio.Transport] = set()
        self._history = guard.keep_alive

    async def connect(
        self,
        req: ClientRequest,
        traces: list[Trace],
        timeout: ClientTimeout,  # noqa: ASYNC109  # the parameter is aiohttp's
    ) -> Connection:
        """Return a new connection, or a kept one that the kernel still reports open."""
        while True:
            connection = await super().connect(req, traces, timeout)
            transport = connection.transport
            if transport is None:
                return connection  # already lost; sending raises
            reused = transport in self._open
            if reused and not await self._may_reuse(transport, (req.url.raw_host or "", req.url.port or 0)):
                connection.close()
                self.discard_closing()
                continue
            self._open.add(transport)
            dial = DIAL.get(None)
            if dial is not None:
                dial.reused = reused
            return connection

    async def _may_reuse(self, transport: asyncio.Transport, receiver: Receiver) -> bool:
        """Check a kept connection. A receiver has to prove once that its connections stay open after an answer."""
        keeps = self._history.keeps(receiver)
        if keeps is None:
            await asyncio.sleep(PROOF_S)
            # Another connection may have recorded a bad experience meanwhile.
            keeps = self._history.keeps(receiver)
        if keeps is False or not _is_quiet(transport):
            self._history.note(receiver, keeps=False)
            return False
        if keeps is None:
            self._history.note(receiver, keeps=True)
        return True

    def discard_closing(self) -> None:
        """Abort connections that are closing. A peer that does not answer TLS's close_notify would hold each for 30 s."""
        for transport in [transport for transport in self._open if transport.is_closing()]:
            transport.abort()
            self._open.discard(transport)

    async def close(self, *, abort_ssl: bool = False) -> None:
        """Close every connection, also those in use: close_notify is sent, the peer's is not awaited."""
        for transport in self._open:
            # asyncio's TLS transport raises if it is closed twice and then queried, as aiohttp does.
            if not transport.is_closing():
                transport.close()
        await super().close(abort_ssl=abort_ssl)
        self.discard_closing()


def _is_quiet(transport: asyncio.Transport) -> bool:
    """Report whether an idle connection has nothing to read: its end, or unsolicited data."""
    raw = None if transport.is_closing() else transport.get_extra_info("socket")
    if raw is None or raw.fileno() < 0:
        return False
    # The kernel knows of a FIN before the event loop does.
    poll = select.poll()
    poll.register(raw.fileno(), select.POLLIN)
    return not poll.poll(0)
