"""`chatsvc backup`: create, verify, restore."""

from __future__ import annotations

import click

from chatsvc.cli import progress
from chatsvc.cli.files import InputFile, InputPath, OutputFile, OutputPath
from chatsvc.cli.main import load_config
from chatsvc.cli.output import call, json_option, show, written
from chatsvc.domain import refusals
from chatsvc.domain.errors import CommandError
from chatsvc.trusted_paths import is_root

FILE = click.argument("file", type=InputPath(exists=False))
MASTER_KEY_FILE = click.option("--master-key-file", type=InputPath(), help="File with the backup's master key.")


@click.group()
def backup() -> None:
    """Backups: one file each, made while the service runs."""


@backup.command()
@click.argument("file", type=OutputPath(over=False, rule="a backup overwrites nothing"))
@click.option("--with-master-key", is_flag=True, help="Include the master key, which every restore needs: protect the file.")
@json_option
@click.pass_context
def create(ctx: click.Context, file: OutputFile, with_master_key: bool, as_json: bool) -> None:
    """Write a backup to FILE, which must not exist. It contains every reply sent before it began.

    The service may run. Without --with-master-key, store data/master.key elsewhere; it changes only with `master-key rotate`.

    \b
    Examples:
      chatsvc backup create /mnt/backup/chatsvc-$(date +%F).backup
      chatsvc backup create moving.backup --with-master-key
    """
    load_config(ctx)
    with written(file) as stream, progress.shown("making the backup"):
        made = call(ctx, "backup.create", stream, with_master_key=with_master_key)
        made["bytes"] = stream.tell()
    show({"file": str(file), **made}, as_json)


@backup.command()
@FILE
@MASTER_KEY_FILE
@json_option
def verify(file: InputFile, master_key_file: InputFile | None, as_json: bool) -> None:
    """Restore FILE to a temporary folder and check it; exit status 1 when it has faults.

    With the master key, or if FILE contains it, its authentication tag is checked too: then every change is found, also one made on
    purpose. It needs no configuration. The folder for temporary files ($TMPDIR) needs free space of the backup's size.

    \b
    Examples:
      chatsvc backup verify chatsvc-2026-11-20.backup
      chatsvc backup verify chatsvc-2026-11-20.backup --master-key-file master.key
    """
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


@backup.command()
@FILE
@MASTER_KEY_FILE
@json_option
@click.pass_context
def restore(ctx: click.Context, file: InputFile, master_key_file: InputFile | None, as_json: bool) -> None:
    """Restore the backup FILE to the data folder; the service must not run. An existing store is renamed.

    A newer store is not overwritten. Pending webhook events become `interrupted`, because they may have been sent since. `webhook resend`
    sends them again.

    \b
    Examples:
      chatsvc backup restore chatsvc-2026-11-20.backup
      chatsvc backup restore chatsvc-2026-11-20.backup --master-key-file master.key
    """
    from chatsvc.control.rendering import installation as installation_json
    from chatsvc.domain.times import now_ms
    from chatsvc.usecases import backups

    config = load_config(ctx)
    key = _key(master_key_file)
    with file.open() as stream:
        with progress.shown("restoring"):
            restored = installation_json.backup_restored(backups.restore(config, stream, master_key=key, now=now_ms()))
        show(restored, as_json)
