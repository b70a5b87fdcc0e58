"""Locate, read and interpret the configuration file."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from chatsvc.config import store, values
from chatsvc.config.document import NOTHING, ConfigError, ConfigFault, Node, parse, read_text, why
from chatsvc.config.model import PLATFORM_SETTINGS, SECTIONS, Acme, Anthropic, Config, Notices, Server, Smtp, TeamNotices, Tls
from chatsvc.config.section import Section, Source, keys_of, settings
from chatsvc.domain.channels import PLATFORMS
from chatsvc.domain.plans import Plan, Tier

_FAST_PRICES = {"input_price": 100_000, "output_price": 500_000, "cache_write_price": 125_000, "cache_read_price": 10_000}
PRICES = ("input", "output", "cache_read", "cache_write")
DEFAULT_MODELS = (Tier("offline", "knowledge"), Tier("fast", "anthropic", "claude-haiku-5-5", **_FAST_PRICES))
DEFAULT_PLANS = (
    Plan("free", 1, messages=100, bots=1),
    Plan("starter", 1, messages=1000, bots=3),
    Plan("business", 1, messages=10_000, bots=10, webhooks=True),
    Plan("enterprise", 1, messages=100_000, bots=100, webhooks=True, rest_api=True),
)
# The settings of a plan: reader and default.
_PLAN: Mapping[str, tuple[Callable[[str], Any], Any]] = {
    "version": (values.whole(1, 1_000_000), 1),
    "messages": (values.whole(0, 1_000_000_000), 0),
    "bots": (values.whole(0, 1_000_000), 0),
    "webhooks": (values.flag, False),
    "rest_api": (values.flag, False),
}
_ROOT = (
    *("server", "data_dir", "master_key", "master_key_file", "store", "limits", "engines", "models", "plans", "webhooks"),
    *("website", "channels", "notices", "backup", "retention", "egress", "log", "metrics"),
)
_SERVER_KEYS = ("listen", "public_url", "tls", "acme", "http_listen", *keys_of(Server))
_MAX_SOCKET_PATH = 107  # bytes: the kernel's sockaddr_un
TEAM = "telegram"  # the platform of the team's group
_SMTP_KEYS = ("host", "port", "username", "password", "password_file", "from", "security", "ca_file")
STARTTLS = "starttls"
_SMTP_PORTS = {"tls": 465, STARTTLS: 587, "none": 25}
USUAL = "config.yaml"
DATA_DIR = "data"


class ConfigDocument(NamedTuple):
    """A parsed configuration file. Only `data_dir` and `names_store` are interpreted yet. `path` is None if there is no file.

    `root` has all settings. `data_dir` is the default if the setting is faulty. `names_store` is true if the store is one of several
    processes.
    """

    path: Path | None
    root: Section
    data_dir: Path
    names_store: bool


def locate(option: str | None, environ: Mapping[str, str], cwd: Path) -> Path | None:
    """Return the configuration file: from `option` (-c), $CHATSVC_CONFIG or ./config.yaml. Return None if there is none.

    Raises ConfigError if -c or $CHATSVC_CONFIG names a file that cannot be read.
    """
    named = option if option is not None else environ.get("CHATSVC_CONFIG") or None
    if named is None:
        usual = cwd / USUAL
        return usual if os.path.lexists(usual) else None
    path = cwd / named
    try:
        path.stat()
    except OSError as fault:
        by = "-c" if option is not None else "$CHATSVC_CONFIG"
        raise ConfigError([ConfigFault(str(path), 0, 0, f"the configuration that {by} names cannot be read: {why(fault)}")]) from None
    return path


def load(path: Path | None, environ: Mapping[str, str] = os.environ) -> Config:
    """Read the configuration in `path`, or the defaults if it is None. Raises ConfigError with every fault."""
    return build(read(path, environ))


def read(path: Path | None, environ: Mapping[str, str] = os.environ) -> ConfigDocument:
    """Read and parse a configuration file. Opens no other file; raises ConfigError."""
    source = Source("(no configuration file)", Path.cwd(), environ, [])
    node: Node = NOTHING
    if path is not None:
        source = Source(str(path), path.absolute().parent, environ, [])
        path, node = path.absolute(), parse(read_text(path), source.file)
    root = Section(source, node, "", *_ROOT)
    data_dir = source.folder / root.text("data_dir", values.path, DATA_DIR)
    names_store = Section(source, root.nodes.get("store", NOTHING), "store", *store.KEYS).gives("url")
    return ConfigDocument(path, root, data_dir, names_store)


def build(document: ConfigDocument) -> Config:
    """Interpret the settings and read the files with secrets; raises ConfigError with every fault."""
    root = document.root
    store_section, notices_section = root.section("store", *store.KEYS), root.section("notices", "smtp", TEAM)
    channels = root.section("channels", *PLATFORMS)
    smtp, team = notices_section.section("smtp", *_SMTP_KEYS), notices_section.section(TEAM, *keys_of(TeamNotices))
    anthropic = root.section("engines", "anthropic").section("anthropic", *keys_of(Anthropic))
    secrets = ((root, "master_key"), (store_section, "password"), (anthropic, "api_key"), (smtp, "password"), (team, "token"))
    config = Config(
        path=document.path,
        server=_server(root.section("server", *_SERVER_KEYS)),
        data_dir=document.data_dir,
        master_key=root.secret("master_key", values.master_key, "${CHATSVC_MASTER_KEY}"),
        anthropic=_anthropic(anthropic),
        models=_models(root),
        plans=_plans(root),
        channels={
            name: channels.section(name, server.option).text(server.option, values.base_url, server.url)
            for name, server in PLATFORMS.items()
        },
        notices=Notices(_smtp(smtp), _team(team)),
        egress=root.text("egress", values.one_of("all", "none"), "all"),
        store=store.read(store_section),
        path_holds_secrets=any(section.writes_out(key) for section, key in secrets),
        **{name: settings(kind, root.section(name, *keys_of(kind))) for name, kind in SECTIONS.items()},
    )
    if root.source.faults:
        raise ConfigError(root.source.faults)
    return config


def _anthropic(section: Section) -> Anthropic:
    read = settings(Anthropic, section)
    needed = PLATFORM_SETTINGS.get(read.platform, ())
    for key in needed:
        if not section.gives(key):
            section.refuse(f"expected {key} beside it", "platform")
    keys = ("api_key", "api_key_file")
    for key in ("region", "project", *(keys if read.platform == "vertex" else ())):
        if section.gives(key) and key not in needed:
            section.refuse(f"not for the platform {read.platform}", key)
    if read.platform in ("bedrock", "vertex") and not any(map(section.gives, keys)):
        return replace(read, api_key=None)  # the default is the variable of Anthropic's own key
    return read


def _models(root: Section) -> Mapping[str, Tier]:
    if not root.gives("models"):
        return {tier.name: tier for tier in DEFAULT_MODELS}
    keys = [f"{kind}_usd_per_mtok" for kind in PRICES]
    return {name: _tier(name, section, keys) for name, section in root.sections("models", values.name, "engine", "model", *keys)}


def _tier(name: str, section: Section, keys: Sequence[str]) -> Tier:
    engine = section.text("engine", values.one_of("knowledge", "anthropic"), "")
    if not engine and "engine" not in section.nodes:
        section.refuse("expected engine: knowledge or engine: anthropic")
    if engine != "anthropic":
        for key in ("model", *keys) if engine else ():
            if section.gives(key):
                section.refuse("not for the knowledge engine, which has no model and costs nothing", key)
        return Tier(name, engine)
    if "model" not in section.nodes:
        section.refuse("expected model: the name of one of the provider's models")
    price = section.plain("input_usd_per_mtok", values.usd, 0)
    return Tier(
        name,
        engine,
        section.text("model", values.line, ""),
        input_price=price,
        output_price=section.plain("output_usd_per_mtok", values.usd, 0),
        cache_read_price=section.plain("cache_read_usd_per_mtok", values.usd, (price + 5) // 10),
        cache_write_price=section.plain("cache_write_usd_per_mtok", values.usd, (price * 5 + 2) // 4),
    )


def _plans(root: Section) -> Mapping[str, Plan]:
    if not root.gives("plans"):
        return {plan.name: plan for plan in DEFAULT_PLANS}
    plans = {}
    for name, section in root.sections("plans", values.plan_name, *_PLAN):
        for key in ("messages", "bots"):
            if key not in section.nodes:
                section.refuse(f"expected {key}")
        plans[name] = Plan(name, **{key: section.plain(key, read, default) for key, (read, default) in _PLAN.items()})
    return plans


def _server(section: Section) -> Server:
    default: tuple[str, int] | str = ("127.0.0.1", 8080)
    listen = section.text("listen", values.listen, default)
    host, port = ("", 0) if isinstance(listen, str) else listen
    socket = section.source.folder / listen if isinstance(listen, str) else None
    tls = _tls(section.section("tls", "cert_file", "key_file"))
    acme = _acme(section.section("acme", *keys_of(Acme)))
    http = section.text("http_listen", values.host_and_port, None)
    encrypted = tls is not None or acme is not None
    if acme and tls:
        section.refuse("expected either tls or acme, not both: certificates come from files or from an authority", "acme")
    if http and not encrypted:
        section.refuse("expected tls or acme beside it: without them there is no https to lead to", "http_listen")
    if http and http == (host, port) and port:
        section.refuse("expected another address than that of listen", "http_listen")
    if socket is not None:
        _check_socket(section, len(str(socket).encode()), encrypted=encrypted)
    public_url = section.text("public_url", values.origin, None) or values.url_of(acme.domains[0] if acme else host, port, tls=encrypted)
    if http and section.gives("public_url") and not public_url.startswith("https:"):
        section.refuse("expected https:// where http_listen leads callers there", "public_url")
    return settings(Server, section, host=host, port=port, public_url=public_url, tls=tls, socket=socket, http=http, acme=acme)


def _check_socket(section: Section, length: int, *, encrypted: bool) -> None:
    if length > _MAX_SOCKET_PATH:
        section.refuse(f"expected a shorter path: with its folder, the name of a socket has at most {_MAX_SOCKET_PATH} bytes", "listen")
    if encrypted:
        section.refuse("expected an address and a port where the service speaks https itself, not a socket", "listen")
    if not section.gives("public_url"):
        section.refuse("expected public_url beside it: how callers reach the proxy in front of the socket", "listen")


def _tls(section: Section) -> Tls | None:
    cert, key = section.file("cert_file"), section.file("key_file")
    for name, other in (("cert_file", "key_file"), ("key_file", "cert_file")):
        section.need(name, [other], f"expected {other} beside it: TLS needs both files, or neither")
    return Tls(cert, key) if cert and key else None


def _acme(section: Section) -> Acme | None:
    acme = settings(Acme, section)
    for key in ("email", "ca_file"):
        section.need(key, ["domains"], "expected domains beside it: the names to have certificates for")
    return replace(acme, domains=tuple(dict.fromkeys(acme.domains))) if acme.domains else None


def _team(section: Section) -> TeamNotices | None:
    """Read the settings of notices to the team's group. Return None if they have no `chat_id`."""
    team = settings(TeamNotices, section)
    section.need("chat_id", ["token", "token_file"], "expected token_file beside it: the file with the bot's token")
    key = "token_file" if section.gives("token_file") else "token"
    section.need(key, ["chat_id"], "expected chat_id beside it: the number of the team's group")
    return team if section.gives("chat_id") and team.chat_id is not None else None


def _smtp(section: Section) -> Smtp | None:
    """Read the settings for sending mails. Return None if they have no `host`."""
    host = section.text("host", values.host, None)
    security = section.text("security", values.one_of(*_SMTP_PORTS), STARTTLS)
    port = section.plain("port", values.whole(1, 65535), None)
    username = section.text("username", values.login, None)
    password = section.secret("password", values.login)
    sender = section.text("from", values.mailbox, None)
    ca_file = section.file("ca_file")
    if not section.gives("host"):
        for key in ("username", "password", "password_file", "from"):
            if section.gives(key):
                section.refuse("expected host beside it: the server that takes the mails", key)
                break
        return None
    if not section.gives("from"):
        section.refuse("expected from beside it: the sender's address, such as Support <support@example.com>", "host")
    for key, others in (("username", ("password", "password_file")), ("password", ("username",)), ("password_file", ("username",))):
        section.need(key, others, f"expected {' or '.join(others)} beside it")
    if host is None or sender is None:
        return None
    return Smtp(host, port or _SMTP_PORTS[security], username, password, *sender, security, ca_file)
