"""`chatsvc completion`: the script that teaches a shell to complete chatsvc's commands."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that makes SHELL complete commands, options and files with the Tab key.

    Ids of bots, accounts and keys are completed too, by their beginning or by a part of the name, while the service runs and lets you
    administer it. The Debian package brings these scripts along; otherwise put the line for your shell where it reads its settings.

    \b
    Examples:
      eval "$(chatsvc completion bash)"
      chatsvc completion zsh > ~/.zfunc/_chatsvc
      chatsvc completion fish > ~/.config/fish/completions/chatsvc.fish
    """
    from click.shell_completion import BashComplete, FishComplete, ZshComplete

    kind = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}[shell]
    click.echo(kind(ctx.find_root().command, {}, "chatsvc", "_CHATSVC_COMPLETE").source())
