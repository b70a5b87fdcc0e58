"""`chatsvc store`: copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from chatsvc.cli import progress
from chatsvc.cli.files import InputFile, InputPath
from chatsvc.cli.main import load_config
from chatsvc.cli.operations import command, group, option, options
from chatsvc.cli.output import echo, show

if TYPE_CHECKING:
    from chatsvc.config import PostgresSettings

_MOST = 1 << 16  # bytes of a password file

store = group("store")


def _settings(url: str, password_file: InputFile | None) -> PostgresSettings:
    """Read the address of the target; raises click.BadParameter, which does not repeat it."""
    from chatsvc.config import store as section
    from chatsvc.config import values

    password = ""
    if password_file is not None:
        with password_file.open() as stream:
            password = stream.read(_MOST).decode("ascii", "replace").strip()
    try:
        return section.settings(url, values.login(password) if password_file else "")
    except ValueError as fault:
        raise click.BadParameter(str(fault), param_hint="--to and --password-file") from None


@command(store, "copy", option("--to", "url", required=True, metavar="URL"), *options(password_file=InputPath()))
def copy(ctx: click.Context, url: str, password_file: InputFile | None, as_json: bool) -> None:
    from chatsvc.control.rendering import installation as installation_json
    from chatsvc.domain.times import now_ms
    from chatsvc.privileges import STARTED_BY, caller_of
    from chatsvc.services.operations import store_copy

    settings = _settings(url, password_file)
    config = load_config(ctx, *store_copy.LATE)
    with progress.shown("copying") as report:
        copied = store_copy.copy(config, caller_of(STARTED_BY), to=settings, now=now_ms(), report=report)
    show(installation_json.store_copied(copied), as_json, ("table", "rows", "digest"))
    if not as_json:
        echo("Now set store.url, and give all processes the master key of the data folder (master_key_file).", err=True)
