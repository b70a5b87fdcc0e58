"""The configuration in force in the shape of its file, with defaults filled in and secrets masked."""

import dataclasses
from typing import Any

import yaml

from chatsvc.config.load import PRICES, STARTTLS, TEAM
from chatsvc.config.model import DEFAULT_CONNECTIONS, Acme, Config, Server, Smtp, TeamNotices, Tls
from chatsvc.config.values import Secret
from chatsvc.domain.channels import PLATFORMS
from chatsvc.domain.plans import Tier

MASK = "***"


def as_document(config: Config) -> dict[str, Any]:
    """Return all settings under their names in the file."""
    store, notices = config.store, config.notices
    return {
        "server": _server(config.server),
        "data_dir": str(config.data_dir),
        "master_key": _value(config.master_key),
        "store": {
            "url": store.url if store else None,
            "password": _value(store.password) if store else None,
            "connections": store.connections if store else DEFAULT_CONNECTIONS,
        },
        "limits": _fields(config.limits),
        "engines": {"anthropic": _fields(config.anthropic)},
        "models": {name: _tier(tier) for name, tier in config.models.items()},
        "plans": {name: dict(list(plan._asdict().items())[1:]) for name, plan in config.plans.items()},
        **{name: _fields(getattr(config, name)) for name in ("webhooks", "website")},
        "channels": {name: {server.option: config.channels[name]} for name, server in PLATFORMS.items()},
        "notices": {"smtp": _smtp(notices.smtp), TEAM: _fields(notices.team or TeamNotices, "token", "chat_id")},
        "backup": {"every": _interval(config.backup.every_s), "folder": str(config.backup.folder), "keep": config.backup.keep},
        "retention": _fields(config.retention),
        "egress": config.egress,
        "log": _fields(config.log),
        "metrics": {"listen": _host_and_port(*config.metrics.listen) if config.metrics.listen else None},
    }


def _fields(settings: Any, *names: str) -> dict[str, Any]:
    """Return the fields of settings by name. If `settings` is a class, the section is missing and each field is None."""
    shown = names or [field.name for field in dataclasses.fields(settings)]
    return dict.fromkeys(shown) if isinstance(settings, type) else {name: _value(getattr(settings, name)) for name in shown}


def _value(value: Any) -> Any:
    """Return a value in a form for JSON. A secret becomes the mask."""
    if isinstance(value, tuple):
        return [_value(item) for item in value]
    if isinstance(value, Secret):
        return MASK
    return value if isinstance(value, str | int | float | None) else str(value)


def _smtp(smtp: Smtp | None) -> dict[str, Any]:
    if smtp is None:
        return {**dict.fromkeys(("host", "port", "username", "password", "from")), "security": STARTTLS, "ca_file": None}
    sender = f"{smtp.sender_name} <{smtp.sender}>" if smtp.sender_name else smtp.sender
    named = _fields(smtp, "host", "port", "username", "password")
    return {**named, "from": sender, **_fields(smtp, "security", "ca_file")}


def _server(server: Server) -> dict[str, Any]:
    return {
        "listen": f"unix:{server.socket}" if server.socket else _host_and_port(server.host, server.port),
        "public_url": server.public_url,
        "tls": _fields(server.tls or Tls, "cert_file", "key_file"),
        "acme": _fields(server.acme or Acme()),
        "http_listen": _host_and_port(*server.http) if server.http else None,
        **_fields(server, "hsts_s", "trusted_proxies", "dashboard"),
    }


def _host_and_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def as_yaml(document: dict[str, Any]) -> str:
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


def _interval(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    size, unit = next((size, unit) for size, unit in ((86400, "d"), (3600, "h"), (60, "m")) if seconds % size == 0)
    return f"{int(seconds) // size}{unit}"


def _tier(tier: Tier) -> dict[str, Any]:
    if tier.engine == "knowledge":
        return {"engine": tier.engine}
    prices = {f"{kind}_usd_per_mtok": getattr(tier, f"{kind}_price") / 1_000_000 for kind in PRICES}
    return {"engine": tier.engine, "model": tier.model, **prices}
