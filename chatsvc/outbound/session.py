"""Opens aiohttp sessions that count in the egress ledger."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING, Any

from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector, ThreadedResolver

from chatsvc.outbound.egress import Egress

if TYPE_CHECKING:
    from aiohttp import AddrInfoType
    from aiohttp.abc import ResolveResult


class _LedgerResolver(ThreadedResolver):
    """System resolver that asks the ledger before each lookup."""

    def __init__(self, egress: Egress, purpose: str) -> None:
        super().__init__()
        self._egress, self._purpose = egress, purpose

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[ResolveResult]:
        """See AbstractResolver; raises EgressRefused."""
        self._egress.check(self._purpose)
        return await super().resolve(host, port, family)


def open_session(
    egress: Egress, purpose: str, *, tls: ssl.SSLContext, timeout_s: float, headers: dict[str, str] | None = None
) -> ClientSession:
    """Open a session for `purpose` (egress.PURPOSES); close it after use. Opening a connection may raise EgressRefused.

    `timeout_s`: limit of a whole request. `tls`: see tls.client_context. The environment has no effect (proxies, netrc), no cookie is
    kept, and answers are not decompressed.
    """

    def counted_socket(info: AddrInfoType) -> socket.socket:
        # Checked here too: a literal address is not resolved.
        egress.open(purpose)
        family, kind, proto, _, _ = info
        return socket.socket(family=family, type=kind, proto=proto)

    connector = TCPConnector(resolver=_LedgerResolver(egress, purpose), socket_factory=counted_socket, ssl=tls)
    options: dict[str, Any] = {"auto_decompress": False, "cookie_jar": DummyCookieJar(), "trust_env": False}
    given = {"Accept": "*/*", "Accept-Encoding": "identity", **(headers or {})}
    return ClientSession(connector=connector, timeout=ClientTimeout(total=timeout_s, sock_connect=None), headers=given, **options)
