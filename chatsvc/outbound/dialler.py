"""Opens TCP or TLS connections to one host and port, with cached lookups and staggered attempts (RFC 8305). Own code: see http_pool.py."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from itertools import chain, zip_longest
from typing import Any, TypeVar

from chatsvc.outbound.egress import Egress

LOOKUP_S = 10.0
"""Lifetime of a cached name lookup, in seconds."""

STAGGER_S = 0.25
"""Pause before the next address is tried beside the ones in flight, in seconds."""

P = TypeVar("P", bound=asyncio.Protocol)


class Dialler:
    """Opens connections to a host and port for `purpose` of the ledger, by TLS if given. Addresses have no brackets."""

    def __init__(self, egress: Egress, purpose: str, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        self._egress, self._purpose = egress, purpose
        self._host, self._port, self._tls = host, port, tls
        self._is_address = _is_address(host)
        self._loop = asyncio.get_running_loop()
        self._lookup: asyncio.Task[list[str]] | None = None
        self._expires_at = 0.0

    async def open(self, factory: Callable[[], P]) -> P:
        """Open a connection to the first address that answers; raises OSError (EgressRefused, ssl.SSLError)."""
        addresses = [self._host] if self._is_address else await self._addresses()
        if len(addresses) == 1:
            return (await self._open(factory, addresses[0]))[1]
        return (await self._open_first(factory, addresses))[1]

    async def _addresses(self) -> list[str]:
        """Look up the addresses of the name; concurrent callers share one lookup."""
        loop = asyncio.get_running_loop()
        if self._lookup is None or loop.time() >= self._expires_at:
            self._egress.check(self._purpose)
            self._lookup, self._expires_at = asyncio.create_task(self._resolve()), loop.time() + LOOKUP_S
        lookup = self._lookup
        try:
            return await asyncio.shield(lookup)
        except OSError:
            if self._lookup is lookup:
                self._lookup = None
            raise

    async def _resolve(self) -> list[str]:
        found = await asyncio.get_running_loop().getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
        return alternating([str(info[4][0]) for info in found])

    async def _open_first(self, factory: Callable[[], P], addresses: Sequence[str]) -> tuple[asyncio.Transport, P]:
        left, attempts = list(addresses), set[asyncio.Task[tuple[asyncio.Transport, P]]]()
        fault: BaseException = OSError()
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
                    fault = error
            raise fault
        finally:
            for attempt in attempts:
                attempt.add_done_callback(_abort)
                attempt.cancel()

    async def _open(self, factory: Callable[[], P], address: str) -> tuple[asyncio.Transport, P]:
        self._egress.open(self._purpose)
        name = self._host if self._tls else None
        return await self._loop.create_connection(factory, address, self._port, ssl=self._tls, server_hostname=name)


def alternating(addresses: Sequence[str]) -> list[str]:
    """Put one family after the other: where one of the two leads nowhere, the next attempt is the other's."""
    is_ipv6 = ":" in addresses[0]
    families = ([address for address in addresses if (":" in address) is family] for family in (is_ipv6, not is_ipv6))
    return [address for address in chain.from_iterable(zip_longest(*families)) if address]


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _abort(attempt: asyncio.Task[Any]) -> None:
    """Close a connection that was opened after another one was chosen."""
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result()[0].abort()
