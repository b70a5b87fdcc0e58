"""The configuration as it is in force, in the shape of its file, for people to look at: defaults filled in, secrets masked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from chatsvc.config.model import Config
from chatsvc.domain.pricing import Tier

MASK = "***"


def as_document(config: Config) -> dict[str, Any]:
    """All settings under the names that the file gives them."""
    server, limits, anthropic, webhooks = config.server, config.limits, config.anthropic, config.webhooks
    tls = server.tls
    host = f"[{server.host}]" if ":" in server.host else server.host
    return {
        "server": {
            "listen": f"{host}:{server.port}",
            "public_url": server.public_url,
            "tls": {"cert_file": str(tls.cert_file) if tls else None, "key_file": str(tls.key_file) if tls else None},
        },
        "data_dir": str(config.data_dir),
        "master_key": MASK if config.master_key else None,
        "limits": {"requests_per_minute": limits.requests_per_minute, "max_in_flight": limits.max_in_flight},
        "engines": {
            "anthropic": {
                "base_url": anthropic.base_url,
                "api_key": MASK if anthropic.api_key else None,
                "timeout_s": anthropic.timeout_s,
                "max_retries": anthropic.max_retries,
            }
        },
        "models": {name: _tier(tier) for name, tier in config.models.items()},
        "plans": {name: dict(list(plan._asdict().items())[1:]) for name, plan in config.plans.items()},
        "webhooks": {
            "timeout_s": webhooks.timeout_s,
            "allowed_networks": [str(network) for network in webhooks.allowed_networks],
            "ca_file": str(webhooks.ca_file) if webhooks.ca_file else None,
        },
    }


def as_yaml(document: Mapping[str, Any]) -> str:
    """The text of a file that says the same."""
    return yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True)


def _tier(tier: Tier) -> dict[str, Any]:
    if tier.engine == "knowledge":
        return {"engine": tier.engine}
    prices = {
        "input_usd_per_mtok": tier.input_price,
        "output_usd_per_mtok": tier.output_price,
        "cache_read_usd_per_mtok": tier.cache_read_price,
        "cache_write_usd_per_mtok": tier.cache_write_price,
    }
    return {"engine": tier.engine, "model": tier.model, **{name: price / 1_000_000 for name, price in prices.items()}}
