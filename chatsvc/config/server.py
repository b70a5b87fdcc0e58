"""Reader of the section `server`: listeners, TLS, proxies, certificates."""

from dataclasses import replace

from chatsvc.config import values
from chatsvc.config.model import Acme, Server, Tls
from chatsvc.config.section import Section, keys_of, settings

KEYS = ("listen", "public_url", "tls", "acme", "http_listen", "hsts_s", "trusted_proxies", "dashboard")
YEAR_S = 31_536_000
_MAX_SOCKET_PATH = 107  # bytes: the kernel's sockaddr_un


def read(section: Section) -> Server:
    """Read the section and check its settings against each other."""
    default: tuple[str, int] | str = ("127.0.0.1", 8080)
    listen = section.text("listen", values.listen, default)
    host, port = ("", 0) if isinstance(listen, str) else listen
    socket = section.source.folder / listen if isinstance(listen, str) else None
    tls = _tls(section.section("tls", "cert_file", "key_file"))
    acme = _acme(section.section("acme", *keys_of(Acme)))
    http = section.optional("http_listen", values.host_and_port)
    encrypted = tls is not None or acme is not None
    if acme and tls:
        section.refuse("expected either tls or acme, not both: certificates come from files or from an authority", "acme")
    if http and not encrypted:
        section.refuse("expected tls or acme beside it: without them there is no https to lead to", "http_listen")
    if http and http == (host, port) and port:
        section.refuse("expected another address than that of listen", "http_listen")
    if socket is not None:
        _check_socket(section, len(str(socket).encode()), encrypted=encrypted)
    public_url = section.optional("public_url", values.origin) or values.url_of(acme.domains[0] if acme else host, port, tls=encrypted)
    if http and section.gives("public_url") and not public_url.startswith("https:"):
        section.refuse("expected https:// where http_listen leads callers there", "public_url")
    return Server(
        host,
        port,
        public_url,
        tls,
        socket=socket,
        http=http,
        acme=acme,
        hsts_s=section.plain("hsts_s", values.whole(0, 10 * YEAR_S), YEAR_S),
        trusted_proxies=section.texts("trusted_proxies", values.network),
        dashboard=section.plain("dashboard", values.flag, True),
    )


def _check_socket(section: Section, length: int, *, encrypted: bool) -> None:
    if length > _MAX_SOCKET_PATH:
        section.refuse(f"expected a shorter path: with its folder, the name of a socket has at most {_MAX_SOCKET_PATH} bytes", "listen")
    if encrypted:
        section.refuse("expected an address and a port where the service speaks https itself, not a socket", "listen")
    if not section.gives("public_url"):
        section.refuse("expected public_url beside it: how callers reach the proxy in front of the socket", "listen")


def _tls(section: Section) -> Tls | None:
    cert, key = section.file("cert_file"), section.file("key_file")
    for name, other in (("cert_file", "key_file"), ("key_file", "cert_file")):
        section.need(name, [other], f"expected {other} beside it: TLS needs both files, or neither")
    return Tls(cert, key) if cert and key else None


def _acme(section: Section) -> Acme | None:
    acme = settings(Acme, section)
    for key in ("email", "ca_file"):
        section.need(key, ["domains"], "expected domains beside it: the names to have certificates for")
    return replace(acme, domains=tuple(dict.fromkeys(acme.domains))) if acme.domains else None
