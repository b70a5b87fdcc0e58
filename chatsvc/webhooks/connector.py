"""Connections to one target: to an address that has been checked at the moment of dialling, over verified TLS."""

from __future__ import annotations

import asyncio
import errno
import select
import socket
import ssl
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from aiohttp import TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult

from chatsvc.domain.addresses import Networks, Own, TargetRefused, check_address
from chatsvc.domain.targets import Target
from chatsvc.outbound import BUNDLES
from chatsvc.webhooks.resolver import Resolve, lookup

if TYPE_CHECKING:
    from aiohttp import AddrInfoType, ClientRequest, ClientTimeout
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

# Never reused after this long, and closed after at most twice as long: a second (DECISIONS.md section 2, "connections").
KEEP_S = 0.5
# A receiver may close after its answer without saying so (no "Connection: close"), and what says it on the wire may come this much
# later: Nagle's algorithm holds it back until an acknowledgement that is itself delayed by 40 ms. What is sent meanwhile is lost.
PROOF_S = 0.05
FORGET_S = 600.0
MAX_HABITS = 10_000


def tls_context(ca_file: Path | None) -> ssl.SSLContext:
    """TLS 1.2 or later against the system's certificates and those in `ca_file`; raises OSError (ssl.SSLError) for a bad file."""
    context = ssl.create_default_context()
    # Set by create_default_context() where the environment asks for it: the keys of every connection, in a file.
    context.keylog_filename = None  # type: ignore[assignment]  # typeshed knows only that it can be set
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    paths = ssl.get_default_verify_paths()
    if paths.cafile is None and paths.capath is None:
        bundle = next((bundle for bundle in BUNDLES if Path(bundle).is_file()), None)
        if bundle is not None:
            context.load_verify_locations(bundle)
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context


@dataclass(slots=True)
class Dial:
    """What one delivery did to its connection."""

    refused: TargetRefused | None = None
    reused: bool = False


# aiohttp hands a request's own data down neither to the connector nor to the socket; the context goes wherever the request goes.
DIAL: ContextVar[Dial] = ContextVar("dial")


class Habits:
    """Which receivers (host and port) keep their connections open after an answer and which close them without saying so."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._seen: dict[tuple[str, int], tuple[bool, float]] = {}

    def keeps(self, receiver: tuple[str, int]) -> bool | None:
        """None where nothing is known, or what was bad is long ago: a restart closes connections too."""
        keeps, at = self._seen.get(receiver, (None, 0.0))
        return None if keeps is False and self._clock() - at >= FORGET_S else keeps

    def note(self, receiver: tuple[str, int], *, keeps: bool) -> None:
        """What was seen just now."""
        if receiver not in self._seen and len(self._seen) >= MAX_HABITS:
            del self._seen[next(iter(self._seen))]
        self._seen[receiver] = keeps, self._clock()


class _Resolver(AbstractResolver):
    """Answers for the one host of its target, once for each connection, so that what is checked is what is dialled."""

    def __init__(self, target: Target, own: Own, allowed: Networks, resolve: Resolve) -> None:
        self._target, self._own, self._allowed, self._resolve = target, own, allowed, resolve

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,  # noqa: ARG002  # every address counts, of whichever family
    ) -> list[ResolveResult]:
        """See AbstractResolver; raises what lookup() raises."""
        if (host, port) != (self._target.host, self._target.port):
            raise TargetRefused(f"{host} is not the target of this webhook")
        addresses = await lookup(self._target, self._own, self._allowed, self._resolve)
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


MakeSocket = Callable[["AddrInfoType"], socket.socket]


def open_socket(info: AddrInfoType) -> socket.socket:
    """A TCP socket for what getaddrinfo would have said."""
    family, kind, proto, _, _ = info
    return socket.socket(family=family, type=kind, proto=proto)


def _checked_socket(own: Own, allowed: Networks, make_socket: MakeSocket, info: AddrInfoType) -> socket.socket:
    """No method of the connector, which would then hold on to itself when it is put away."""
    try:
        # A scoped address cannot be parsed into something harmless: ip_address keeps the zone, and a zone is refused.
        check_address(ip_address(info[4][0]), int(info[4][1]), own, allowed)
    except (TargetRefused, ValueError) as refusal:
        DIAL.get(Dial()).refused = refusal if isinstance(refusal, TargetRefused) else TargetRefused("not an address")
        # aiohttp expects of a socket that cannot be had what the system would raise.
        raise OSError(errno.EACCES, "address refused") from None
    return make_socket(info)


class GuardedConnector(TCPConnector):
    """Connects to one target alone; `kept`: a connection may be used again.

    aiohttp asks no resolver about an address, but every connection needs a socket: the last check is there.
    """

    def __init__(
        self,
        target: Target,
        own: Own,
        allowed: Networks,
        *,
        tls: ssl.SSLContext,
        resolve: Resolve,
        habits: Habits,
        kept: bool = True,
        make_socket: MakeSocket = open_socket,
    ) -> None:
        super().__init__(
            ssl=tls,
            resolver=_Resolver(target, own, allowed, resolve),
            use_dns_cache=False,
            limit=0,
            force_close=not kept,
            keepalive_timeout=KEEP_S if kept else None,
            socket_factory=partial(_checked_socket, own, allowed, make_socket),
        )
        self._open: set[asyncio.Transport] = set()
        self._receiver, self._habits = (target.host, target.port), habits

    async def connect(
        self,
        req: ClientRequest,
        traces: list[Trace],
        timeout: ClientTimeout,  # noqa: ASYNC109  # the parameter is aiohttp's
    ) -> Connection:
        """A connection that is open as far as this machine knows: a kept one that has been closed meanwhile is put away unused."""
        while True:
            connection = await super().connect(req, traces, timeout)
            transport = connection.transport
            if transport is None:
                return connection  # lost as soon as made: sending will say so
            reused = transport in self._open
            if reused and not await self._may_reuse(transport):
                connection.close()
                self.sweep()
                continue
            self._open.add(transport)
            dial = DIAL.get(None)
            if dial is not None:
                dial.reused = reused
            return connection

    async def _may_reuse(self, transport: asyncio.Transport) -> bool:
        """Whether a kept connection can be trusted with a delivery; a receiver has to show once that its connections stay open."""
        keeps = self._habits.keeps(self._receiver)
        if keeps is None:
            await asyncio.sleep(PROOF_S)
            # Another connection to it may have learned worse meanwhile.
            keeps = self._habits.keeps(self._receiver)
        if keeps is False or not _is_quiet(transport):
            self._habits.note(self._receiver, keeps=False)
            return False
        if keeps is None:
            self._habits.note(self._receiver, keeps=True)
        return True

    def was_closed_silently(self) -> None:
        """A delivery over a kept connection was lost: this receiver gets a new one for each from now on."""
        self._habits.note(self._receiver, keeps=False)

    def sweep(self) -> None:
        """Let go of connections that are being closed: whoever does not answer our farewell would hold each for half a minute."""
        for transport in [transport for transport in self._open if transport.is_closing()]:
            transport.abort()
            self._open.discard(transport)

    async def hang_up(self) -> None:
        """Close every connection: the farewell of TLS is sent, no answer to it is waited for."""
        for transport in self._open:
            # asyncio's transport of TLS breaks when it is closed twice and then asked, as aiohttp does.
            if not transport.is_closing():
                transport.close()
        await self.close()
        self.sweep()


def _is_quiet(transport: asyncio.Transport) -> bool:
    """Whether nothing has come on an idle connection: what comes on one is its end, or nothing to build on."""
    raw = None if transport.is_closing() else transport.get_extra_info("socket")
    if raw is None or raw.fileno() < 0:
        return False
    # The event loop hears of it only in its next round; the kernel knows already.
    poll = select.poll()
    poll.register(raw.fileno(), select.POLLIN)
    return not poll.poll(0)
