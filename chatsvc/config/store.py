"""Reader of the section `store`, which names PostgreSQL instead of the SQLite file in the data folder."""

import re
from dataclasses import replace
from pathlib import Path

from chatsvc.config import values
from chatsvc.config.model import DEFAULT_CONNECTIONS, PostgresSettings
from chatsvc.config.section import Section
from chatsvc.config.values import Secret

KEYS = ("url", "password", "password_file", "connections")
# A process writes with one connection, counts requests with another, hears notices with a third, and reads with at least two.
LEAST_CONNECTIONS = 5
_URL = re.compile(r"postgresql://([^:@/?#\s]+)(:[^@/?#]*)?@([^@/?#\s]*)/([^:@/?#\s]+)(?:\?([^?#\s]+))?")
_HOST = re.compile(r"(?:\[([^\[\]]+)\]|([^:\[\]]*))(?::([0-9]{1,5}))?")
_MODES = ("disable", "require", "verify-ca", "verify-full")
_FILES = ("sslrootcert", "sslcert", "sslkey")
_PARAMETERS = ("host", "sslmode", "target_session_attrs", *_FILES)
# The service writes: no other kind of host can serve it.
_TARGETS = ("primary", "read-write")
_PORT = "5432"


def settings(url: str, password: str) -> PostgresSettings:
    """Make settings from an address and a password, which may be empty; raises ValueError.

    Relative paths of files are resolved from the working directory.
    """
    return _in_folder(_address(url), Path.cwd(), Secret(password) if password else None)


def _in_folder(address: PostgresSettings, folder: Path, password: Secret | None) -> PostgresSettings:
    files = {name: str(folder / value) for name, value in address.parameters.items() if name in _FILES}
    return replace(address, parameters={**address.parameters, **files}, password=password)


def read(section: Section) -> PostgresSettings | None:
    address = section.text("url", _address, None)
    password = section.secret("password", values.login)
    connections = section.plain("connections", values.whole(LEAST_CONNECTIONS, 1000), DEFAULT_CONNECTIONS)
    for key in ("password", "password_file"):
        section.need(key, ["url"], "expected url beside it: the address of the database")
    return replace(_in_folder(address, section.source.folder, password), connections=connections) if address else None


def _address(text: str) -> PostgresSettings:
    """Parse postgresql://USER@HOST[:PORT]/DATABASE into parameters of libpq. There may be several hosts, separated by commas."""
    match = _URL.fullmatch(text)
    if match is None or not text.isascii() or not text.isprintable():
        raise ValueError("expected postgresql://USER@HOST:PORT/DATABASE, such as postgresql://chatsvc@db.example.com/chatsvc")
    user, password, addresses, database, query = match.groups()
    if password is not None:
        raise ValueError("expected a URL without a password: give that with password or password_file beside it")

    from urllib.parse import unquote

    parameters = _parameters(query)
    if not addresses:
        if "host" not in parameters:
            raise ValueError("expected a host, or the folder of a Unix socket: postgresql://USER@/DATABASE?host=/run/postgresql")
        hosts, ports = parameters["host"], _PORT
    elif "host" in parameters:
        raise ValueError("expected one host, not another one after the question mark")
    else:
        hosts, ports = _hosts_and_ports(addresses)
    chosen = {**parameters, "host": hosts, "port": ports, "user": unquote(user), "dbname": unquote(database)}
    return PostgresSettings(text, chosen, None)


def _hosts_and_ports(addresses: str) -> tuple[str, str]:
    hosts = []
    for address in addresses.split(","):
        match = _HOST.fullmatch(address)
        if match is None or not 1 <= int(match[3] or _PORT) <= 65535:
            raise ValueError('expected HOST or HOST:PORT, such as db.example.com:5432 or "[::1]:5432", several with commas between them')
        hosts.append((values.host(match[1] or match[2]), match[3] or _PORT))
    return ",".join(host for host, _ in hosts), ",".join(port for _, port in hosts)


def _parameters(query: str | None) -> dict[str, str]:
    from urllib.parse import unquote

    parameters: dict[str, str] = {}
    for pair in query.split("&") if query else ():
        name, _, value = pair.partition("=")
        if name not in _PARAMETERS or name in parameters or not value:
            raise ValueError(f"expected of the parameters {', '.join(_PARAMETERS)}, each once and with a value")
        parameters[name] = unquote(value)
    if parameters.get("sslmode", _MODES[0]) not in _MODES:
        raise ValueError(f"expected sslmode to be {', '.join(_MODES[:-1])} or {_MODES[-1]}")
    if parameters.get("target_session_attrs", _TARGETS[0]) not in _TARGETS:
        raise ValueError(f"expected target_session_attrs to be {' or '.join(_TARGETS)}")
    if not parameters.get("host", "/").startswith("/"):
        raise ValueError("expected the folder of a Unix socket in host=, such as /run/postgresql")
    if ("sslcert" in parameters) != ("sslkey" in parameters):
        raise ValueError("expected sslcert and sslkey together, or neither")
    return parameters
