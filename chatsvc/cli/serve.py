"""`chatsvc serve`: run the service."""

from __future__ import annotations

import gc
import logging
from typing import TYPE_CHECKING

import click

from chatsvc.cli.main import load_config
from chatsvc.cli.output import echo, json_option, to_json

if TYPE_CHECKING:
    from chatsvc.app import App

LATE = (
    *("uvloop", "chatsvc.app", "chatsvc.log", "chatsvc.engines.anthropic.client", "chatsvc.engines.knowledge.policy.table"),
    *("chatsvc.acme.manager", "chatsvc.metrics.collector", "chatsvc.metrics.listener"),
)


@click.command()
@json_option
@click.pass_context
def serve(ctx: click.Context, as_json: bool) -> None:
    """Run the service until SIGTERM or Ctrl+C; requests in progress are finished.

    It stays in the foreground, for a terminal, systemd or a container. Log lines go to standard error: text in a terminal, else JSON. Only
    one service can use a data folder; a second one is refused. With --json, one line on standard output gives the address as soon as it
    listens.

    \b
    Examples:
      chatsvc serve
      chatsvc -c /srv/chatsvc/config.yaml serve
      systemctl enable --now chatsvc
    """
    config = load_config(ctx, *LATE, listens=True)

    import uvloop

    from chatsvc import app, log

    def ready(started: App) -> None:
        # A port of 0 is chosen when the listener opens.
        base_url = f"{config.server.public_url if config.server.port or config.server.socket else started.url}/api/v2"
        if as_json:
            echo(to_json({"event": "listening", "url": started.url, "base_url": base_url}))
        elif logs_json:
            logging.getLogger("chatsvc").info("chatsvc listens on %s", started.url, extra={"fields": {"base_url": base_url}})
        else:
            echo(f"chatsvc listens on {started.url}\nbase_url: {base_url}", err=True)

    logs_json = log.set_up(config.log.format, config.log.level, access=config.log.access)
    gc.enable()
    uvloop.run(app.serve(config, ready))
