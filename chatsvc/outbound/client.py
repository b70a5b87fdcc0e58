"""Sessions of aiohttp's client, one for each purpose of the egress ledger.

The ledger and the address guard check each socket when it is opened, because an address in a URL is never passed to a resolver. The
environment has no effect (proxies, netrc), cookies are dropped, no redirect is followed, and nothing is decompressed.
"""

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from types import MappingProxyType
from typing import Any, NamedTuple

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from chatsvc import __version__
from chatsvc.domain.addresses import UNKNOWN, IPAddress, Networks, Own, TargetRefused, check_address, check_answers
from chatsvc.domain.targets import Target, check_url
from chatsvc.outbound.egress import Egress, EgressRefused
from chatsvc.outbound.resolver import LookupFailed, Resolve, SystemResolver, addresses_of

CONNECT_TIMEOUT_S = 10.0
"""Limit for a connection with its name lookup and TLS handshake, in seconds."""

MAX_HEADER_BYTES = 65_536
USER_AGENT = f"chatsvc/{__version__}"

# Expected exceptions of a request. uvloop raises RuntimeError for operations on a lost connection, aiohttp for a closed session.
FAULTS = (aiohttp.ClientError, TargetRefused, OSError, ValueError, RuntimeError)

# Faults before anything was sent. TargetRefused comes from the resolver, which passes it on as it is.
NOT_OPENED = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL, TargetRefused)


class AddressRefused(OSError):
    """Refusal of an address by the guard. It is an OSError because it is raised where sockets are opened."""

    def __init__(self) -> None:
        super().__init__(errno.EACCES, "refused address")


@dataclass(frozen=True, slots=True)
class Guard:
    """Rules against SSRF and DNS rebinding for URLs that customers choose, and a name resolver. `plain` permits http."""

    own: Own
    allowed: Networks
    resolve: Resolve = field(default_factory=SystemResolver)
    plain: bool = False

    def target(self, url: str) -> Target:
        """Check a URL without a name lookup. Raise TargetRefused if the rules forbid it."""
        return check_url(url, self.own, self.allowed, plain=self.plain)

    async def check(self, url: str, egress: Egress) -> Target:
        """Check a URL for a setting. Look up its name, unless `egress: none` forbids this. Raise TargetRefused if the URL is forbidden."""
        target = self.target(url)
        if egress.allowed:
            try:
                await self._look_up(target)
            except LookupFailed as fault:
                raise TargetRefused(str(fault), UNKNOWN) from None
        return target

    async def addresses(self, host: str, port: int) -> list[str]:
        """Look up a name and return its addresses. Raise LookupFailed, or TargetRefused if one of the addresses is forbidden."""
        target = check_url(f"{'http' if port == 80 else 'https'}://{host}:{port}/", self.own, self.allowed, plain=True)
        return [str(address) for address in await self._look_up(target)]

    async def _look_up(self, target: Target) -> tuple[IPAddress, ...]:
        if target.address is not None:
            return (target.address,)
        try:
            addresses = [ip_address(answer) for answer in await addresses_of(target.host, self.resolve)]
        except ValueError:
            raise TargetRefused(f"the name {target.host} has an address that is none", UNKNOWN) from None
        return check_answers(target.host, addresses, target.port, self.own, self.allowed, inside_only=target.inside_only)


class _Resolver(AbstractResolver):
    """Resolver of aiohttp that looks up names in threads of its own. A dead name server thus delays nothing else."""

    def __init__(self, egress: Egress, purpose: str, guard: Guard | None) -> None:
        self._egress, self._purpose, self._guard = egress, purpose, guard
        self._system = SystemResolver()

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC) -> list[ResolveResult]:
        del family  # of every kind
        self._egress.check(self._purpose)
        addresses = await (self._guard.addresses(host, port) if self._guard is not None else addresses_of(host, self._system))
        return [ResolveResult(hostname=host, host=each, port=port, family=0, proto=0, flags=0) for each in addresses]

    async def close(self) -> None:
        """Do nothing, because a pending lookup ends by itself."""


def _open_socket(egress: Egress, purpose: str, guard: Guard | None, info: aiohttp.AddrInfoType) -> socket.socket:
    family, kind, protocol, _, address = info
    if guard is not None:
        try:
            check_address(ip_address(address[0]), int(address[1]), guard.own, guard.allowed)
        except TargetRefused:
            raise AddressRefused from None
    egress.open(purpose)
    return socket.socket(family, kind, protocol)


_transport: ContextVar[asyncio.Transport | None] = ContextVar("transport", default=None)


class _Connector(aiohttp.TCPConnector):
    """Connector that remembers the transport of the request that is being sent."""

    async def connect(self, *args: Any, **kwargs: Any) -> Any:
        connection = await super().connect(*args, **kwargs)
        _transport.set(connection.transport)
        return connection


def open_session(
    egress: Egress, purpose: str, tls: ssl.SSLContext, *, guard: Guard | None = None, idle_s: float | None = None
) -> aiohttp.ClientSession:
    """Open a session; needs an event loop. Idle connections are reused for `idle_s` seconds, or never if it is None."""
    return aiohttp.ClientSession(
        connector=_Connector(
            limit=0,
            ssl=tls,
            resolver=_Resolver(egress, purpose, guard),
            use_dns_cache=guard is None,
            socket_factory=partial(_open_socket, egress, purpose, guard),
            force_close=idle_s is None,
            keepalive_timeout=idle_s,
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        timeout=aiohttp.ClientTimeout(total=None, connect=CONNECT_TIMEOUT_S),
        max_line_size=MAX_HEADER_BYTES,
        max_field_size=MAX_HEADER_BYTES,
    )


class Answer(NamedTuple):
    """An HTTP response. `whole` is False if the body is longer than the limit for reading it."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    whole: bool


@asynccontextmanager
async def request(
    session: aiohttp.ClientSession, method: str, url: str | Target, headers: Mapping[str, str], body: bytes | None = None, **options: Any
) -> AsyncIterator[aiohttp.ClientResponse]:
    """Send a request and yield its response, whose body is not read yet. Raise one of FAULTS. The URL of a `Target` is sent unchanged.

    A connection that is not reused is closed at once. Otherwise aiohttp would wait 30 s for the peer to end TLS, and occupy the socket.
    """
    _transport.set(None)
    address = URL(url.url, encoded=True) if isinstance(url, Target) else url
    headers = {"Accept": "*/*", "Accept-Encoding": "identity", **headers}
    try:
        async with session.request(method, address, headers=headers, data=body, allow_redirects=False, **options) as response:
            yield response
    finally:
        transport = _transport.get()
        _transport.set(None)
        if transport is not None and transport.is_closing():
            transport.abort()


async def read(response: aiohttp.ClientResponse, body: bytearray, most_bytes: int) -> bool:
    """Append the body of a response to `body`, up to a limit. Report whether the body was complete."""
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > most_bytes:
            del body[most_bytes:]
            return False
    return True


async def exchange(
    session: aiohttp.ClientSession,
    method: str,
    url: str | Target,
    headers: Mapping[str, str] = MappingProxyType({}),
    body: bytes | None = None,
    *,
    most_bytes: int,
    timeout_s: float | None = None,
) -> Answer:
    """Send a request and return its response with at most `most_bytes` of the body. Raise one of FAULTS."""
    content = bytearray()
    async with asyncio.timeout(timeout_s), request(session, method, url, {"User-Agent": USER_AGENT, **headers}, body) as response:
        is_whole = await read(response, content, most_bytes)
        return Answer(response.status, response.headers, bytes(content), is_whole)


def cause_of(fault: Exception) -> BaseException:
    """Return the system's error behind `fault` if a connection could not be opened, otherwise `fault`."""
    return fault.os_error if isinstance(fault, aiohttp.ClientConnectorError) else fault


def reason_of(fault: Exception) -> str:
    """Return an error code for a request without a response. The exception's text is not used because it may contain the address."""
    cause = cause_of(fault) if isinstance(fault, aiohttp.ClientConnectorError) else fault.__cause__
    if isinstance(fault, EgressRefused):
        return "egress_refused"
    if isinstance(fault, TargetRefused) or isinstance(cause, AddressRefused):
        return "refused_address"
    if isinstance(cause, ssl.SSLError):
        return "tls_failed"
    match fault:
        case aiohttp.ClientConnectorDNSError():
            return "dns_failed"
        case TimeoutError():
            return "timeout"
        case aiohttp.ClientConnectorError():
            return "connect_failed"
        case aiohttp.ClientResponseError() | aiohttp.ClientPayloadError() | ValueError():
            return "bad_response"
    return "connection_lost"
