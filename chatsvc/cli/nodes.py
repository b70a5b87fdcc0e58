"""`chatsvc nodes`: list the processes over the store."""

from __future__ import annotations

import click

from chatsvc.cli.output import call, json_option, show

COLUMNS = ("id", "since", "listen", "version")


@click.command()
@json_option
@click.pass_context
def nodes(ctx: click.Context, as_json: bool) -> None:
    """List the processes of this service, and since when they work.

    A process that has died is listed for at most 15 seconds. With SQLite there is one process.

    \b
    Examples:
      chatsvc nodes
      chatsvc nodes --json
    """
    show(call(ctx, "node.list"), as_json, COLUMNS)
