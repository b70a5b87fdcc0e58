"""Who asks, for the log: the peer, or, where the peer is a proxy that is trusted, for whom it says to ask."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from chatsvc.api.request import Request
from chatsvc.config import Server

_FOR = re.compile(r'(?:.*;)?\s*for\s*=\s*"?([^";]*)"?\s*(?:;.*)?', re.IGNORECASE)
_PORT = re.compile(r"\[([^\]]*)\](?::[0-9]+)?|([0-9.]+):[0-9]+")
_UNKNOWN = "unknown"

Address = IPv4Address | IPv6Address
Networks = Sequence[IPv4Network | IPv6Network]


def address(request: Request, server: Server) -> str:
    """The caller's address. Who comes by a socket is a proxy whom the file's rights have let in."""
    peer = request.remote or _UNKNOWN
    if not server.trusted_proxies and server.socket is None:
        return peer
    x_forwarded_for, forwarded = (request.headers.getall(name, ()) for name in ("X-Forwarded-For", "Forwarded"))
    found = behind(peer, x_forwarded_for, forwarded, server.trusted_proxies, by_socket=server.socket is not None)
    return str(found) if found else peer


def behind(
    peer: str, x_forwarded_for: Sequence[str], forwarded: Sequence[str], trusted: Networks, *, by_socket: bool = False
) -> Address | None:
    """For whom a trusted `peer` asks: the rightmost address that is no trusted proxy's, for all left of it anybody may have written.

    None where the peer is not trusted or says nothing usable; also where both headers speak and disagree: a proxy writes one of them
    and may let its callers' other one pass.
    """
    if not by_socket and not _is_trusted(_parse(peer), trusted):
        return None
    told = [_rightmost(lines, trusted, read) for lines, read in ((x_forwarded_for, _parse), (forwarded, _parse_element)) if lines]
    return told[0] if len(set(told)) == 1 else None


def _rightmost(lines: Sequence[str], trusted: Networks, read: Callable[[str], Address | None]) -> Address | None:
    found = None
    for hop in reversed(",".join(lines).split(",")):
        one = read(hop)
        if one is None:
            return found
        found = one
        if not _is_trusted(one, trusted):
            break
    return found


def _is_trusted(one: Address | None, trusted: Networks) -> bool:
    return one is not None and any(one in network for network in trusted)


def _parse_element(text: str) -> Address | None:
    """The `for` of one element of Forwarded (RFC 7239)."""
    match = _FOR.fullmatch(text)
    return _parse(match[1]) if match else None


def _parse(text: str) -> Address | None:
    """An address, perhaps with a port."""
    text = text.strip()
    with_port = _PORT.fullmatch(text)
    try:
        found = ip_address((with_port[1] or with_port[2]) if with_port else text)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found
