"""`chatsvc completion`: shell script for the completion of commands and options."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script for Tab completion in SHELL.

    It completes commands, options and files, and, while the service runs and lets you administer it, ids of bots, accounts and keys by
    their beginning or a part of the name. The Debian package installs these scripts; otherwise put the line for your shell into its
    start-up file.

    \b
    Examples:
      eval "$(chatsvc completion bash)"
      chatsvc completion zsh > ~/.zfunc/_chatsvc
      chatsvc completion fish > ~/.config/fish/completions/chatsvc.fish
    """
    from click.shell_completion import BashComplete, FishComplete, ZshComplete

    kind = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}[shell]
    click.echo(kind(ctx.find_root().command, {}, "chatsvc", "_CHATSVC_COMPLETE").source())
