"""`chatsvc init`: from nothing to something that can be served."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path

import click

from chatsvc.cli.output import echo, json_option, show
from chatsvc.domain.terminal import one_line

FILE = "config.yaml"


@click.command()
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(file_okay=False, path_type=Path))
@json_option
@click.pass_context
def init(ctx: click.Context, directory: Path | None, as_json: bool) -> None:
    """Make an installation: configuration, data folder, and a first account, bot and API key.

    The configuration has comments for every setting; the data folder gets a new master key. Both are made in DIR. Without DIR the
    configuration is the file of -c, else of $CHATSVC_CONFIG, else ./config.yaml. Existing files are kept, so `init` can be repeated. The
    API key is shown only once.

    \b
    Examples:
      chatsvc init
      chatsvc init /srv/chatsvc
      chatsvc -c /etc/chatsvc/config.yaml init --json
    """
    from chatsvc.config import load
    from chatsvc.control import client

    named = ctx.find_root().obj
    if directory is not None and named is not None:
        raise click.UsageError("give a DIR or -c FILE, one of them")
    if directory is None:
        named = named or os.environ.get("CHATSVC_CONFIG")
    file = (Path(named) if named is not None else (directory or Path()) / FILE).absolute()
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        file.write_text(resources.files("chatsvc.config").joinpath("example.yaml").read_text("utf-8"), "utf-8")
    config = load(file, os.environ)
    made = client.call(config, "init", {})
    master_key = None if config.master_key else str(config.data_dir / "master.key")
    result = {"config": str(file), "data_dir": str(config.data_dir), "master_key": master_key, **made}
    if as_json:
        show(result, True)
        return
    echo(f"configuration  {one_line(file)}\ndata folder    {one_line(config.data_dir)}")
    echo(f"master key     {one_line(master_key or 'given by the configuration')}")
    if made["key"] is None:
        echo("There are accounts already; nothing was added.")
        return
    echo(f"account        {made['account']['id']}  {one_line(made['account']['name'])}")
    echo(f"bot            {made['bot']['id']}  {one_line(made['bot']['name'])}")
    echo(f"API key        {made['key']['key']}")
    echo(f"\nKeep the key now: it is not shown again. Start with: chatsvc -c {one_line(file)} serve", err=True)
