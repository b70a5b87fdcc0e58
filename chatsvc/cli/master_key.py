"""`chatsvc master-key`: rotate."""

from __future__ import annotations

import re

import click

from chatsvc.cli.files import InputFile, InputPath
from chatsvc.cli.operations import command, group, options
from chatsvc.cli.output import call, echo, show
from chatsvc.domain.errors import CommandError

master_key = group("master-key")


def key_in(file: InputFile) -> str:
    with file.open() as stream:
        text = stream.read(1024).decode("ascii", "replace").strip()
    if not re.fullmatch("[0-9a-fA-F]{64}", text):
        raise CommandError(f"{file} does not hold a master key: 64 hexadecimal digits, as `openssl rand -hex 32` makes them")
    return text


@command(master_key, "rotate", *options(new_key_file=InputPath()))
def rotate(ctx: click.Context, new_key_file: InputFile | None, as_json: bool) -> None:
    rotated = call(ctx, "master_key.rotate", key=key_in(new_key_file) if new_key_file else None)
    show(rotated, as_json)
    if not as_json and rotated["master_key"] is None:
        echo("Put the new key into the configuration now: with the old one the service does not start again.", err=True)
