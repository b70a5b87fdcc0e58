"""Addresses of the service itself, which no webhook may reach: listeners, public name, machine."""

import contextlib
import socket
from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

from chatsvc.domain.addresses import IPAddress, Own


class MachineAddresses:
    """Addresses of this machine, read from the kernel at each test of membership."""

    def __contains__(self, address: object) -> bool:
        """Report whether packets to `address` would stay on this machine; sends none."""
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
    """Collect the service's own addresses. `listeners`: bound host and port of each; the host "" is every interface."""
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
