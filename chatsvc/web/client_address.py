"""Client addresses. The address of a client is the peer of the connection, or the address that a trusted proxy reports."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

_PORT = re.compile(r"\A(?:\[([^\]]*)\](?::[0-9]+)?|([0-9.]+):[0-9]+)")
_IPV6_SHARE = 64  # bits of an IPv6 address that one customer of a provider usually holds

Address = IPv4Address | IPv6Address
Networks = Sequence[IPv4Network | IPv6Network]


class ClientAddresses:
    """Resolver of the client addresses of requests.

    `trusted` are the networks of trusted proxies. If `by_socket` is true, the listener is a Unix socket. Its file permissions decide
    who may connect, so every peer is a trusted proxy.
    """

    def __init__(self, trusted: Networks = (), *, by_socket: bool = False) -> None:
        self._trusted = trusted
        self._by_socket = by_socket

    def is_proxy(self, peer: str | None) -> bool:
        """Report whether an address belongs to a trusted proxy."""
        return self._by_socket or bool(self._trusted and peer and _is_trusted(_parse(peer), self._trusted))

    def behind(self, proxy: str, x_forwarded_for: Sequence[str], forwarded: Sequence[str]) -> str:
        """Return the rightmost forwarded address that is not a trusted proxy's. A client may have forged all addresses left of it.

        Return the proxy's own address if these header fields are unusable, or if X-Forwarded-For and Forwarded disagree.
        A proxy sets one of the two fields, and may forward the other field as its client sent it.
        """
        given = ((x_forwarded_for, _parse), (forwarded, _parse_element))
        answers = {_rightmost(lines, self._trusted, read) for lines, read in given if lines}
        client = answers.pop() if len(answers) == 1 else None
        return str(client or proxy)


@lru_cache(maxsize=4096)
def share_of(address: str) -> str:
    """Return the key under which the limits count an address. This is the address itself, or the /64 network of an IPv6 address."""
    parsed = _parse(address.partition("%")[0])
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed, _IPV6_SHARE), strict=False))
    return str(parsed or address)


def _rightmost(lines: Sequence[str], trusted: Networks, read: Callable[[str], Address | None]) -> Address | None:
    client = None
    for hop in reversed(",".join(lines).split(",")):
        hop_address = read(hop)
        if hop_address is None:
            return client
        client = hop_address
        if not _is_trusted(hop_address, trusted):
            break
    return client


def _is_trusted(address: Address | None, trusted: Networks) -> bool:
    return address is not None and any(address in network for network in trusted)


def _parse_element(text: str) -> Address | None:
    """Parse the `for` parameter of one element of Forwarded (RFC 7239). If the element has several, use the last."""
    for parameter in reversed(text.split(";")):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "for":
            return _parse(value.strip().removeprefix('"').removesuffix('"'))
    return None


def _parse(text: str) -> Address | None:
    """Parse an address with an optional port. An IPv4-mapped IPv6 address becomes an IPv4 address."""
    text = text.strip()
    with_port = _PORT.fullmatch(text)
    try:
        address = ip_address((with_port[1] or with_port[2]) if with_port else text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
