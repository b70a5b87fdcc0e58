"""`chatsvc init`: configuration, data folder and first account with bot and key."""

import os
import stat
from importlib import resources
from pathlib import Path
from typing import Any

import click

from chatsvc.cli.configuration import load_config
from chatsvc.cli.operations import command, options
from chatsvc.cli.output import call, echo, show
from chatsvc.domain.errors import CommandError
from chatsvc.domain.terminal import one_line

FILE = "config.yaml"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@command(
    None,
    "init",
    click.argument("directory", metavar="[DIR]", required=False, type=click.Path(file_okay=False, path_type=Path)),
    *options(operator="EMAIL"),
)
def init(ctx: click.Context, directory: Path | None, operator: str | None, as_json: bool) -> None:
    named = ctx.find_root().obj
    if directory is not None and named is not None:
        raise click.UsageError("give a DIR or -c FILE, one of them")
    if directory is None:
        named = named or os.environ.get("CHATSVC_CONFIG")
    file = (Path(named) if named is not None else (directory or Path()) / FILE).absolute()
    if not file.exists():
        _make(file)
    if directory is not None or named is not None:
        ctx.find_root().obj = str(file)
    config = load_config(ctx)
    made = call(ctx, "init", operator=operator)
    master_key = None if config.master_key else str(config.data_dir / "master.key")
    result = {"config": str(file), "data_dir": str(config.data_dir), "master_key": master_key, **made}
    if as_json:
        show(result, True)
        return
    echo(f"configuration  {one_line(file)}\ndata folder    {one_line(config.data_dir)}")
    echo(f"master key     {one_line(master_key or 'given by the configuration')}")
    if made["operator"] is not None:
        _show_operator(made["operator"])
    if made["key"] is None:
        echo("There are accounts already; no account was added.")
        return
    echo(f"account        {made['account']['id']}  {one_line(made['account']['name'])}")
    echo(f"bot            {made['bot']['id']}  {one_line(made['bot']['name'])}")
    echo(f"API key        {made['key']['key']}")
    echo(f"\nKeep the key now: it is not shown again. Start with: chatsvc -c {one_line(file)} serve", err=True)


def _show_operator(operator: dict[str, Any]) -> None:
    email = one_line(operator["email"])
    echo(f"operator       {operator['id']}  {email}")
    if operator["link"] is None:
        echo(f"{email} is an operator already; a new link: chatsvc operator link {email}")
    else:
        echo(f"set-up link    {one_line(operator['link'])}  (once, until {operator['expires_at']})")


def _make(file: Path) -> None:
    """Write a new configuration, as the owner of its folder where root runs this. Raises CommandError and OSError."""
    from chatsvc.trusted_paths import is_root, nearest_folder

    if os.path.lexists(file):
        raise CommandError(f"{file} is a link to a file that is not there: remove it first")
    text = resources.files("chatsvc.config").joinpath("example.yaml").read_bytes()
    if is_root() and (status := nearest_folder(file)).st_uid:
        from chatsvc.control.identity import Identity

        Identity().become(status.st_uid, status.st_gid)
    group = _service_group(file) if is_root() else None
    file.parent.mkdir(parents=True, exist_ok=True)
    folder = os.open(file.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if is_root() and os.fstat(folder).st_uid:
            raise CommandError(f"{file} is not made: another user has made {file.parent} meanwhile")
        with os.fdopen(os.open(file.name, _NEW, 0o600, dir_fd=folder), "wb") as stream:
            stream.write(text)
            if group is not None:
                os.fchown(stream.fileno(), 0, group)
                os.fchmod(stream.fileno(), stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP)
    finally:
        os.close(folder)


def _service_group(file: Path) -> int | None:
    """Return the service's group where the data folder belongs to another user than root."""
    from chatsvc.config.load import DATA_DIR
    from chatsvc.control.identity import data_owner
    from chatsvc.privileges import groups_of

    uid, gid = data_owner(file.parent / DATA_DIR)
    return groups_of(uid, gid)[0] if uid else None
