"""Checks of listeners, certificates and webhooks."""

from __future__ import annotations

import errno
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from chatsvc.config import Config
from chatsvc.control import client
from chatsvc.doctor import owner
from chatsvc.doctor.report import Check, fault, ok, warning
from chatsvc.domain.addresses import TargetRefused
from chatsvc.domain.refusals import Refused
from chatsvc.domain.targets import check_url
from chatsvc.outbound.own_addresses import own_addresses
from chatsvc.outbound.tls import client_context
from chatsvc.store.sqlite.examination import Examined
from chatsvc.tls.certificates import validity

SOON_S = 14 * 86400
ANSWER_S = 5


def service(config: Config) -> Iterator[Check]:
    """Check whether the service runs, or could listen on its address."""
    running = client.connect(config.data_dir) if config.data_dir.is_dir() else None
    server = config.server
    where = str(server.socket) if server.socket else f"{server.host or '*'}:{server.port}"
    if running is not None:
        with running:
            yield from _running(running, where)
        return
    yield warning("service", "it is not running", "start it: chatsvc serve, or systemctl start chatsvc")
    if server.socket:
        yield from _socket(server.socket)
        return
    if not server.port:
        return
    try:
        with socket.create_server((server.host, server.port), family=socket.AF_INET6 if ":" in server.host else socket.AF_INET):
            yield ok("listener", f"{where} is free")
    except OSError as problem:
        remedies = {
            errno.EADDRINUSE: "another program listens there: end it (ss -ltnp shows it), or set server.listen to another port",
            errno.EADDRNOTAVAIL: "this machine has no such address: set server.listen to one of its own",
            errno.EACCES: "ports below 1024 are root's: set CAP_NET_BIND_SERVICE, or choose another port",
        }
        remedy = remedies.get(problem.errno or 0, "see server.listen in the configuration")
        yield fault("listener", f"cannot listen on {where}: {problem.strerror or problem}", remedy)


def _running(service: socket.socket, where: str) -> Iterator[Check]:
    """Report that it runs, and its outbound connections by purpose."""
    service.settimeout(ANSWER_S)
    try:
        egress = client.ask(service, "egress.show", {})
    except client.Lost:
        remedy = "see its log, then start it anew: systemctl restart chatsvc"
        yield fault("service", f"it runs, but has not answered within {ANSWER_S} seconds", remedy)
        return
    except Refused as refusal:
        yield warning(
            "service",
            f"it runs, but refuses to tell its connections: {refusal}",
            "start it anew after an upgrade: systemctl restart chatsvc",
        )
        return
    yield ok("service", f"running; to listen on {where}")
    if egress["store_fault"]:
        yield fault("store", f"the running service writes nothing: {egress['store_fault']}", "stop it, put the files back, start it again")
    counts = egress["opened" if egress["allowed"] else "refused"]
    told = ", ".join(f"{purpose} {count}" for purpose, count in counts.items())
    yield ok("egress", f"connections {'opened' if egress['allowed'] else 'refused (egress: none)'} since the service started: {told}")


def _socket(path: Path) -> Iterator[Check]:
    writable = owner.writable(path.parent)
    if not path.parent.is_dir():
        yield fault(
            "listener", f"the folder of {path} is not there", f"make it for the service's user, or set server.listen: {path.parent}"
        )
    elif not writable:
        yield fault("listener", f"the service's user may not make {path}", f"give it {path.parent}, or set server.listen to another place")
    else:
        yield ok("listener", f"{path} can be made")


def public_url(config: Config) -> Iterator[Check]:
    """Check that `public_url`, where it names this machine, names the service's port and scheme."""
    server, url = config.server, urlsplit(config.server.public_url)
    remedy = "set server.public_url to how callers reach the service; left out, it follows from server.listen"
    here = url.hostname in ("localhost", "127.0.0.1", "::1", server.host)
    if server.socket or not server.port or not here:
        return
    port = url.port or (443 if url.scheme == "https" else 80)
    if port != server.port:
        yield warning("public_url", f"callers are told {config.server.public_url}, but the service listens on port {server.port}", remedy)
    elif (url.scheme == "https") is not server.speaks_https:
        speaks = "https" if server.speaks_https else "http"
        yield warning("public_url", f"callers are told {config.server.public_url}, but the service speaks {speaks} there", remedy)


def certificates(config: Config) -> Iterator[Check]:
    """Check the files of `server.tls`: readable, a pair, valid now, and for the right name."""
    tls = config.server.tls
    if tls is None:
        return
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls.cert_file, tls.key_file, password="")
        found = validity(Path(tls.cert_file).read_bytes())
    except (OSError, ValueError, IndexError) as problem:
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else type(problem).__name__
        remedy = "name a PEM certificate and the key that belongs to it, both readable for the service's user"
        yield fault("certificate", f"{tls.cert_file} with {tls.key_file} cannot be used: {why}", remedy)
        return
    now, host = time.time(), urlsplit(config.server.public_url).hostname or ""
    day = time.strftime("%Y-%m-%d", time.gmtime(found.end))
    if now > found.end:
        yield fault("certificate", f"{tls.cert_file} has expired on {day}", "renew it; the running service takes the new file up by itself")
    elif now < found.begin:
        yield fault("certificate", f"{tls.cert_file} is not in force yet", "look at the clock, or put the right certificate in place")
    elif not _covers(found.names, host):
        yield fault("certificate", f"{tls.cert_file} is not for {host}", "get one for the host of server.public_url")
    elif found.end - now < SOON_S:
        yield warning("certificate", f"{tls.cert_file} expires on {day}", "renew it; the running service takes the new file up by itself")
    else:
        yield ok("certificate", f"{tls.cert_file}, until {day}")


def _covers(names: frozenset[str], host: str) -> bool:
    return not names or host in names or f"*.{host.partition('.')[2]}" in names


def webhooks(config: Config, examined: Examined | None) -> Iterator[Check]:
    """Check the addresses of webhooks by the rules of SPEC.md 6.4, and whether their names resolve."""
    ca_file = config.webhooks.ca_file
    if ca_file is not None:
        try:
            client_context(ca_file)
        except OSError as problem:
            yield fault(
                "webhooks", f"webhooks.ca_file {ca_file} cannot be used: {problem.strerror or problem}", "name a file of PEM certificates"
            )
    listeners = [] if config.server.socket else [(config.server.host, config.server.port)]
    ours = own_addresses(listeners, config.server.public_url)
    for bot, url in examined.webhooks if examined else ():
        remedy = f"set another address: chatsvc webhook set (bot {bot!r})"
        try:
            target = check_url(url, ours, config.webhooks.allowed_networks)
            if target.address is None and config.egress == "all":
                socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        except TargetRefused as refusal:
            yield fault("webhooks", f"the address of the bot {bot!r} is refused: {refusal}", remedy)
        except OSError as problem:
            yield fault("webhooks", f"the host of the bot {bot!r} does not resolve: {problem.strerror or problem}", remedy)
        else:
            yield ok("webhooks", f"bot {bot!r}: {target.host}")
