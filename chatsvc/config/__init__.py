"""Configuration (DECISIONS.md section 3): YAML to frozen dataclasses, with file, line and column of every fault."""

from chatsvc.config.faults import ConfigError, Fault
from chatsvc.config.load import Document, build, load, locate, read
from chatsvc.config.model import Acme, Anthropic, Backups, Config, Limits, Log, Metrics, Retention, Secret, Server, Tls, Webhooks

__all__ = [
    "Acme",
    "Anthropic",
    "Backups",
    "Config",
    "ConfigError",
    "Document",
    "Fault",
    "Limits",
    "Log",
    "Metrics",
    "Retention",
    "Secret",
    "Server",
    "Tls",
    "Webhooks",
    "build",
    "load",
    "locate",
    "read",
]
