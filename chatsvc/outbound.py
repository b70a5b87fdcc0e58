"""Outbound connections, all of which pass one gate: before a name is looked up, and where a socket is made."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from aiohttp import TCPConnector, ThreadedResolver

from chatsvc.domain.egress import Egress

if TYPE_CHECKING:
    from aiohttp import AddrInfoType
    from aiohttp.abc import ResolveResult

LOOKUP_S = 10.0
"""For how long the addresses of a name are believed, in seconds."""

STAGGER_S = 0.25
"""How long one address of several is waited for before the next one is tried as well (RFC 8305)."""

P = TypeVar("P", bound=asyncio.Protocol)


# Where Linux distributions keep their roots, for a Python whose OpenSSL was built to look elsewhere (a binary moved from another one).
BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def system_tls() -> ssl.SSLContext:
    """TLS 1.2 or later against the system's certificates, whatever the environment names; raises OSError where they cannot be read."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Those built in: set_default_verify_paths() would ask SSL_CERT_FILE and SSL_CERT_DIR first.
    built_in = ssl.get_default_verify_paths()
    file, folder = Path(built_in.openssl_cafile), Path(built_in.openssl_capath)
    in_folder = folder.is_dir() and any(re.fullmatch(r"[0-9a-f]{8}\.\d+", entry.name) for entry in folder.iterdir())
    bundle = next((place for place in (file, *map(Path, () if in_folder else BUNDLES)) if place.is_file()), None)
    if bundle or in_folder:
        context.load_verify_locations(bundle, folder if in_folder else None)
    return context


class _Resolver(ThreadedResolver):
    """The system's names, where any may be asked for."""

    def __init__(self, egress: Egress, purpose: str) -> None:
        super().__init__()
        self._egress, self._purpose = egress, purpose

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[ResolveResult]:
        """See AbstractResolver; raises EgressRefused."""
        self._egress.check(self._purpose)
        return await super().resolve(host, port, family)


class OutboundConnector(TCPConnector):
    """A connector whose connections serve `purpose`, one of domain.egress.PURPOSES; `options` are TCPConnector's."""

    def __init__(self, egress: Egress, purpose: str, **options: Any) -> None:
        def make_socket(info: AddrInfoType) -> socket.socket:
            # Here too, since an address is asked of no resolver.
            egress.open(purpose)
            return socket.socket(*info[:3])

        super().__init__(resolver=_Resolver(egress, purpose), socket_factory=make_socket, **options)


class Dialler:
    """Opens connections to one host and port for `purpose`, one of domain.egress.PURPOSES; with `tls` where that is given."""

    def __init__(self, egress: Egress, purpose: str, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        """`host` is a name or an address without brackets."""
        self._egress, self._purpose = egress, purpose
        self._host, self._port, self._tls = host, port, tls
        self._is_address = _is_address(host)
        self._loop = asyncio.get_running_loop()
        self._lookup: asyncio.Task[list[str]] | None = None
        self._believed_until = 0.0

    async def open(self, factory: Callable[[], P]) -> P:
        """The protocol of a new connection, to the first address that answers; raises OSError, EgressRefused and ssl.SSLError included."""
        addresses = [self._host] if self._is_address else await self._addresses()
        if len(addresses) == 1:
            return (await self._open(factory, addresses[0]))[1]
        return (await self._open_first(factory, addresses))[1]

    async def _addresses(self) -> list[str]:
        """The addresses of the name, looked up once for all who ask at the same time."""
        loop = asyncio.get_running_loop()
        if self._lookup is None or loop.time() >= self._believed_until:
            self._egress.check(self._purpose)
            self._lookup, self._believed_until = asyncio.create_task(self._look_up()), loop.time() + LOOKUP_S
        lookup = self._lookup
        try:
            return await asyncio.shield(lookup)
        except OSError:
            if self._lookup is lookup:
                self._lookup = None
            raise

    async def _look_up(self) -> list[str]:
        found = await asyncio.get_running_loop().getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
        first = found[0][0]
        families = ([str(info[4][0]) for info in found if (info[0] == first) is same] for same in (True, False))
        # One family after the other: where one of the two leads nowhere, the next attempt is the other's.
        return [address for address in chain.from_iterable(zip_longest(*families)) if address]

    async def _open_first(self, factory: Callable[[], P], addresses: Sequence[str]) -> tuple[asyncio.Transport, P]:
        left, attempts, fault = list(addresses), set[asyncio.Task[tuple[asyncio.Transport, P]]](), OSError()
        try:
            while left or attempts:
                if left:
                    attempts.add(asyncio.create_task(self._open(factory, left.pop(0))))
                done, _ = await asyncio.wait(attempts, timeout=STAGGER_S if left else None, return_when=asyncio.FIRST_COMPLETED)
                for attempt in done:
                    attempts.discard(attempt)
                    error = attempt.exception()
                    if error is None:
                        return attempt.result()
                    fault = error if isinstance(error, OSError) else OSError(str(error))
            raise fault
        finally:
            for attempt in attempts:
                attempt.add_done_callback(_hang_up)
                attempt.cancel()

    async def _open(self, factory: Callable[[], P], address: str) -> tuple[asyncio.Transport, P]:
        self._egress.open(self._purpose)
        name = self._host if self._tls else None
        return await self._loop.create_connection(factory, address, self._port, ssl=self._tls, server_hostname=name)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _hang_up(attempt: asyncio.Task[Any]) -> None:
    """Close a connection that stood too late."""
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result()[0].abort()
