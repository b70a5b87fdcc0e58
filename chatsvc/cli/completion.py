"""`chatsvc completion`: shell script for the completion of commands and options."""

from __future__ import annotations

import click

from chatsvc.cli.operations import command


@command(None, "completion", click.argument("shell", type=click.Choice(["bash", "zsh", "fish"])), json=False)
def completion(ctx: click.Context, shell: str) -> None:
    from click.shell_completion import BashComplete, FishComplete, ZshComplete

    kind = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}[shell]
    click.echo(kind(ctx.find_root().command, {}, "chatsvc", "_CHATSVC_COMPLETE").source())
