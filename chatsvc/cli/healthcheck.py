"""`chatsvc healthcheck`: readiness of the service, for supervisors and load balancers."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from contextlib import closing
from typing import TYPE_CHECKING

import click

from chatsvc.cli.main import load_config
from chatsvc.cli.operations import command, option
from chatsvc.cli.output import show
from chatsvc.domain.errors import CommandError

if TYPE_CHECKING:
    from chatsvc.config import Server

ANYWHERE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # what is listened on, not what is listened to
MOST_SHOWN = 200  # characters of a status: another program may answer there


@command(None, "healthcheck", option("--timeout", "timeout_s", type=click.FloatRange(0.1, 60), default=5.0, show_default=True))
def healthcheck(ctx: click.Context, timeout_s: float, as_json: bool) -> None:
    server = load_config(ctx).server
    if not server.port and server.socket is None:
        raise CommandError("server.listen has port 0, any free one: set a port to check it")
    state = _ask(server, timeout_s)
    show({"status": state}, as_json)
    if state != "ready":
        place = server.socket or f"{server.host or '*'}:{server.port}"
        raise CommandError(f"the service on {place} is not ready: {state}")


class _SocketConnection(http.client.HTTPConnection):
    """HTTP connection over the Unix socket at `path`."""

    path: str

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def _ask(server: Server, timeout_s: float) -> str:
    host = ANYWHERE.get(server.host, server.host)
    connection: http.client.HTTPConnection
    if server.socket is not None:
        connection = _SocketConnection("localhost", timeout=timeout_s)
        connection.path = str(server.socket)
    elif server.speaks_https:
        # The machine's own listener, by its address: the name in its certificate is for callers from outside.
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        connection = http.client.HTTPSConnection(host, server.port, timeout=timeout_s, context=context)
    else:
        connection = http.client.HTTPConnection(host, server.port, timeout=timeout_s)
    with closing(connection):
        try:
            connection.request("GET", "/readyz")
            return str(json.loads(connection.getresponse().read(10_000))["status"])[:MOST_SHOWN]
        except OSError as fault:
            return f"unreachable ({fault.strerror or type(fault).__name__})"
        except (http.client.HTTPException, ValueError, KeyError, TypeError, RecursionError):
            return "something else answers there"
