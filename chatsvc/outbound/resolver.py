"""DNS lookups with a time limit, and the addresses of the service itself, which no webhook may reach."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import Future
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

from chatsvc.domain.addresses import IPAddress, Own

LOOKUP_S = 5.0
MAX_LOOKUPS = 64

Resolve = Callable[[str], Awaitable[Sequence[str | IPAddress]]]


class LookupFailed(OSError):
    """Failure of a lookup: the name has no address, or it took too long."""


class SystemResolver:
    """Resolver of the system (getaddrinfo) in daemon threads; it implements `Resolve`.

    getaddrinfo cannot be cancelled, and an unreachable name server blocks it for up to half a minute. Each lookup has its own daemon
    thread, so that it delays neither the shared thread pool nor the exit of the process. Concurrent lookups of one name share a thread,
    and there are at most MAX_LOOKUPS.
    """

    def __init__(self) -> None:
        self._in_flight: dict[str, Future[list[str]]] = {}

    async def __call__(self, host: str) -> list[str]:
        """Look up all addresses of `host`. Raise OSError if there is none. The function addresses_of() limits the time."""
        answer = self._in_flight.get(host)
        if answer is None:
            if len(self._in_flight) >= MAX_LOOKUPS:
                raise OSError("too many names are being looked up")
            answer = self._in_flight[host] = Future()
            # It runs: a caller that is cancelled does not cancel the lookup of the others.
            answer.set_running_or_notify_cancel()
            answer.add_done_callback(lambda _: self._in_flight.pop(host))
            try:
                threading.Thread(target=_look_up, args=(host, answer), name="lookup", daemon=True).start()
            except RuntimeError as fault:
                answer.set_exception(OSError(str(fault)))
        return await asyncio.wrap_future(answer)


def _look_up(host: str, answer: Future[list[str]]) -> None:
    try:
        # Without AI_ADDRCONFIG: an address counts for the check even if this machine could not reach it.
        answer.set_result([str(sockaddr[0]) for *_, sockaddr in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)])
    except (OSError, UnicodeError) as fault:
        answer.set_exception(fault if isinstance(fault, OSError) else OSError(str(fault)))


async def addresses_of(host: str, resolve: Resolve) -> list[str]:
    """Look up the addresses of a name, without duplicates. Raise LookupFailed if no address is found within LOOKUP_S seconds."""
    try:
        async with asyncio.timeout(LOOKUP_S):
            answers = await resolve(host)
    except TimeoutError:
        raise LookupFailed(f"the name {host} could not be looked up in {LOOKUP_S:g} s") from None
    except OSError:
        answers = []
    if not answers:
        raise LookupFailed(f"the name {host} does not resolve to an address")
    return list(dict.fromkeys(map(str, answers)))


class MachineAddresses:
    """Addresses of this machine, which are read from the kernel at each membership test."""

    def __contains__(self, address: object) -> bool:
        """Report whether packets to `address` would stay on this machine. No packet is sent."""
        if not isinstance(address, IPAddress):
            return False
        family = socket.AF_INET6 if isinstance(address, IPv6Address) else socket.AF_INET
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                # A connected UDP socket gets the address from which it would send; to itself, a machine sends from the same one.
                probe.connect((str(address), 9))
                return ip_address(probe.getsockname()[0]) == address
        except OSError:
            return False  # no route


def own_addresses(listeners: Iterable[tuple[str, int]], public_url: str) -> Own:
    """Collect the service's own addresses. `listeners` are pairs of host and port; the host "" means every interface."""
    bound: set[tuple[IPAddress, int]] = set()
    for host, port in listeners:
        addresses = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        bound.update((ip_address(str(sockaddr[0]).partition("%")[0]), port) for *_, sockaddr in addresses)
    url = urlsplit(public_url)
    host = (url.hostname or "").removesuffix(".")
    hosts = {host}
    with contextlib.suppress(ValueError):
        # The port distinguishes the service from a receiver on the same address.
        bound.add((ip_address(host), url.port or (443 if url.scheme == "https" else 80)))
        hosts = set()
    return Own(frozenset(hosts), MachineAddresses(), frozenset(bound))
