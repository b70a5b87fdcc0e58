"""Rules for the addresses that a webhook may reach (help/webhooks.md 7)."""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

IPAddress = IPv4Address | IPv6Address
Networks = tuple[IPv4Network | IPv6Network, ...]

# Rules for targets.
MALFORMED, NOT_HTTPS, WITH_LOGIN, PORT = "malformed", "not_https", "with_login", "port"
OWN, NOT_PUBLIC, UNKNOWN = "own", "not_public", "unknown"


class TargetRefused(Exception):
    """Refusal of a webhook's target. The text is one line in English; `rule` is the code of the broken rule, for other languages."""

    def __init__(self, text: str, rule: str = MALFORMED) -> None:
        super().__init__(text)
        self.rule = rule


@dataclass(frozen=True, slots=True)
class Own:
    """Addresses of the service itself, which no webhook may reach.

    `hosts` are its names (the host of `public_url`), in lower case. `addresses` contains the addresses of this machine. `listeners` are
    address and port of each listener; an unspecified address (0.0.0.0, ::) stands for every interface.
    """

    hosts: frozenset[str] = frozenset()
    addresses: Container[IPAddress] = frozenset()
    listeners: frozenset[tuple[IPAddress, int]] = frozenset()


Ranges = dict[IPv4Network | IPv6Network, str]


def _ranges(purposes: dict[str, str]) -> Ranges:
    return {ip_network(network): what for what, networks in purposes.items() for network in networks.split()}


# Nobody listens there, or it is another address in disguise, or the cloud hands out its keys there: no operator can mean these,
# not even with a network that is wide enough to hold them.
_NEVER = _ranges(
    {
        "“this” network": "0.0.0.0/8",
        "multicast": "224.0.0.0/4 ff00::/8",
        "broadcast": "255.255.255.255/32",
        "unspecified": "::/128",
        "cloud metadata": "100.100.100.200/32 168.63.129.16/32 169.254.169.254/32 169.254.170.2/32 169.254.170.23/32 192.0.0.192/32"
        " fd00:ec2::23/128 fd00:ec2::254/128 fd20:ce::254/128",
        "an IPv4 address in IPv6 spelling": "::ffff:0:0/96 ::ffff:0:0:0/96",
        "an IPv4 address in IPv6 spelling (NAT64)": "64:ff9b::/96 64:ff9b:1::/48",
        "an IPv4 address in IPv6 spelling (Teredo)": "2001::/32",
        "an IPv4 address in IPv6 spelling (6to4)": "2002::/16",
    }
)
# The special-purpose registries of IANA, whole: also the rows that are reachable from everywhere but are nobody's own server.
_SPECIAL = _ranges(
    {
        "a private network": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7",
        "a provider's inner network": "100.64.0.0/10",
        "loopback": "127.0.0.0/8 ::1/128",
        "link-local": "169.254.0.0/16 fe80::/10",
        "site-local": "fec0::/10",
        "documentation": "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20",
        "protocol assignments": "192.0.0.0/24 2001::/23",
        "AS112": "192.31.196.0/24 192.175.48.0/24 2620:4f:8000::/48",
        "AMT": "192.52.193.0/24",
        "6to4 relays": "192.88.99.0/24",
        "benchmarking": "198.18.0.0/15",
        "reserved": "240.0.0.0/4",
        "an IPv4 address in IPv6 spelling": "::/96",
        "segment routing": "5f00::/16",
    }
)
# All that has been given out as public IPv6; the rest of the space is refused without knowing what it will become.
_PUBLIC_IPV6 = IPv6Network("2000::/3")


def is_inside(address: IPAddress, allowed: Networks) -> bool:
    """Return whether an operator has listed the address in `webhooks.allowed_networks`."""
    return any(address in network for network in allowed)


def _purpose(address: IPAddress, ranges: Ranges) -> str | None:
    return next((what for network, what in ranges.items() if address in network), None)


def _special(address: IPAddress) -> str | None:
    """Return the special purpose of an address, or None if it is an ordinary public address."""
    what = _purpose(address, _SPECIAL)
    if what is None and isinstance(address, IPv6Address):
        if address not in _PUBLIC_IPV6:
            return "not a public address"
        # ISATAP: below any prefix, the interface's half holds an IPv4 address (RFC 5214 section 6.1).
        if (int(address) >> 32) & 0xFCFF_FFFF == 0x0000_5EFE:
            return "an IPv4 address in IPv6 spelling (ISATAP)"
    return what


def check_address(address: IPAddress, port: int, own: Own, allowed: Networks) -> None:
    """Check that a connection to `address`:`port` may be opened; raises TargetRefused.

    Of the addresses in `allowed`, only the service's own listeners and addresses that cannot be a receiver are refused.
    """
    what = "with a zone" if isinstance(address, IPv6Address) and address.scope_id is not None else _purpose(address, _NEVER)
    if what is not None:
        raise TargetRefused(f"the address {address} cannot be reached: {what}", NOT_PUBLIC)
    if is_inside(address, allowed):
        is_own = address.is_loopback or address in own.addresses
        if any(port == used and (address == listener or (listener.is_unspecified and is_own)) for listener, used in own.listeners):
            raise TargetRefused(f"{address} at port {port} is this service itself", OWN)
        return
    if address in own.addresses:
        raise TargetRefused(f"the address {address} is this service's own machine", OWN)
    what = _special(address)
    if what is not None:
        raise TargetRefused(f"the address {address} is not on the public internet: {what}", NOT_PUBLIC)


def check_answers(
    host: str, addresses: Iterable[IPAddress], port: int, own: Own, allowed: Networks, *, inside_only: bool
) -> tuple[IPAddress, ...]:
    """Check the addresses of the name `host`, and return them without duplicates. Raises TargetRefused if one is not allowed.

    All addresses must be public, or all must be in the operator's `allowed` networks. `inside_only` is true if the name cannot be public.
    """
    answers = tuple(dict.fromkeys(addresses))
    inside = allowed if all(is_inside(address, allowed) for address in answers) else ()
    if inside_only and not inside:
        raise TargetRefused(f"the name {host} leads to addresses that are not all in allowed_networks", NOT_PUBLIC)
    for address in answers:
        try:
            check_address(address, port, own, inside)
        except TargetRefused as refusal:
            raise TargetRefused(f"{host}: {refusal}", refusal.rule) from None
    return answers
