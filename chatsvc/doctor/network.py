"""Listeners, certificates, the model's server, webhooks: what reaches beyond the process."""

from __future__ import annotations

import errno
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from chatsvc.config import Config
from chatsvc.control.client import connect
from chatsvc.doctor.report import Check, fault, ok, warning
from chatsvc.domain.addresses import TargetRefused
from chatsvc.domain.targets import check_url
from chatsvc.store.examination import Examined
from chatsvc.tls.certificates import term
from chatsvc.webhooks.machine import own

CONNECT_S = 5.0
SOON_S = 14 * 86400


def service(config: Config) -> Iterator[Check]:
    """Whether the service runs, or could listen where it is told to."""
    running = connect(config.data_dir) if config.data_dir.is_dir() else None
    server = config.server
    where = str(server.socket) if server.socket else f"{server.host or '*'}:{server.port}"
    if running is not None:
        running.close()
        yield ok("service", f"running; to listen on {where}")
        return
    yield warning("service", "it is not running", "start it: chatsvc serve, or systemctl start chatsvc")
    if server.socket or not server.port:
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


def certificates(config: Config) -> Iterator[Check]:
    """The files of `server.tls`: there, a pair, in force, and for the right name."""
    tls = config.server.tls
    if tls is None:
        return
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls.cert_file, tls.key_file, password="")
        found = term(Path(tls.cert_file).read_bytes())
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


def model(config: Config) -> Iterator[Check]:
    """The server of the tiers that have a model: a key, and somebody who answers."""
    if not any(tier.engine == "anthropic" for tier in config.models.values()):
        return
    settings = config.anthropic
    if settings.api_key is None:
        remedy = "set ANTHROPIC_API_KEY (or engines.anthropic.api_key_file); without it these tiers answer not_configured"
        yield warning("model server", "there is no API key for it", remedy)
        return
    url = urlsplit(settings.base_url)
    host, port = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
    remedy = "see engines.anthropic.base_url, the name server, the firewall, and whether that server runs"
    try:
        with socket.create_connection((host, port), CONNECT_S) as connection:
            if url.scheme == "https":
                with ssl.create_default_context().wrap_socket(connection, server_hostname=host):
                    pass
    except ssl.SSLCertVerificationError as problem:
        yield fault("model server", f"the certificate of {host} is not trusted: {problem.verify_message}", "install ca-certificates")
    except OSError as problem:
        yield fault("model server", f"{host}:{port} cannot be reached: {problem.strerror or problem}", remedy)
    else:
        yield _offer(config)


def _offer(config: Config) -> Check:
    """Whether the model server takes the key and has the models of the tiers."""
    from chatsvc.engines import EngineError
    from chatsvc.engines.anthropic import engine, sdk

    settings = config.anthropic
    where, key = settings.base_url, settings.api_key.reveal().strip() if settings.api_key else ""
    try:
        offered = sdk.models(engine.without_v1(where), key)
    except EngineError as problem:
        if problem.reason == "provider_auth":
            return fault(
                "model server", f"{where} refuses the API key", "put a valid key into ANTHROPIC_API_KEY (or engines.anthropic.api_key_file)"
            )
        # Not every server in the house has a list of its models.
        return ok("model server", where)
    missing = sorted({tier.model for tier in config.models.values() if tier.engine == "anthropic"} - set(offered))
    if offered and missing:
        has = ", ".join(offered[:10])
        return warning("model server", f"{where} does not list the model {', '.join(missing)}", f"see models.*.model; it lists: {has}")
    return ok("model server", f"{where}, with the models asked for" if offered else where)


def webhooks(config: Config, examined: Examined | None) -> Iterator[Check]:
    """The addresses of webhooks, by the rules of SPEC.md 6.4, and whether their names resolve."""
    ca_file = config.webhooks.ca_file
    if ca_file is not None:
        try:
            ssl.create_default_context(cafile=str(ca_file))
        except OSError as problem:
            yield fault(
                "webhooks", f"webhooks.ca_file {ca_file} cannot be used: {problem.strerror or problem}", "name a file of PEM certificates"
            )
    listeners = [] if config.server.socket else [(config.server.host, config.server.port)]
    ours = own(listeners, config.server.public_url)
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
