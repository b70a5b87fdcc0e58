"""`chatsvc serve`: run the service."""

import logging

import click
import uvloop

from chatsvc import app, log
from chatsvc.app import App
from chatsvc.cli.operations import command
from chatsvc.cli.output import echo, load_config, to_json


@command(None, "serve")
def serve(ctx: click.Context, as_json: bool) -> None:
    config = load_config(ctx)

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
    uvloop.run(app.serve(config, ready))
