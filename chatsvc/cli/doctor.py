"""`chatsvc doctor`: check the installation, and print each fault with its remedy."""

from __future__ import annotations

from functools import partial

import click

from chatsvc.cli.main import load_config
from chatsvc.cli.output import counted, echo, json_option, show
from chatsvc.domain.errors import CommandError
from chatsvc.domain.terminal import one_line

LATE = ("chatsvc.engines.anthropic.engine", "chatsvc.engines.anthropic.sdk")
MARKS = {"ok": "ok", "warning": "WARN", "fault": "FAULT"}


@click.command()
@json_option
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:
    """List the faults of this installation, each with its remedy. It changes nothing.

    It checks configuration, files, permissions, disk, clock, database, certificates, model server and webhooks. The exit status is 1 when
    there is a fault; warnings do not count. It waits up to 5 seconds each for a name server or model server.

    \b
    Examples:
      chatsvc doctor
      chatsvc -c /etc/chatsvc/config.yaml doctor --json
    """
    from chatsvc.doctor.examination import examine
    from chatsvc.doctor.report import FAULT

    checks = []
    for check in examine(partial(load_config, ctx, *LATE)):
        checks.append(check._asdict())
        if not as_json:
            echo(f"{MARKS[check.state]:<6}{one_line(check.name)}: {one_line(check.found)}")
            if check.remedy:
                echo(f"      -> {one_line(check.remedy)}")
    faults = sum(check["state"] == FAULT for check in checks)
    if as_json:
        show({"healthy": not faults, "checks": checks}, True)
    if faults:
        raise CommandError(f"{counted(faults, 'fault', 'faults')} found")
