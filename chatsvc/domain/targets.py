"""The target address of a webhook or website, parsed once and strictly. See help/webhooks.md 7.

Connections are only made to the result of this parser, so that a second parser cannot read another target from the same text.
"""

import re
import string
import unicodedata
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import quote

from chatsvc.domain.addresses import NOT_HTTPS, NOT_PUBLIC, OWN, PORT, WITH_LOGIN, IPAddress, Networks, Own, TargetRefused, check_address

MAX_CHARS = 2048
MAX_HOST_CHARS = 253
_HTTP, _HTTPS = "http", "https"
_USUAL = {_HTTP: 80, _HTTPS: 443}
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
# ß, ς and the two joiners: IDNA 2003 and 2008 read them differently.
_DEVIATIONS = frozenset({"ß", "ς", "\u200c", "\u200d"})
# What may stand in a path or a query as it is (RFC 3986); everything else goes out percent-encoded.
_AS_IT_IS = "%/:@!$&'()*+,;=?~"

_LOCALHOST = frozenset({"localhost", "localhost6", "loopback", "broadcasthost", "ip6-localhost", "ip6-loopback", "ip6-localnet"})
_LOCALHOST_SUFFIXES = (".localhost", ".localdomain", ".localdomain6", ".localhost6")
_METADATA = frozenset(
    {
        *("metadata", "metadata.google.internal", "metadata.goog", "metadata.azure.internal", "metadata.azure.com"),
        *("instance-data", "instance-data.ec2.internal", "metadata.tencentyun.com", "metadata.platformequinix.com", "metadata.packet.net"),
    }
)
# Our own, those of RFC 6762 appendix G, and that of Kubernetes.
_INNER_SUFFIXES = (".local", ".lan", ".internal", ".home.arpa", ".onion", ".intranet", ".private", ".corp", ".home", ".svc")


@dataclass(frozen=True, slots=True)
class Target:
    """Target address of a webhook or website.

    `host` is an ASCII name in lower case without a trailing dot, or an address in its shortest spelling, without brackets.
    `address` is that address, or None for a name, whose addresses are looked up and checked at each delivery. `path` is path and query
    as they are sent. `inside_only` is true for a name that cannot be on the public internet (one label, .lan ...): it is only accepted
    if there are allowed networks, and all of its addresses are in them.
    """

    host: str
    port: int
    path: str
    address: IPAddress | None = None
    inside_only: bool = False
    scheme: str = _HTTPS

    @property
    def host_and_port(self) -> str:
        """Return host and port, as in the HTTP header Host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _USUAL[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Return scheme, host and port, as in a URL."""
        return f"{self.scheme}://{self.host_and_port}"

    @property
    def url(self) -> str:
        """Return the whole address in its normalised spelling."""
        return self.origin + self.path


def with_https(address: str) -> str:
    """Put https:// before an address without a scheme."""
    return f"https://{address}" if address and "://" not in address else address


def check_url(url: str, own: Own, allowed: Networks, *, plain: bool = False) -> Target:
    """Parse and check a URL without looking up its name; raises TargetRefused. If `plain` is true, http is accepted too."""
    scheme, authority, path = _split(url, plain=plain)
    host, port = _port(authority, scheme)
    address = _literal(host)
    if address is not None:
        check_address(address, port, own, allowed)
        return Target(str(address), port, path, address, scheme=scheme)
    name = _name(host)
    return Target(name, port, path, inside_only=_is_inner(name, own, allowed), scheme=scheme)


def _split(url: str, *, plain: bool) -> tuple[str, str, str]:
    """Return scheme, authority and path of a URL. The path includes the query, and is encoded for sending."""
    if not url:
        raise TargetRefused("the address is empty")
    if len(url) > MAX_CHARS:
        raise TargetRefused(f"the address is longer than {MAX_CHARS} characters")
    if not url.isprintable() or " " in url or "\\" in url:
        raise TargetRefused("the address holds a space, a backslash or an invisible character")
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    if not rest or (scheme != _HTTPS and not (plain and scheme == _HTTP)):
        raise TargetRefused(f"the address must begin with https://{' or http://' if plain else ''}", NOT_HTTPS)
    if "#" in url:
        raise TargetRefused("the address must not hold a “#”: what follows it is never sent")
    end = next((i for i, character in enumerate(rest) if character in "/?"), len(rest))
    authority, path = rest[:end], rest[end:]
    if "@" in authority:
        raise TargetRefused("the address must not hold a user name or a password", WITH_LOGIN)
    if path.find("?") == len(path) - 1:
        path = path[:-1]  # an empty query is sent by some clients and dropped by others
    return scheme, authority, quote(path if path.startswith("/") else f"/{path}", safe=_AS_IT_IS)


def _port(authority: str, scheme: str) -> tuple[str, int]:
    """Return host and port of an authority; an IPv6 address keeps its brackets."""
    host, rest = authority, ""
    if authority.startswith("["):
        literal, bracket, rest = authority.partition("]")
        host = literal + bracket
    elif ":" in authority:
        host, _, rest = authority.partition(":")
        rest = f":{rest}"
    usual = _USUAL[scheme]
    if not rest:
        return host, usual
    digits = rest[1:]
    if not rest.startswith(":") or not _PORT.fullmatch(digits):
        raise TargetRefused("what follows the host must be a port number such as :8443 (an IPv6 address stands in brackets)", PORT)
    port = int(digits)
    if port != usual and not 1024 <= port <= 65535:
        raise TargetRefused(f"port {digits} is not allowed: use {usual}, or one from 1024 to 65535", PORT)
    return host, port


def _literal(host: str) -> IPAddress | None:
    """Return the IP address that `host` is, or None for a name. Only normal spellings are accepted (1.2.3.4, [2001:db8::1])."""
    if host.startswith("["):
        inner = host[1:-1]
        try:
            if not host.endswith("]") or "%" in inner:
                raise ValueError
            return IPv6Address(inner)
        except ValueError:
            raise TargetRefused("what stands in brackets must be an IPv6 address, without a zone") from None
    last = host.lower().removesuffix(".").rpartition(".")[2]
    # A host whose last label is a number is an address to most parsers, in spellings on which they disagree: 127.1, 0x7f.1, 017700000001.
    if not _NUMBER.fullmatch(last):
        return None
    try:
        return IPv4Address(host)
    except ValueError:
        raise TargetRefused("an IPv4 address must be written as four decimal numbers from 0 to 255, such as 192.0.2.1") from None


def _name(host: str) -> str:
    """Return the host's name in ASCII; raises TargetRefused if it could be read in two ways."""
    if "%" in host:
        raise TargetRefused("the host must not be percent-encoded")
    labels = [_ascii_label(label) for label in host.removesuffix(".").split(".")]
    name = ".".join(labels)
    if len(name) > MAX_HOST_CHARS or not all(_LABEL.fullmatch(label) for label in labels):
        raise TargetRefused("the host is not a valid name")
    return name


def _ascii_label(label: str) -> str:
    """Return one label in its DNS form. An international label must be in a form that no version of IDNA changes."""
    label = label.translate(_ASCII_LOWER)
    if label.startswith("xn--"):
        try:
            decoded = label[4:].encode("ascii").decode("punycode")
            good = not decoded.isascii() and _is_canonical(decoded, deviations=True) and _encoded(decoded) == label
        except ValueError:
            good = False
        if not good:
            raise TargetRefused("the host holds an xn-- label that stands for no name")
        return label
    if label.isascii():
        return label
    if not _is_canonical(label, deviations=False):
        raise TargetRefused("the host holds characters that are read in more than one way: write it in ASCII (its xn-- form)")
    return _encoded(label)


def _encoded(label: str) -> str:
    return "xn--" + label.encode("punycode").decode("ascii")


def _is_canonical(label: str, *, deviations: bool) -> bool:
    """Return whether IDNA would not change the label. If `deviations` is true, characters that only some versions change are allowed."""
    # What ASCII is allowed is seen once the label is encoded: it stands there as it is.
    return unicodedata.normalize("NFKC", label) == label and all(
        (deviations and character in _DEVIATIONS)
        or (
            (character.isascii() or unicodedata.category(character).startswith(("L", "M")))
            and unicodedata.normalize("NFKC", character.casefold()) == character
        )
        for character in label
    )


def _is_inner(name: str, own: Own, allowed: Networks) -> bool:
    """Return whether the name can only belong to an internal network. Raises TargetRefused if it may not be used at all."""
    if name in own.hosts:
        raise TargetRefused(f"{name} is this service itself", OWN)
    if name in _LOCALHOST or name.endswith(_LOCALHOST_SUFFIXES):
        raise TargetRefused(f"{name} is this machine itself", OWN)
    if name in _METADATA:
        raise TargetRefused(f"{name} is a cloud's metadata service", NOT_PUBLIC)
    inner = "." not in name or name.endswith(_INNER_SUFFIXES)
    if inner and not allowed:
        raise TargetRefused(f"{name} is not a name of the public internet", NOT_PUBLIC)
    return inner
