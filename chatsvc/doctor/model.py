"""Check of the model server: reachable, accepts the key, speaks the Messages API."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import SplitResult, urlsplit

from chatsvc.config import Config
from chatsvc.doctor.report import Check, fault, ok, warning
from chatsvc.outbound.tls import client_context

NAME = "model server"
WAIT_S = 5.0
MOST = 64 * 1024  # bytes
REFUSED_KEY = frozenset({401, 403})
NO_SUCH_PATH = frozenset({404, 405})


def server(config: Config) -> Iterator[Check]:
    """Check the server of the tiers that have a model, with an empty request, which costs nothing."""
    if not any(tier.engine == "anthropic" for tier in config.models.values()):
        return
    settings = config.anthropic
    if settings.api_key is None:
        remedy = "set ANTHROPIC_API_KEY (or engines.anthropic.api_key_file), or take such tiers out of models: they answer not_configured"
        yield warning(NAME, "there is no API key for it", remedy)
        return

    from chatsvc.engines.anthropic.engine import without_v1

    key = settings.api_key.reveal().strip()
    try:
        base_url = without_v1(settings.base_url)
    except ValueError as problem:
        yield fault(NAME, str(problem), "set engines.anthropic.base_url to such an address")
        return
    url = urlsplit(base_url)
    where = url.netloc
    try:
        status = _ask(url, key)
    except socket.gaierror as problem:
        remedy = "see engines.anthropic.base_url, and the machine's name servers (/etc/resolv.conf)"
        yield fault(NAME, f"the name {url.hostname} cannot be looked up: {problem.strerror}", remedy)
    except ssl.SSLCertVerificationError as problem:
        yield fault(NAME, f"the certificate of {where} is not trusted: {problem.verify_message}", "install ca-certificates")
    except (OSError, http.client.HTTPException) as problem:
        why = (problem.strerror if isinstance(problem, OSError) else None) or str(problem) or type(problem).__name__
        remedy = "see engines.anthropic.base_url, the firewall, and whether that server runs"
        yield fault(NAME, f"{where} cannot be reached: {why}", remedy)
    else:
        yield _judged(status, settings.base_url) or _offer(config, base_url, key)


def _judged(status: int, base_url: str) -> Check | None:
    if status in REFUSED_KEY:
        remedy = "put the right key into ANTHROPIC_API_KEY or engines.anthropic.api_key_file"
        return fault(NAME, f"{base_url} does not take the key (status {status})", remedy)
    if status in NO_SUCH_PATH:
        remedy = "set engines.anthropic.base_url to a server that speaks the Anthropic Messages API, without /v1/messages at its end"
        return fault(NAME, f"{base_url} has no /v1/messages (status {status})", remedy)
    if status >= 500:
        return warning(NAME, f"{base_url} answers with status {status}", "wait until it is ready, or see that server's log")
    return None


def _offer(config: Config, base_url: str, key: str) -> Check:
    """Check that the server lists the tiers' models. The provider's library asks: slow to load, but it sees what clients see."""
    from chatsvc.engines import EngineError
    from chatsvc.engines.anthropic import sdk

    where = config.anthropic.base_url
    try:
        offered = sdk.models(base_url, key)
    except EngineError:
        # Some local model servers have no list of models, or do not show it.
        return ok(NAME, where)
    missing = sorted({tier.model for tier in config.models.values() if tier.engine == "anthropic"} - set(offered))
    if offered and missing:
        has = ", ".join(offered[:10])
        return warning(NAME, f"{where} does not list the model {', '.join(missing)}", f"see models.*.model; it lists: {has}")
    return ok(NAME, f"{where}, with the models asked for" if offered else where)


def _ask(url: SplitResult, key: str) -> int:
    from chatsvc.engines.anthropic.client import API_VERSION

    with closing(_connection(url)) as connection:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}", "Anthropic-Version": API_VERSION}
        connection.request("POST", f"{url.path}/v1/messages", b"{}", headers)
        response = connection.getresponse()
        # A server that may say all it has to say does not take the end for a fault.
        response.read(MOST)
        return response.status


def _connection(url: SplitResult) -> http.client.HTTPConnection:
    if url.scheme == "https":
        return http.client.HTTPSConnection(url.hostname or "", url.port, timeout=WAIT_S, context=client_context())
    return http.client.HTTPConnection(url.hostname or "", url.port, timeout=WAIT_S)
