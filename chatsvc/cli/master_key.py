"""`chatsvc master-key`: rotate."""

from __future__ import annotations

import re

import click

from chatsvc.cli.files import InputFile, InputPath
from chatsvc.cli.output import call, echo, json_option, show
from chatsvc.domain.errors import CommandError


@click.group()
def master_key() -> None:
    """The master key, with which the secrets in the database are sealed."""


def key_in(file: InputFile) -> str:
    with file.open() as stream:
        text = stream.read(1024).decode("ascii", "replace").strip()
    if not re.fullmatch("[0-9a-fA-F]{64}", text):
        raise CommandError(f"{file} does not hold a master key: 64 hexadecimal digits, as `openssl rand -hex 32` makes them")
    return text


@master_key.command()
@click.option(
    "--new-key-file",
    type=InputPath(),
    help="File with the new key; required when the configuration gives the master key. Else a new one is made.",
)
@json_option
@click.pass_context
def rotate(ctx: click.Context, new_key_file: InputFile | None, as_json: bool) -> None:
    """Replace the master key and encrypt all secrets with the new one, at once.

    If the configuration gives the key ($CHATSVC_MASTER_KEY), change it there as well before the next start. A running service uses the new
    key at once. Older backups need the old key.

    \b
    Examples:
      chatsvc master-key rotate
      chatsvc master-key rotate --new-key-file new.key
    """
    rotated = call(ctx, "master_key.rotate", key=key_in(new_key_file) if new_key_file else None)
    show(rotated, as_json)
    if not as_json and rotated["master_key"] is None:
        echo("Put the new key into the configuration now: with the old one the service does not start again.", err=True)
