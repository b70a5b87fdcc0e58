"""Functions that convert texts of settings to values. Their ValueError names the expected form, never the text itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, final

from chatsvc.domain.mails import is_email

if TYPE_CHECKING:
    # Imported by the functions that need it: most configurations name neither, and every command reads one.
    from ipaddress import IPv4Network, IPv6Network

_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,8})(?:\.([0-9]{1,12}))?")
_INTERVAL = re.compile(r"([1-9][0-9]{0,3})([mhd])")
_LABEL = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_LISTEN = re.compile(r"\A(?:\[([^\[\]]+)\]|([^:\[\]]*)):([0-9]{1,5})")
_URL = re.compile(r"(https?)://(?:\[([^\[\]]+)\]|([^:/?#@\[\]]+))(?::([0-9]{1,5}))?(/[^?#\s]*)?", re.IGNORECASE)
_MAILBOX = re.compile(r'\A(?:"([^"<>\\]*)"\s*|([^"<>\\]*))<([^<>]*)>')
_MAX_USD = 100_000


@final
class Secret:
    """A non-empty text that only `reveal` returns; printing it shows `***`."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        if not text:
            raise ValueError("a secret is not empty")
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "Secret(***)"

    def __str__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, Secret) else NotImplemented

    def __hash__(self) -> int:
        return hash((Secret, self._text))


def whole(least: int, most: int) -> Callable[[str], int]:
    """Make a reader of a whole number in plain decimal digits. It refuses 0x10, 010, 1_000, 1e3 and 9:30."""

    def read(text: str) -> int:
        if not _WHOLE.fullmatch(text) or not least <= int(text) <= most:
            raise ValueError(f"expected a whole number from {least} to {most}, in decimal digits alone")
        return int(text)

    return read


def seconds(most: int) -> Callable[[str], float]:
    """Make a reader of a duration above 0."""

    def read(text: str) -> float:
        if not _DECIMAL.fullmatch(text) or not 0 < float(text) <= most:
            raise ValueError(f"expected seconds: a number above 0, at most {most}, such as 10 or 2.5")
        return float(text)

    return read


def interval(text: str) -> float:
    """Read the time between two runs of regular work, in seconds."""
    match = _INTERVAL.fullmatch(text)
    if not match:
        raise ValueError("expected a time such as 30m, 24h or 7d")
    return int(match[1]) * {"m": 60.0, "h": 3600.0, "d": 86400.0}[match[2]]


def usd(text: str) -> int:
    """Read a price in US dollars, as micro-dollars, exactly."""
    match = _DECIMAL.fullmatch(text)
    if not match or len(match[2] or "") > 6 or int(match[1]) >= _MAX_USD:
        raise ValueError(f"expected US dollars for a million tokens: a number from 0 to {_MAX_USD}, at most 6 decimals, such as 0.10")
    return int(match[1]) * 1_000_000 + int((match[2] or "").ljust(6, "0"))


def flag(text: str) -> bool:
    """Read `true` or `false`. The other words of YAML 1.1, such as `yes`, are refused."""
    if text.lower() not in {"true", "false"}:
        raise ValueError("expected true or false")
    return text.lower() == "true"


def _checked(fits: Callable[[str], object], expected: str, read: Callable[[str], str | None] = str) -> Callable[[str], str]:
    """Make a reader that converts a text by `read`. It refuses the text if the result is None or does not pass `fits`."""

    def checked(text: str) -> str:
        value = read(text)
        if value is None or not fits(value):
            raise ValueError(expected)
        return value

    return checked


def _matching(pattern: str, expected: str) -> Callable[[str], str]:
    return _checked(lambda text: re.fullmatch(pattern, text), expected)  # not compiled before its first use


def one_of(*words: str) -> Callable[[str], str]:
    return _checked(words.__contains__, f"expected {' or '.join(words)}")


line = _checked(lambda text: text.strip() and text.isprintable(), "expected a text on one line, not empty")
path = _checked(
    lambda text: text.strip() and text.isprintable() and not text.startswith("~"),
    "expected a path, relative to this file's folder or absolute (~ is not expanded, ${HOME} is)",
)
email = _checked(lambda text: is_email(text) and "." in text.partition("@")[2], "expected an e-mail address, such as admin@example.com")
name = _matching(
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}",
    "expected a name of at most 64 letters, digits, dots, hyphens and underscores, beginning with a letter or digit",
)
master_key = _matching(r"[0-9a-fA-F]{64}", "expected a master key: 64 hexadecimal digits, as `openssl rand -hex 32` makes them")
key = _matching("[!-~]+", "expected a key of visible ASCII characters without spaces")
login = _matching("[ -~]+", "expected printable ASCII characters")  # a user name or a password
team_token = _matching(r"[0-9]{1,20}:[A-Za-z0-9_-]{1,100}", "expected the token of a bot, as @BotFather gives it")


def plan_name(text: str) -> str:
    """Read the name of a plan. It must not be "none", since `account set --plan none` removes an account's plan."""
    if text == "none":
        raise ValueError("expected another name for a plan than none, which means that an account has no plan")
    return name(text)


def host_and_port(text: str) -> tuple[str, int]:
    """Read host:port. A missing host means every interface."""
    expected = ValueError('expected host:port, such as 127.0.0.1:8080, "[::1]:8080" or ":8080" for every interface')
    match = _LISTEN.fullmatch(text)
    if not match or int(match[3]) > 65535:
        raise expected
    host: str = match[1] or match[2] or ""
    if host and not (_is_ipv6(host) if match[1] else _is_host(host)):
        raise expected
    return host, int(match[3])


def listen(text: str) -> tuple[str, int] | str:
    """Read host:port, or the path of a Unix socket after `unix:`."""
    path = text.removeprefix("unix:")
    if path != text and path.strip() and path.isprintable() and not path.endswith("/"):
        return path
    try:
        return host_and_port(text)
    except ValueError as fault:
        raise ValueError(f"{fault}, or a socket: unix:/run/chatsvc/chatsvc.sock") from None


def domain(text: str) -> str:
    """Read a domain name for a certificate. Addresses, wildcards and names without a dot are refused."""
    if not _is_host(text) or "." not in text or text.endswith(".") or "_" in text or text.rpartition(".")[2].isdigit():
        raise ValueError("expected the name of a host, such as bots.example.com: no address, no wildcard, no final dot, in ASCII (xn--)")
    return text.lower()


def mailbox(text: str) -> tuple[str, str]:
    """Read the sender of mails: name ("" for none) and address."""
    match = _MAILBOX.fullmatch(text.strip())
    name, address = (match[1] or match[2] or "", match[3]) if match else ("", text.strip())
    if not is_email(address) or not name.isprintable():
        raise ValueError("expected an e-mail address, such as support@example.com or Support <support@example.com>")
    return name.strip(), address


def host(text: str) -> str:
    """Read the name or address of a server, without a port. An IPv6 address has no brackets."""
    if not (_is_ipv6(text) and "%" not in text if ":" in text else _is_host(text)):
        raise ValueError("expected the name or the address of a host, without a port")
    return text.lower()


def _url(text: str) -> str | None:
    """Normalise a URL: scheme and host in lower case, no final slash. Return None if the text is no URL."""
    match = _URL.fullmatch(text)
    if not match or not text.isascii() or not text.isprintable():
        return None
    scheme, ipv6, host, port, path = match.groups()
    if port is not None and not 1 <= int(port) <= 65535:
        return None
    if not (_is_ipv6(ipv6) and "%" not in ipv6 if ipv6 else _is_host(host)):
        return None
    authority = (f"[{ipv6}]" if ipv6 else host).lower() + (f":{int(port)}" if port else "")
    return f"{scheme.lower()}://{authority}{path or ''}".removesuffix("/")


# The callers of the service append paths to its origin.
origin = _checked(
    lambda url: "/" not in url.partition("://")[2],
    "expected http:// or https://, a host and perhaps a port; no path, query, user or password",
    _url,
)
base_url = _checked(bool, "expected a URL that begins with http:// or https://; no query, user or password", _url)
https_url = _checked(lambda url: url.startswith("https://"), "expected a URL that begins with https://; no query, user or password", _url)


def url_of(host: str, port: int, *, tls: bool) -> str:
    """Return the URL of a listener for a browser on this machine."""
    reached = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host).partition("%")[0]  # noqa: S104  # nothing is bound here
    authority = f"[{reached}]" if ":" in reached else reached
    usual = 443 if tls else 80
    return f"http{'s' if tls else ''}://{authority}" + ("" if port == usual else f":{port}")


def _is_ipv6(text: str) -> bool:
    from ipaddress import IPv6Address

    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def _is_host(text: str) -> bool:
    labels = text.removesuffix(".").split(".")
    if len(text) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        return False
    if not labels[-1].isdigit():
        return True
    # A last label of digits makes it an address: it has to be a whole one, not 127.1 or 256.0.0.1.
    return len(labels) == 4 and not text.endswith(".") and all(re.fullmatch("0|[1-9][0-9]{0,2}", n) and int(n) < 256 for n in labels)


def network(text: str) -> IPv4Network | IPv6Network:
    """Read a network or a single address. Refuse a network whose address has bits outside its mask."""
    from ipaddress import ip_network

    try:
        if "%" in text:
            raise ValueError
        return ip_network(text)
    except ValueError:
        raise ValueError("expected a network such as 10.0.0.0/8 or fd00::/8, without bits set beyond its length") from None
