"""Check of the model server: reachable, accepts the key, speaks the Messages API."""

import http.client
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import SplitResult, urlsplit

from chatsvc.config import Config
from chatsvc.doctor import report
from chatsvc.doctor.report import Finding
from chatsvc.outbound.egress import Egress
from chatsvc.outbound.tls import client_context

WAIT_S = 5.0
MOST = 64 * 1024  # bytes
REFUSED_KEY = frozenset({401, 403})
NO_SUCH_PATH = frozenset({404, 405})


def server(config: Config, egress: Egress | None = None, *, with_models: bool = True) -> Iterator[Finding]:
    """Check the model server of each tier with an empty request, which costs nothing. with_models: that it lists the tiers' models too."""
    if not any(tier.engine == "anthropic" for tier in config.models.values()):
        return
    settings = config.anthropic
    if settings.api_key is None:
        yield report.model_without_key()
        return

    from chatsvc.engines.anthropic.engine import without_v1

    key = settings.api_key.reveal().strip()
    try:
        base_url = without_v1(settings.base_url)
    except ValueError as problem:
        yield report.model_address_invalid(reason=str(problem))
        return
    url = urlsplit(base_url)
    where = url.netloc
    if egress is not None:
        egress.open("model")
    try:
        status = _ask(url, key)
    except socket.gaierror as problem:
        yield report.model_name_unknown(host=url.hostname, reason=problem.strerror)
    except ssl.SSLCertVerificationError as problem:
        yield report.model_untrusted(where=where, reason=problem.verify_message)
    except (OSError, http.client.HTTPException) as problem:
        why = (problem.strerror if isinstance(problem, OSError) else None) or str(problem) or type(problem).__name__
        yield report.model_unreachable(where=where, reason=why)
    else:
        yield _judged(status, settings.base_url) or (
            _offer(config, base_url, key) if with_models else report.model_good(url=settings.base_url)
        )


def _judged(status: int, base_url: str) -> Finding | None:
    if status in REFUSED_KEY:
        return report.model_refuses_key(url=base_url, status=status)
    if status in NO_SUCH_PATH:
        return report.model_without_interface(url=base_url, status=status)
    if status >= 500:
        return report.model_troubled(url=base_url, status=status)
    return None


def _offer(config: Config, base_url: str, key: str) -> Finding:
    """Check that the server lists the tiers' models. The provider's library asks: slow to load, but it sees what clients see."""
    from chatsvc.engines import EngineError
    from chatsvc.engines.anthropic import sdk

    url = config.anthropic.base_url
    try:
        offered = sdk.models(base_url, key)
    except EngineError:
        # Some local model servers have no list of models, or do not show it.
        return report.model_good(url=url)
    missing = sorted({tier.model for tier in config.models.values() if tier.engine == "anthropic"} - set(offered))
    if offered and missing:
        return report.model_lacks(url=url, models=missing, offered=offered[:10])
    return report.model_complete(url=url) if offered else report.model_good(url=url)


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
