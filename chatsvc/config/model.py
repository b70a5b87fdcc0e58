"""Settings of the configuration, as frozen dataclasses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from chatsvc.config import values
from chatsvc.config.section import Section
from chatsvc.config.values import Secret
from chatsvc.domain.plans import Plan, Tier

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network


LETS_ENCRYPT = "https://acme-v02.api.letsencrypt.org/directory"
MOST_DAYS = 36_500
T = TypeVar("T")


def setting(
    default: T, read: Callable[[str], object], how: Callable[..., object] = Section.plain, *, key: str = "", otherwise: str = ""
) -> T:
    """Declare a setting: its default, the reader of its text, the method that reads it from its section, and its key in the file.

    `otherwise` is the text of a secret if the file does not contain it.
    """
    return field(default=default, metadata={"read": read, "how": how, "key": key, "otherwise": otherwise})


@dataclass(frozen=True)
class Tls:
    """Paths of the certificate with its chain, and of its key. The files are PEM."""

    cert_file: Path
    key_file: Path


@dataclass(frozen=True)
class Acme:
    """Settings for certificates by ACME: domains, contact address, directory URL, extra CA file."""

    domains: tuple[str, ...] = setting((), values.domain, Section.texts)
    email: str | None = setting(None, values.email, Section.text)
    directory: str = setting(LETS_ENCRYPT, values.https_url, Section.text)
    ca_file: Path | None = setting(None, values.path, Section.file)


@dataclass(frozen=True)
class Server:
    """Addresses of the listeners. `host` "" means every interface, `port` 0 any free port. The path `socket` replaces host and port.

    `public_url` is the address that callers use. `http` is the listener that redirects plain http to https, and `hsts_s` is for how long
    browsers use https only. Forwarded addresses are accepted from `trusted_proxies` alone. `dashboard` switches the pages on.
    """

    host: str
    port: int
    public_url: str
    tls: Tls | None
    socket: Path | None = None
    http: tuple[str, int] | None = None
    acme: Acme | None = None
    hsts_s: int = setting(31_536_000, values.whole(0, 315_360_000))
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = setting((), values.network, Section.texts)
    dashboard: bool = setting(True, values.flag)

    @property
    def speaks_https(self) -> bool:
        """Return whether the service itself terminates TLS."""
        return self.tls is not None or self.acme is not None


@dataclass(frozen=True)
class Limits:
    """Limits on load: requests a minute for each API key, requests in flight, and connections without a valid key.

    `connections_per_address` holds for an IPv4 address or an IPv6 /64 network. `web_per_minute` limits messages of the widget for each
    bot and address. `web_daily` limits new conversations of the widget for each bot in a day.
    """

    requests_per_minute: int = setting(120, values.whole(1, 1_000_000))
    max_in_flight: int = setting(512, values.whole(1, 100_000))
    connections: int = setting(1000, values.whole(1, 100_000))
    connections_per_address: int = setting(100, values.whole(1, 100_000))
    web_per_minute: int = setting(20, values.whole(1, 1_000_000))
    web_daily: int = setting(1000, values.whole(0, 100_000_000))


PLATFORM_SETTINGS = {"foundry": ("base_url",), "bedrock": ("region",), "vertex": ("region", "project")}
"""Settings that a platform needs."""


@dataclass(frozen=True)
class Anthropic:
    """The server that speaks the Anthropic Messages API. Without a key, its tiers answer `not_configured`.

    Bedrock and Vertex need no key and use the credentials of the machine. `region` is for Bedrock and Vertex, `project` for Vertex.
    """

    platform: str = setting("anthropic", values.one_of("anthropic", *PLATFORM_SETTINGS), Section.text)
    region: str | None = setting(None, values.line, Section.text)
    project: str | None = setting(None, values.line, Section.text)
    base_url: str = setting("https://api.anthropic.com", values.base_url, Section.text)
    api_key: Secret | None = setting(None, values.key, Section.secret, otherwise="${ANTHROPIC_API_KEY}")
    timeout_s: float = setting(30.0, values.seconds(600))
    max_retries: int = setting(0, values.whole(0, 10))


@dataclass(frozen=True)
class Webhooks:
    """Webhook delivery. `timeout_s` limits a whole delivery. `allowed_networks` may be private. `ca_file` has extra root certificates."""

    timeout_s: float = setting(10.0, values.seconds(60))
    allowed_networks: tuple[IPv4Network | IPv6Network, ...] = setting((), values.network, Section.texts)
    ca_file: Path | None = setting(None, values.path, Section.file)


@dataclass(frozen=True)
class Websites:
    """Reading of websites. `allowed_networks` may be private networks. `ca_file` has extra root certificates."""

    allowed_networks: tuple[IPv4Network | IPv6Network, ...] = setting((), values.network, Section.texts)
    ca_file: Path | None = setting(None, values.path, Section.file)


@dataclass(frozen=True)
class Smtp:
    """The mail server, and the sender of mails. `security` is tls, starttls or none. `ca_file` has extra root certificates."""

    host: str
    port: int
    username: str | None
    password: Secret | None
    sender_name: str
    sender: str
    security: str
    ca_file: Path | None


@dataclass(frozen=True)
class TeamNotices:
    """The team's group on a platform. If the environment variable of the token is not set, there is no token and no message is sent."""

    token: Secret | None = setting(None, values.team_token, Section.secret)
    chat_id: int = setting(cast("int", None), values.whole(-(10**15), 10**15), Section.text)  # without it, Notices.team is None


@dataclass(frozen=True)
class Notices:
    """Ways in which operators are notified of visitors and faults. A field is None if that way is not configured."""

    smtp: Smtp | None = None
    team: TeamNotices | None = None


@dataclass(frozen=True)
class Backups:
    """Scheduled backups: interval in seconds (None: never), folder, and number of backups kept."""

    every_s: float | None = setting(None, values.interval, Section.text, key="every")
    folder: Path = setting(Path("backups"), values.path, Section.file)
    keep: int = setting(7, values.whole(1, 1000))


@dataclass(frozen=True)
class Retention:
    """Days after which conversations, webhook events and usage records are deleted. None means never."""

    conversations_days: int | None = setting(None, values.whole(1, MOST_DAYS), Section.text)
    webhooks_days: int | None = setting(None, values.whole(1, MOST_DAYS), Section.text)
    usage_days: int | None = setting(None, values.whole(90, MOST_DAYS), Section.text)  # GET /analytics looks back as far


@dataclass(frozen=True)
class Log:
    """Settings of the log. `format` is text, json, or auto (text in a terminal). If `access` is true, each request is logged."""

    format: str = setting("auto", values.one_of("auto", "text", "json"), Section.text)
    level: str = setting("info", values.one_of("info", "warning", "error"), Section.text)
    access: bool = setting(False, values.flag)


@dataclass(frozen=True)
class Metrics:
    """Address of the metrics listener: host ("" is every interface) and port. It is None if there is no listener."""

    listen: tuple[str, int] | None = setting(None, values.host_and_port, Section.text)


DEFAULT_CONNECTIONS = 10


@dataclass(frozen=True)
class PostgresSettings:
    """PostgreSQL as the store, with URL and parameters of libpq. A process opens at most `connections` connections to serve."""

    url: str
    parameters: Mapping[str, str]
    password: Secret | None
    connections: int = DEFAULT_CONNECTIONS


# Sections that are read and shown as they are declared.
SECTIONS: dict[str, Any] = {
    "limits": Limits,
    "webhooks": Webhooks,
    "website": Websites,
    "backup": Backups,
    "retention": Retention,
    "log": Log,
    "metrics": Metrics,
}


@dataclass(frozen=True)
class Config:
    """The whole configuration. `path` is its file, or None if there is none and everything has its default.

    `channels` are the addresses of the platforms' servers. `store` is None if the store is SQLite. `egress` is "none" if the service
    itself may open no connection, else "all". `path_holds_secrets` is true if the file itself contains a secret.
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
    channels: Mapping[str, str]
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
        """Return the configured master key, or None if it is in a file of the data folder."""
        return bytes.fromhex(self.master_key.reveal()) if self.master_key else None
