"""Checks of the service, listeners, certificates and webhooks."""

import errno
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from chatsvc.config import Config
from chatsvc.doctor import Finding, files
from chatsvc.domain.addresses import TargetRefused
from chatsvc.domain.targets import check_url
from chatsvc.outbound.egress import client_context
from chatsvc.outbound.resolver import own_addresses
from chatsvc.store.examination import Examined
from chatsvc.tls.certificates import validity

SOON_S = 14 * 86400
_LISTENING = {errno.EADDRINUSE: "listener_taken", errno.EADDRNOTAVAIL: "listener_foreign", errno.EACCES: "listener_forbidden"}


def running(config: Config, *, may_connect: bool, connections: Mapping[str, int], store_fault: str | None) -> Iterator[Finding]:
    """Report that the service runs, the fault of its store (if any), and its outbound connections."""
    yield Finding.ok("service", "service_running", where=_where(config))
    if store_fault:
        yield Finding.fault("store", "store_fault", fault=store_fault)
    yield Finding.ok("egress", "egress_opened" if may_connect else "egress_refused", counts=dict(connections))


def stopped(config: Config) -> Iterator[Finding]:
    """Report that the service does not run, and whether it could listen on its address."""
    server, where = config.server, _where(config)
    yield Finding.warning("service", "service_stopped")
    if server.socket:
        yield from _socket(server.socket)
        return
    if not server.port:
        return
    try:
        with socket.create_server((server.host, server.port), family=socket.AF_INET6 if ":" in server.host else socket.AF_INET):
            yield Finding.ok("listener", "listener_free", where=where)
    except OSError as problem:
        code = _LISTENING.get(problem.errno or 0, "listener_unusable")
        yield Finding.fault("listener", code, where=where, reason=problem.strerror or str(problem))


def _where(config: Config) -> str:
    server = config.server
    return str(server.socket) if server.socket else f"{server.host or '*'}:{server.port}"


def _socket(path: Path) -> Iterator[Finding]:
    if not path.parent.is_dir():
        yield Finding.fault("listener", "listener_folder_missing", file=str(path), folder=str(path.parent))
    elif not files.is_writable(path.parent):
        yield Finding.fault("listener", "listener_folder_closed", file=str(path), folder=str(path.parent))
    else:
        yield Finding.ok("listener", "listener_possible", file=str(path))


def public_url(config: Config) -> Iterator[Finding]:
    """Check the port and scheme of `public_url` if its host is this machine."""
    server, url = config.server, urlsplit(config.server.public_url)
    here = url.hostname in ("localhost", "127.0.0.1", "::1", server.host)
    if server.socket or not server.port or not here:
        return
    port = url.port or (443 if url.scheme == "https" else 80)
    if port != server.port:
        yield Finding.warning("public_url", "public_url_port", url=server.public_url, port=server.port)
    elif (url.scheme == "https") is not server.speaks_https:
        yield Finding.warning("public_url", "public_url_scheme", url=server.public_url, scheme="https" if server.speaks_https else "http")


def certificates(config: Config) -> Iterator[Finding]:
    """Check that the files of `server.tls` are readable, belong together, are valid now, and have the right name."""
    tls = config.server.tls
    if tls is None:
        return
    file = str(tls.cert_file)
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls.cert_file, tls.key_file, password="")
        period = validity(Path(tls.cert_file).read_bytes())
    except (OSError, ValueError, IndexError) as problem:
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else type(problem).__name__
        yield Finding.fault("certificate", "certificate_unusable", file=file, key_file=str(tls.key_file), reason=why)
        return
    now, host = time.time(), urlsplit(config.server.public_url).hostname or ""
    day = time.strftime("%Y-%m-%d", time.gmtime(period.end))
    if now > period.end:
        yield Finding.fault("certificate", "certificate_expired", file=file, day=day)
    elif now < period.begin:
        yield Finding.fault("certificate", "certificate_early", file=file)
    elif period.names and period.names.isdisjoint({host, f"*.{host.partition('.')[2]}"}):
        yield Finding.fault("certificate", "certificate_for_others", file=file, host=host)
    elif period.end - now < SOON_S:
        yield Finding.warning("certificate", "certificate_ending", file=file, day=day)
    else:
        yield Finding.ok("certificate", "certificate_good", file=file, day=day)


def webhooks(config: Config, examined: Examined | None, *, resolve: bool = True) -> Iterator[Finding]:
    """Check webhook addresses by the rules of help/webhooks.md 7, and that their names resolve."""
    for section, ca_file in (("webhooks", config.webhooks.ca_file), ("website", config.website.ca_file)):
        try:
            client_context(ca_file)
        except OSError as problem:
            yield Finding.fault(
                "webhooks", "authorities_unusable", section=section, file=str(ca_file), reason=problem.strerror or str(problem)
            )
    listeners = [] if config.server.socket else [(config.server.host, config.server.port)]
    ours = own_addresses(listeners, config.server.public_url)
    for bot, url in examined.webhooks if examined else ():
        try:
            target = check_url(url, ours, config.webhooks.allowed_networks)
            if target.address is None and resolve:
                socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        except TargetRefused as refusal:
            yield Finding.fault("webhooks", "webhook_refused", bot=bot, reason=str(refusal))
        except OSError as problem:
            yield Finding.fault("webhooks", "webhook_unresolved", bot=bot, reason=problem.strerror or str(problem))
        else:
            yield Finding.ok("webhooks", "webhook_good", bot=bot, host=target.host)
