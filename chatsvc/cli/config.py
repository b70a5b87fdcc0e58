"""`chatsvc config`: the configuration in force."""

from __future__ import annotations

import click

from chatsvc.cli.main import load_config
from chatsvc.cli.output import echo, json_option, show
from chatsvc.domain.terminal import one_line


@click.group()
def config() -> None:
    """The configuration: what is in force."""


@config.command("show")
@json_option
@click.pass_context
def show_config(ctx: click.Context, as_json: bool) -> None:
    """Show all settings in force, with defaults filled in and secrets masked.

    Without --json, the output is a configuration file.

    \b
    Examples:
      chatsvc config show
      chatsvc -c /etc/chatsvc/config.yaml config show --json
    """
    from chatsvc.config.shown import as_document, as_yaml

    loaded = load_config(ctx)
    document = as_document(loaded)
    if as_json:
        show({"config": str(loaded.path) if loaded.path else None, **document}, True)
    else:
        echo(f"# {(loaded.path and one_line(loaded.path)) or 'no file: everything is the default'}\n{as_yaml(document)}", nl=False)
