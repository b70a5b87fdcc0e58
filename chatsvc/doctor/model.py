"""Check of the model server: reachable, accepts the key, speaks the Messages API."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from chatsvc.config import Config
from chatsvc.doctor import report
from chatsvc.doctor.report import Finding
from chatsvc.outbound.egress import Egress
from chatsvc.outbound.resolver import LookupFailed

if TYPE_CHECKING:
    from chatsvc.engines.anthropic.faults import ModelFault
    from chatsvc.engines.anthropic.provider import Provider

WAIT_S = 5.0
REFUSED_KEY = frozenset({401, 403})
NO_SUCH_PATH = frozenset({404, 405})


def server(config: Config, egress: Egress, *, with_models: bool = True) -> Iterator[Finding]:
    """Check the model server of the tiers by an empty request, which costs nothing.

    `with_models` also checks that the server lists the models of the tiers.
    """
    models = {tier.model for tier in config.models.values() if tier.engine == "anthropic"}
    if not models:
        return

    from chatsvc.engines.anthropic.provider import Provider

    settings = config.anthropic
    key = settings.api_key.reveal() if settings.api_key else None
    provider = Provider.of(settings.base_url, key, settings.platform, settings.region, settings.project)
    if provider.needs_key and key is None:
        yield report.warning("model server", "model_without_key")
    elif provider.missing:
        yield report.fault("model server", "model_lacks_packages", platform=provider.platform)
    elif provider.fault:
        yield report.fault("model server", "model_address_invalid", reason=provider.fault)
    else:
        yield asyncio.run(_examine(provider, egress, sorted(models), with_models=with_models))


async def _examine(provider: Provider, egress: Egress, models: list[str], *, with_models: bool) -> Finding:
    """Ask with the provider's library: slow to load, but it sees what the service sees."""
    from chatsvc.engines.anthropic.client import Client
    from chatsvc.engines.anthropic.faults import ModelFault

    client = Client(provider, egress)
    url, where = client.url, urlsplit(client.url).netloc
    try:
        try:
            async with asyncio.timeout(WAIT_S):
                await client.probe(models[0])
        except TimeoutError:
            return report.fault("model server", "model_unreachable", where=where, reason="timed out")
        except ModelFault as fault:
            judged = _judged(fault, where, url)
            if judged is not None:
                return judged
        offered: list[str] = []
        with suppress(ModelFault, TimeoutError):  # some local model servers have no list of models, or do not show it
            async with asyncio.timeout(WAIT_S):
                offered = await client.models() if with_models else []
    finally:
        await client.close()
    missing = [model for model in models if model not in offered]
    if offered and missing:
        return report.warning("model server", "model_lacks", url=url, models=missing, offered=offered[:10])
    return report.ok("model server", "model_complete", url=url) if offered else report.ok("model server", "model_good", url=url)


def _judged(fault: ModelFault, where: str, url: str) -> Finding | None:
    """Return what is wrong with a server that answered so; None where it takes the request for its own."""
    cause, status = fault.cause, fault.status
    if isinstance(cause, socket.gaierror | LookupFailed):
        return report.fault("model server", "model_name_unknown", host=urlsplit(url).hostname, reason=cause.strerror or str(cause))
    if isinstance(cause, ssl.SSLCertVerificationError):
        return report.fault("model server", "model_untrusted", where=where, reason=cause.verify_message)
    if status is None:
        why = (cause.strerror if isinstance(cause, OSError) else None) or fault.detail
        return report.fault("model server", "model_unreachable", where=where, reason=why)
    if status in REFUSED_KEY:
        return report.fault("model server", "model_refuses_key", url=url, status=status)
    if status in NO_SUCH_PATH:
        return report.fault("model server", "model_without_interface", url=url, status=status)
    return report.warning("model server", "model_troubled", url=url, status=status) if status >= 500 else None
