"""`chatsvc backup`: create, verify, restore. `chatsvc master-key`: rotate. `chatsvc store`: copy."""

import os
import re
from pathlib import Path

import click

from chatsvc.cli.files import InputPath, OutputFile, OutputPath, open_input, read_secret, written
from chatsvc.cli.operations import command, group, option, options
from chatsvc.cli.output import call, echo, load_config, progress, show
from chatsvc.config import store as section
from chatsvc.config import values
from chatsvc.control import rendering
from chatsvc.domain import refusals
from chatsvc.domain.errors import CommandError
from chatsvc.domain.times import now_ms
from chatsvc.local_user import caller_of
from chatsvc.services.operations import backups

FILE = click.argument("file", type=InputPath(exists=False))
NOT_AUTHENTICATED = "not authenticated: a change made on purpose shows only with the master key (--master-key-file)"
MASTER_KEY_FILE = options(master_key_file=InputPath())

backup, master_key = group("backup"), group("master-key")


def _key_in(file: Path | None) -> bytes | None:
    if file is None:
        return None
    text = read_secret(file)
    if not re.fullmatch("[0-9a-fA-F]{64}", text):
        raise CommandError(f"{file} does not hold a master key: 64 hexadecimal digits, as `openssl rand -hex 32` makes them")
    return bytes.fromhex(text)


@command(
    backup,
    "create",
    click.argument("file", type=OutputPath(over=False, rule="a backup overwrites nothing")),
    *options(with_master_key=bool),
)
def create(ctx: click.Context, file: OutputFile, with_master_key: bool, as_json: bool) -> None:
    load_config(ctx)
    with written(file) as stream, progress("making the backup"):
        backup_row = call(ctx, "backup.create", stream, with_master_key=with_master_key)
        backup_row["bytes"] = stream.tell()
    show({"file": str(file), **backup_row}, as_json)


@command(backup, "verify", FILE, *MASTER_KEY_FILE)
def verify(file: Path, master_key_file: Path | None, as_json: bool) -> None:
    key = _key_in(master_key_file)
    with progress("verifying"), open_input(file) as stream:
        try:
            described = backups.verify(stream, str(file), key)
        except refusals.Refused as refusal:
            raise CommandError(str(refusal.facts["fault"])) from None
    checked = {"authenticated": described.authenticated, "faults": described.faults}
    notes = [] if described.authenticated else [NOT_AUTHENTICATED]
    show({"valid": not described.faults, "file": str(file), **rendering.backup(described), **checked, "notes": notes}, as_json)
    if described.faults:
        raise CommandError(f"{file} cannot be restored: {'; '.join(described.faults)}")


@command(backup, "restore", FILE, *MASTER_KEY_FILE)
def restore(ctx: click.Context, file: Path, master_key_file: Path | None, as_json: bool) -> None:
    config = load_config(ctx)
    key = _key_in(master_key_file)
    with open_input(file) as stream:
        with progress("restoring"):
            restored, replaced = backups.restore(config, stream, master_key=key, now=now_ms())
        folders = {"data_dir": str(config.data_dir), "replaced": replaced and str(replaced)}
        show({**rendering.backup(restored), **folders}, as_json)


@command(master_key, "rotate", *options(new_key_file=InputPath()))
def rotate(ctx: click.Context, new_key_file: Path | None, as_json: bool) -> None:
    key = _key_in(new_key_file)
    rotated = call(ctx, "master_key.rotate", key=key and key.hex())
    show(rotated, as_json)
    if not as_json and rotated["master_key"] is None:
        echo("Put the new key into the configuration now: with the old one the service does not start again.", err=True)


store = group("store")


@command(store, "copy", option("--to", "url", required=True, metavar="URL"), *options(password_file=InputPath()))
def copy(ctx: click.Context, url: str, password_file: Path | None, as_json: bool) -> None:
    try:
        settings = section.settings(url, values.login(read_secret(password_file)) if password_file else "")
    except ValueError as fault:
        # Without the address, which may hold a password.
        raise click.BadParameter(str(fault), param_hint="--to and --password-file") from None
    config = load_config(ctx)
    with progress("copying") as report:
        copied = backups.copy(config, caller_of(os.getuid()), to=settings, now=now_ms(), report=report)
    show([table._asdict() for table in copied], as_json, ("table", "rows", "digest"))
    if not as_json:
        echo("Now set store.url, and give all processes the master key of the data folder (master_key_file).", err=True)
