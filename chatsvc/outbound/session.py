"""Opens aiohttp sessions that count in the egress ledger, with or without the SSRF guard."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING, Any

import aiohttp
from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector, ThreadedResolver
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from chatsvc.domain.addresses import TargetRefused
from chatsvc.domain.targets import Target
from chatsvc.outbound.egress import Egress
from chatsvc.outbound.guarded import Guard, GuardedConnector, open_socket
from chatsvc.outbound.resolver import LookupFailed

if TYPE_CHECKING:
    from aiohttp import AddrInfoType
    from aiohttp.abc import ResolveResult


# Expected exceptions of a guarded request. uvloop raises RuntimeError for operations on a lost connection.
FAULTS = (TimeoutError, aiohttp.ClientError, HttpProcessingError, TargetRefused, LookupFailed, OSError, ValueError, RuntimeError)


class _LedgerResolver(ThreadedResolver):
    """System resolver that asks the ledger before each lookup."""

    def __init__(self, egress: Egress, purpose: str) -> None:
        super().__init__()
        self._egress, self._purpose = egress, purpose

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[ResolveResult]:
        """See AbstractResolver; raises EgressRefused."""
        self._egress.check(self._purpose)
        return await super().resolve(host, port, family)


def _connector(egress: Egress, purpose: str, tls: ssl.SSLContext) -> TCPConnector:
    def counted_socket(info: AddrInfoType) -> socket.socket:
        # Checked here too: a literal address is not resolved.
        egress.open(purpose)
        return open_socket(info)

    return TCPConnector(resolver=_LedgerResolver(egress, purpose), socket_factory=counted_socket, ssl=tls)


def open_session(
    egress: Egress,
    purpose: str,
    *,
    tls: ssl.SSLContext,
    guard: Guard | None = None,
    timeout_s: float | None = None,
    keep_alive: bool = True,
    headers: dict[str, str] | None = None,
) -> ClientSession:
    """Open a session for `purpose` (egress.PURPOSES); close it after use. Opening a connection may raise EgressRefused.

    `guard`: for addresses that customers choose; without one, any address may be reached. `timeout_s`: limit of a whole request.
    `keep_alive`: of guarded connections; False closes each after its answer. `tls`: see tls.client_context. The environment has
    no effect (proxies, netrc), no cookie is kept, and answers are not decompressed. Pass `allow_redirects=False` with a guard.
    """
    if guard is None:
        connector = _connector(egress, purpose, tls)
    else:
        connector = GuardedConnector(guard, egress, purpose, tls=tls, keep_alive=keep_alive)
    options: dict[str, Any] = {"auto_decompress": False, "cookie_jar": DummyCookieJar(), "trust_env": False}
    given = {"Accept": "*/*", "Accept-Encoding": "identity", **(headers or {})}
    return ClientSession(connector=connector, timeout=ClientTimeout(total=timeout_s, sock_connect=None), headers=given, **options)


def url_of(target: Target) -> URL:
    """Return the address to dial. Built from the parts that were checked, already encoded; raises TargetRefused."""
    url = URL(target.url, encoded=True)
    if (url.scheme, url.raw_host, url.port, url.raw_path_qs) != (target.scheme, target.host, target.port, target.path):
        raise TargetRefused(f"the address at {target.host} could be read in two ways")
    return url


def reason_of(fault: Exception) -> str:
    """Return the code of a request without an answer. The exception's text is not used: it may quote the receiver."""
    match fault:
        case TargetRefused():
            return "refused_address"
        case LookupFailed():
            return "dns_failed"
        case ssl.SSLError() | aiohttp.ClientSSLError() | aiohttp.ClientConnectorCertificateError():
            return "tls_failed"
        case aiohttp.ClientConnectorError():
            return "connect_failed"
        case TimeoutError():
            return "timeout"
        case aiohttp.ClientOSError() if isinstance(fault.__cause__, ssl.SSLError):
            return "tls_failed"
        case aiohttp.ClientConnectionError() | ConnectionError() | RuntimeError():
            return "connection_lost"
    return "bad_response"
