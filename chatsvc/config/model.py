"""Settings of the configuration, as frozen dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from chatsvc.domain.plans import Plan
from chatsvc.domain.pricing import Tier

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network


@final
class Secret:
    """A non-empty text that only `reveal` returns; printing it shows `***`."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        if not text:
            raise ValueError("a secret is not empty")
        self._text = text

    def reveal(self) -> str:
        """Return the text."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(***)"

    def __str__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, Secret) else NotImplemented

    def __hash__(self) -> int:
        return hash((Secret, self._text))


@dataclass(frozen=True)
class Tls:
    """The certificate (with its chain) and its key, PEM."""

    cert_file: Path
    key_file: Path


@dataclass(frozen=True)
class Acme:
    """Settings for certificates by ACME: domains, contact address, directory URL, extra CA file."""

    domains: tuple[str, ...]
    email: str | None
    directory: str
    ca_file: Path | None


@dataclass(frozen=True)
class Server:
    """Addresses of the listeners. `host` "" is every interface, `port` 0 any free port; `socket` is a path and replaces both.

    `public_url` is how its callers reach it. `http` is where plain http is led to https, `hsts_s` for how long browsers are told
    to speak https alone, `trusted_proxies` are believed when they say for whom they ask, and `dashboard` switches the pages on.
    """

    host: str
    port: int
    public_url: str
    tls: Tls | None
    socket: Path | None = None
    http: tuple[str, int] | None = None
    acme: Acme | None = None
    hsts_s: int = 31_536_000
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    dashboard: bool = True

    @property
    def speaks_https(self) -> bool:
        """Return whether the service itself terminates TLS."""
        return self.tls is not None or self.acme is not None


@dataclass(frozen=True)
class Limits:
    """Limits on load. Requests a minute for each API key, requests in flight, and connections that have shown no valid key.

    `connections_per_address` holds for an IPv4 address or an IPv6 /64 network. `web_per_minute` is the number of messages of the widget
    for each bot and address, `web_daily` that of a bot's new conversations in a day.
    """

    requests_per_minute: int
    max_in_flight: int
    connections: int
    connections_per_address: int
    web_per_minute: int
    web_daily: int


@dataclass(frozen=True)
class Anthropic:
    """The server that speaks the Anthropic Messages API; without a key its tiers answer `not_configured`."""

    base_url: str
    api_key: Secret | None
    timeout_s: float
    max_retries: int


@dataclass(frozen=True)
class Webhooks:
    """Webhook delivery. `timeout_s` limits a whole delivery, `allowed_networks` may be private, `ca_file` adds roots."""

    timeout_s: float
    allowed_networks: tuple[IPv4Network | IPv6Network, ...]
    ca_file: Path | None


@dataclass(frozen=True)
class Websites:
    """Reading of websites. `allowed_networks` may be private, `ca_file` adds roots."""

    allowed_networks: tuple[IPv4Network | IPv6Network, ...]
    ca_file: Path | None


@dataclass(frozen=True)
class Channels:
    """Addresses of the messaging platforms."""

    telegram_api_url: str
    whatsapp_graph_url: str


@dataclass(frozen=True)
class Smtp:
    """The server that takes mails, and the sender. `security` is tls, starttls or none, `ca_file` adds roots."""

    host: str
    port: int
    username: str | None
    password: Secret | None
    sender_name: str
    sender: str
    security: str
    ca_file: Path | None


@dataclass(frozen=True)
class TelegramNotices:
    """The team's group at Telegram: token of the bot that writes there, and number of the chat.

    No token where its environment variable is not set: nobody is told then.
    """

    token: Secret | None
    chat_id: int


@dataclass(frozen=True)
class Notices:
    """How operators are told of visitors and faults; None: not by mail, not at Telegram."""

    smtp: Smtp | None = None
    telegram: TelegramNotices | None = None


@dataclass(frozen=True)
class Backups:
    """Scheduled backups: interval in seconds (None: never), folder, and number of backups kept."""

    every_s: float | None
    folder: Path
    keep: int


@dataclass(frozen=True)
class Retention:
    """After how many days conversations, webhook events and usage records go; None: they stay."""

    conversations_days: int | None
    webhooks_days: int | None
    usage_days: int | None


@dataclass(frozen=True)
class Log:
    """`format` is text, json, or auto: text in a terminal. `level` is info, warning or error; `access` writes a line a request."""

    format: str
    level: str
    access: bool


@dataclass(frozen=True)
class Metrics:
    """Address of the metrics listener: host ("" is every interface) and port; None: no listener."""

    listen: tuple[str, int] | None


DEFAULT_CONNECTIONS = 10


@dataclass(frozen=True)
class PostgresSettings:
    """PostgreSQL as the store: its URL, which holds no password, the same as parameters of libpq, and the password.

    `connections` is the most that a process opens to serve.
    """

    url: str
    parameters: Mapping[str, str]
    password: Secret | None
    connections: int = DEFAULT_CONNECTIONS


@dataclass(frozen=True)
class Config:
    """The whole configuration. `path` is its file; None: there is none, and everything has its default.

    `store` is None where the store is SQLite. `egress` is "all", or "none" where the service itself may open no connection.
    `path_holds_secrets`: a secret stands in the file itself, not in a file of its own or in the environment.
    """

    path: Path | None
    server: Server
    data_dir: Path
    master_key: Secret | None
    limits: Limits
    anthropic: Anthropic
    models: Mapping[str, Tier]
    plans: Mapping[str, Plan]
    webhooks: Webhooks
    website: Websites
    channels: Channels
    notices: Notices
    backup: Backups
    retention: Retention
    egress: str
    log: Log
    metrics: Metrics
    store: PostgresSettings | None = None
    path_holds_secrets: bool = False

    @property
    def given_master_key(self) -> bytes | None:
        """Return the configured master key; None where it is a file in the data folder."""
        return bytes.fromhex(self.master_key.reveal()) if self.master_key else None
