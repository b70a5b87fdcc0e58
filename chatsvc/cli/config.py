"""`chatsvc config`: the configuration in force."""

from __future__ import annotations

import click

from chatsvc.cli.main import load_config
from chatsvc.cli.operations import command, group
from chatsvc.cli.output import echo, show
from chatsvc.domain.terminal import one_line

config = group("config")


@command(config, "show")
def show_config(ctx: click.Context, as_json: bool) -> None:
    from chatsvc.config.shown import as_document, as_yaml

    loaded = load_config(ctx)
    document = as_document(loaded)
    if as_json:
        show({"config": str(loaded.path) if loaded.path else None, **document}, True)
    else:
        echo(f"# {(loaded.path and one_line(loaded.path)) or 'no file: everything is the default'}\n{as_yaml(document)}", nl=False)
