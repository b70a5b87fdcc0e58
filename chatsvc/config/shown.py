"""Effective configuration in the shape of its file, with defaults filled in and secrets masked."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import yaml

from chatsvc.config.model import DEFAULT_CONNECTIONS, Acme, Config, Server, Smtp, TelegramNotices
from chatsvc.config.notices import STARTTLS
from chatsvc.config.server import LETS_ENCRYPT
from chatsvc.domain.pricing import Tier

MASK = "***"


def as_document(config: Config) -> dict[str, Any]:
    """Return all settings under their names in the file."""
    server, limits, anthropic, webhooks = config.server, config.limits, config.anthropic, config.webhooks
    return {
        "server": _server(server),
        "data_dir": str(config.data_dir),
        "master_key": MASK if config.master_key else None,
        "store": {
            "url": config.store.url if config.store else None,
            "password": MASK if config.store and config.store.password else None,
            "connections": config.store.connections if config.store else DEFAULT_CONNECTIONS,
        },
        "limits": {
            "requests_per_minute": limits.requests_per_minute,
            "max_in_flight": limits.max_in_flight,
            "connections": limits.connections,
            "connections_per_address": limits.connections_per_address,
            "web_per_minute": limits.web_per_minute,
            "web_daily": limits.web_daily,
        },
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
        "website": {
            "allowed_networks": [str(network) for network in config.website.allowed_networks],
            "ca_file": str(config.website.ca_file) if config.website.ca_file else None,
        },
        "channels": {
            "telegram": {"api_url": config.channels.telegram_api_url},
            "whatsapp": {"graph_url": config.channels.whatsapp_graph_url},
        },
        "notices": {"smtp": _smtp(config.notices.smtp), "telegram": _telegram(config.notices.telegram)},
        "backup": {"every": _interval(config.backup.every_s), "folder": str(config.backup.folder), "keep": config.backup.keep},
        "retention": dataclasses.asdict(config.retention),
        "egress": config.egress,
        "log": {"format": config.log.format, "level": config.log.level, "access": config.log.access},
        "metrics": {"listen": _place(*config.metrics.listen) if config.metrics.listen else None},
    }


def _smtp(smtp: Smtp | None) -> dict[str, Any]:
    if smtp is None:
        return {**dict.fromkeys(("host", "port", "username", "password", "from")), "security": STARTTLS, "ca_file": None}
    return {
        "host": smtp.host,
        "port": smtp.port,
        "username": smtp.username,
        "password": MASK if smtp.password else None,
        "from": f"{smtp.sender_name} <{smtp.sender}>" if smtp.sender_name else smtp.sender,
        "security": smtp.security,
        "ca_file": str(smtp.ca_file) if smtp.ca_file else None,
    }


def _telegram(team: TelegramNotices | None) -> dict[str, Any]:
    return {"token": MASK if team and team.token else None, "chat_id": team.chat_id if team else None}


def _server(server: Server) -> dict[str, Any]:
    tls, acme = server.tls, server.acme or Acme((), None, LETS_ENCRYPT, None)
    return {
        "listen": f"unix:{server.socket}" if server.socket else _place(server.host, server.port),
        "public_url": server.public_url,
        "tls": {"cert_file": str(tls.cert_file) if tls else None, "key_file": str(tls.key_file) if tls else None},
        "acme": {
            "domains": list(acme.domains),
            "email": acme.email,
            "directory": acme.directory,
            "ca_file": str(acme.ca_file) if acme.ca_file else None,
        },
        "http_listen": _place(*server.http) if server.http else None,
        "hsts_s": server.hsts_s,
        "trusted_proxies": [str(network) for network in server.trusted_proxies],
        "dashboard": server.dashboard,
    }


def _place(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def as_yaml(document: Mapping[str, Any]) -> str:
    """Return the settings as YAML."""
    return yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True)


def _interval(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    size, unit = next((size, unit) for size, unit in ((86400, "d"), (3600, "h"), (60, "m")) if seconds % size == 0)
    return f"{int(seconds) // size}{unit}"


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
