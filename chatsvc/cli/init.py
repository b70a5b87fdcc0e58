"""`chatsvc init`: configuration, data folder and first account with bot and key."""

import os
import shlex
import stat
from importlib import resources
from pathlib import Path
from typing import Any

import click

from chatsvc import config
from chatsvc.cli import CONFIG_FILE
from chatsvc.cli.operations import command, options
from chatsvc.cli.output import call, echo, load_config, show
from chatsvc.config.load import DATA_DIR
from chatsvc.domain.errors import CommandError
from chatsvc.domain.escaping import one_line
from chatsvc.local_user import owner_of, refuse_root, run_as, user_name

FILE = "config.yaml"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@command(
    None,
    "init",
    click.argument("directory", metavar="[DIR]", required=False, type=click.Path(file_okay=False, path_type=Path)),
    *options(operator="EMAIL"),
)
def init(ctx: click.Context, directory: Path | None, operator: str | None, as_json: bool) -> None:
    root = ctx.find_root()
    named = root.params[CONFIG_FILE]
    if directory is not None and named is not None:
        raise click.UsageError("give a DIR or -c FILE, one of them")
    if directory is None:
        named = named or os.environ.get("CHATSVC_CONFIG")
    file = (Path(named) if named is not None else (directory or Path()) / FILE).absolute()
    if (owner := owner_of(file)) > 0:
        run_as(owner)
    if not file.exists():
        _make(file)
    if directory is not None or named is not None:
        root.params[CONFIG_FILE] = str(file)
    if (owner := owner_of(config.read(file).data_dir)) > 0:
        run_as(owner)
    loaded = load_config(ctx)
    created = call(ctx, "init", operator=operator)
    master_key = None if loaded.master_key else str(loaded.data_dir / "master.key")
    result = {"config": str(file), "data_dir": str(loaded.data_dir), "master_key": master_key, **created}
    if as_json:
        show(result, True)
        return
    echo(f"configuration  {one_line(file)}\ndata folder    {one_line(loaded.data_dir)}")
    echo(f"master key     {one_line(master_key or 'given by the configuration')}")
    if created["operator"] is not None:
        _show_operator(created["operator"])
    if created["key"] is None:
        echo("There are accounts already; no account was added.")
        return
    echo(f"account        {created['account']['id']}  {one_line(created['account']['name'])}")
    echo(f"bot            {created['bot']['id']}  {one_line(created['bot']['name'])}")
    echo(f"API key        {created['key']['key']}")
    echo(f"\nKeep the key now: it is not shown again. Start with: chatsvc -c {one_line(file)} serve", err=True)


def _show_operator(operator: dict[str, Any]) -> None:
    email = one_line(operator["email"])
    echo(f"operator       {operator['id']}  {email}")
    if operator["link"] is None:
        echo(f"{email} is an operator already; a new link: chatsvc operator link {email}")
    else:
        echo(f"set-up link    {one_line(operator['link'])}  (once, until {operator['expires_at']})")


def _make(file: Path) -> None:
    """Write a new configuration file. If root writes it, the service's group may read it. Raises CommandError and OSError."""
    if os.path.lexists(file):
        raise CommandError(f"{file} is a link to a file that is not there: remove it first")
    refuse_root(file)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, _NEW, 0o600)
    except PermissionError:
        user = user_name(os.geteuid())
        raise CommandError(
            f"{user} may make no files in {file.parent}. Type instead, then try again: sudo install -d -o {user} -m 0700 "
            f"{shlex.quote(str(file.parent))}"
        ) from None
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(resources.files("chatsvc.config").joinpath("example.yaml").read_bytes())
        owner = owner_of(file.parent / DATA_DIR)
        if owner > 0:
            os.fchown(stream.fileno(), 0, (file.parent / DATA_DIR).stat().st_gid)
            os.fchmod(stream.fileno(), stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP)
