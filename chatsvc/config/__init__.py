"""Configuration. YAML to frozen dataclasses, with file, line and column of every fault."""

from chatsvc.config.document import ConfigError, ConfigFault
from chatsvc.config.load import ConfigDocument, build, load, locate, read
from chatsvc.config.model import Acme, Backups, Config, Limits, Log, Metrics, PostgresSettings, Retention, Secret, Server, Tls

__all__ = [
    "Acme",
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
    "build",
    "load",
    "locate",
    "read",
]
