"""`chatsvc doctor`: check the installation, and print each fault with its remedy. `chatsvc healthcheck`: readiness, for supervisors."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import click

from chatsvc.cli.operations import command, option
from chatsvc.cli.output import counted, echo, load_config, show
from chatsvc.cli.refusals import shown
from chatsvc.domain.errors import CommandError
from chatsvc.domain.escaping import one_line
from chatsvc.domain.refusals import Refused
from chatsvc.translations import COMMAND_LINE, template

if TYPE_CHECKING:
    from chatsvc.config import Config
    from chatsvc.config.model import Server
    from chatsvc.doctor import Finding

ANSWER_S = 5
MARKS = {"ok": "ok", "warning": "WARN", "fault": "FAULT"}


def worded(finding: Finding) -> tuple[str, str | None]:
    """Return the sentence of a finding, with its remedy unless the finding is good."""
    facts = {name: shown(name, value) for name, value in finding.facts.items()}
    free = finding.facts.get("free")
    if isinstance(free, int):
        facts |= {"gib": free / (1 << 30), "mib": free >> 20}
    fault = template(COMMAND_LINE, f"doctor.found_{finding.code}").format(**facts)
    return fault, template(COMMAND_LINE, f"doctor.remedy_{finding.code}").format(**facts) if finding.state != "ok" else None


@command(None, "doctor")
def doctor(ctx: click.Context, as_json: bool) -> None:
    from chatsvc.doctor import FAULT
    from chatsvc.platforms import PLATFORMS
    from chatsvc.services.operations.doctor import examine

    findings = []
    for finding in examine(partial(load_config, ctx), _service, PLATFORMS):
        findings.append(finding)
        if not as_json:
            fault, remedy = worded(finding)
            echo(f"{MARKS[finding.state]:<6}{one_line(finding.name)}: {one_line(fault)}")
            if remedy:
                echo(f"      -> {one_line(remedy)}")
    faults = sum(finding.state == FAULT for finding in findings)
    if as_json:
        checks = [
            dict(zip(("name", "state", "found", "remedy"), (finding.name, finding.state, *worded(finding)), strict=True))
            for finding in findings
        ]
        show({"healthy": not faults, "checks": checks}, True)
    if faults:
        raise CommandError(f"{counted(faults, 'fault', 'faults')} found")


def _service(config: Config) -> Iterator[Finding]:
    """Check the service through its control socket. If no service runs, check whether one could listen."""
    from chatsvc.control import client
    from chatsvc.doctor import Finding, servers

    service = client.connect(config.data_dir, timeout_s=ANSWER_S)
    if service is None:
        yield from servers.stopped(config)
        return
    try:
        egress = client.ask(service, "egress.show", {})
    except client.Lost:
        yield Finding.fault("service", "service_silent", seconds=ANSWER_S)
        return
    except Refused as refusal:
        yield Finding.warning("service", "service_unwilling", reason=str(refusal))
        return
    connections = egress["opened" if egress["allowed"] else "refused"]
    yield from servers.running(config, may_connect=egress["allowed"], connections=connections, store_fault=egress["store_fault"])


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
        address = server.socket or f"{server.host or '*'}:{server.port}"
        raise CommandError(f"the service on {address} is not ready: {state}")


def _ask(server: Server, timeout_s: float) -> str:
    host = ANYWHERE.get(server.host, server.host)
    connection = http.client.HTTPConnection(host, server.port, timeout=timeout_s)
    if server.speaks_https:
        # The machine's own listener, by its address: the name in its certificate is for callers from outside.
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        connection = http.client.HTTPSConnection(host, server.port, timeout=timeout_s, context=context)
    with closing(connection):
        try:
            if server.socket is not None:
                connection.sock = socket.socket(socket.AF_UNIX)
                connection.sock.settimeout(timeout_s)
                connection.sock.connect(str(server.socket))
            connection.request("GET", "/readyz")
            return str(json.loads(connection.getresponse().read(10_000))["status"])[:MOST_SHOWN]
        except OSError as fault:
            return f"unreachable ({fault.strerror or type(fault).__name__})"
        except (http.client.HTTPException, ValueError, KeyError, TypeError, RecursionError):
            return "something else answers there"
