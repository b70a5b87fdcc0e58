"""`chatsvc backup`: create, verify, restore."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

import click

from chatsvc.cli import progress
from chatsvc.cli.main import load_config
from chatsvc.cli.output import call, json_option, show
from chatsvc.domain.errors import Refused

PIECE = 1 << 20  # bytes
FILE = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
MASTER_KEY_FILE = click.option(
    "--master-key-file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="File with the backup's master key."
)


@click.group()
def backup() -> None:
    """Backups: one file each, made while the service runs."""


@backup.command()
@FILE
@click.option("--with-master-key", is_flag=True, help="Include the master key, which every restore needs: protect the file.")
@json_option
@click.pass_context
def create(ctx: click.Context, file: Path, with_master_key: bool, as_json: bool) -> None:
    """Write a backup to FILE, which must not exist. It contains every reply sent before it began.

    The service may run. Without --with-master-key, store data/master.key elsewhere; it changes only with `master-key rotate`.

    \b
    Examples:
      chatsvc backup create /mnt/backup/chatsvc-$(date +%F).backup
      chatsvc backup create moving.backup --with-master-key
    """
    if file.exists():
        raise Refused(f"{file} is there already: a backup overwrites nothing")
    with progress.shown("making the backup") as told:
        made = call(ctx, "backup.create", with_master_key=with_master_key)
        draft = Path(made.pop("draft"))
        try:
            with draft.open("rb") as stream:
                # Only reading the data folder needed its owner; where the backup goes is the caller's own.
                os.seteuid(os.getuid())
                _write(stream, file, told)
        finally:
            draft.unlink(missing_ok=True)
    show({"file": str(file), **made}, as_json)


def _write(source: IO[bytes], file: Path, told: progress.Progress) -> None:
    size, part = os.fstat(source.fileno()).st_size, file.with_name(file.name + ".part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as written:
            while piece := source.read(PIECE):
                written.write(piece)
                told("copying: bytes", written.tell(), size)
            written.flush()
            os.fsync(written.fileno())
        part.rename(file)
    finally:
        part.unlink(missing_ok=True)


@backup.command()
@FILE
@MASTER_KEY_FILE
@json_option
def verify(file: Path, master_key_file: Path | None, as_json: bool) -> None:
    """Restore FILE to a temporary folder and check it; exit status 1 when it has faults.

    With the master key, or if FILE contains it, its authentication tag is checked too: then every change is found, also one made on
    purpose. It needs no configuration. The folder for temporary files ($TMPDIR) needs free space of the backup's size.

    \b
    Examples:
      chatsvc backup verify chatsvc-2026-11-20.backup
      chatsvc backup verify chatsvc-2026-11-20.backup --master-key-file master.key
    """
    from chatsvc.usecases import backups

    key = _key(master_key_file)
    with progress.shown("verifying"):
        found = backups.verify(file, key)
    show(found, as_json)
    if not found["valid"]:
        raise Refused(f"{file} cannot be restored: {'; '.join(map(str, found['faults']))}")  # type: ignore[call-overload]  # a list


def _key(file: Path | None) -> bytes | None:
    from chatsvc.cli.master_key import key_in

    return bytes.fromhex(key_in(file)) if file else None


@backup.command()
@FILE
@MASTER_KEY_FILE
@json_option
@click.pass_context
def restore(ctx: click.Context, file: Path, master_key_file: Path | None, as_json: bool) -> None:
    """Restore the backup FILE to the data folder; the service must not run. An existing store is renamed.

    A newer store is not overwritten. Pending webhook events become `interrupted`, because they may have been sent since. `webhook resend`
    sends them again.

    \b
    Examples:
      chatsvc backup restore chatsvc-2026-11-20.backup
      chatsvc backup restore chatsvc-2026-11-20.backup --master-key-file master.key
    """
    from chatsvc.control.client import act_as_owner
    from chatsvc.domain.times import now_ms
    from chatsvc.usecases import backups

    config = load_config(ctx)
    key = _key(master_key_file)
    with file.open("rb") as stream:
        act_as_owner(config.data_dir, ("chatsvc.usecases.backups",))
        with progress.shown("restoring"):
            restored = backups.restore(config, stream, master_key=key, now=now_ms())
        show(restored, as_json)
