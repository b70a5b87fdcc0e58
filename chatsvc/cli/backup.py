"""`chatsvc backup`: create, verify, restore."""

from __future__ import annotations

import click

from chatsvc.cli import progress
from chatsvc.cli.files import InputFile, InputPath, OutputFile, OutputPath
from chatsvc.cli.main import load_config
from chatsvc.cli.operations import command, group, options
from chatsvc.cli.output import call, show, written
from chatsvc.domain import refusals
from chatsvc.domain.errors import CommandError
from chatsvc.trusted_paths import is_root

FILE = click.argument("file", type=InputPath(exists=False))
MASTER_KEY_FILE = options(master_key_file=InputPath())

backup = group("backup")


@command(
    backup,
    "create",
    click.argument("file", type=OutputPath(over=False, rule="a backup overwrites nothing")),
    *options(with_master_key=bool),
)
def create(ctx: click.Context, file: OutputFile, with_master_key: bool, as_json: bool) -> None:
    load_config(ctx)
    with written(file) as stream, progress.shown("making the backup"):
        made = call(ctx, "backup.create", stream, with_master_key=with_master_key)
        made["bytes"] = stream.tell()
    show({"file": str(file), **made}, as_json)


@command(backup, "verify", FILE, *MASTER_KEY_FILE)
def verify(file: InputFile, master_key_file: InputFile | None, as_json: bool) -> None:
    from chatsvc.control.rendering import installation as installation_json
    from chatsvc.usecases import backups

    key = _key(master_key_file)
    owner = file.stat()
    if is_root() and owner.st_uid:
        # What another user wrote is examined as that user.
        from chatsvc.control.identity import Identity

        Identity().become(owner.st_uid, owner.st_gid)
    with progress.shown("verifying"):
        try:
            found = {**installation_json.backup_verified(backups.verify(file.reopened, key)), "file": str(file)}
        except refusals.Refused as refusal:
            raise CommandError(str(refusal.facts["fault"]).replace(str(file.reopened), str(file))) from None
    show(found, as_json)
    if not found["valid"]:
        raise CommandError(f"{file} cannot be restored: {'; '.join(map(str, found['faults']))}")  # type: ignore[call-overload]  # a list


def _key(file: InputFile | None) -> bytes | None:
    from chatsvc.cli.master_key import key_in

    return bytes.fromhex(key_in(file)) if file else None


@command(backup, "restore", FILE, *MASTER_KEY_FILE)
def restore(ctx: click.Context, file: InputFile, master_key_file: InputFile | None, as_json: bool) -> None:
    from chatsvc.control.rendering import installation as installation_json
    from chatsvc.domain.times import now_ms
    from chatsvc.usecases import backups

    config = load_config(ctx)
    key = _key(master_key_file)
    with file.open() as stream:
        with progress.shown("restoring"):
            restored = installation_json.backup_restored(backups.restore(config, stream, master_key=key, now=now_ms()))
        show(restored, as_json)
