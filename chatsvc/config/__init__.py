"""Configuration (DECISIONS.md section 3). YAML to frozen dataclasses, with file, line and column of every fault."""

from chatsvc.config.faults import ConfigError, ConfigFault
from chatsvc.config.load import ConfigDocument, build, load, locate, read
from chatsvc.config.model import (
    Acme,
    Anthropic,
    Backups,
    Config,
    Limits,
    Log,
    Metrics,
    PostgresSettings,
    Retention,
    Secret,
    Server,
    Tls,
    Webhooks,
    Websites,
)

__all__ = [
    "Acme",
    "Anthropic",
    "Backups",
    "Config",
    "ConfigDocument",
    "ConfigError",
    "ConfigFault",
    "Limits",
    "Log",
    "Metrics",
    "PostgresSettings",
    "Retention",
    "Secret",
    "Server",
    "Tls",
    "Webhooks",
    "Websites",
    "build",
    "load",
    "locate",
    "read",
]
