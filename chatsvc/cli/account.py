"""`chatsvc account`: create, list, show, set, delete, export, import.

A transfer file has a header, one record on each line, and a checksum.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import click

from chatsvc import __version__
from chatsvc.cli.files import InputPath, OutputFile, OutputPath, open_input, written
from chatsvc.cli.operations import PLAN, SUBSCRIPTION, command, group, operation, options
from chatsvc.cli.output import call, echo, pages, progress, show
from chatsvc.cli.refusals import sentence
from chatsvc.domain.errors import CommandError
from chatsvc.domain.refusals import Refused

account = group("account")
operation(account, "account.create", "name", *options(plan=(PLAN, "enterprise")))
operation(account, "account.list", columns="id name plan subscription_status messages_used messages_limit message_credits", pages=True)
operation(account, "account.show", "account ID")
CHANGES = options(name=str, plan=PLAN, status=SUBSCRIPTION, messages_limit=int, credits=int)
operation(account, "account.set", "account ID", *CHANGES)
LOSS = "this deletes the account's bots, conversations, keys and usage for good"
operation(account, "account.delete", "account ID", confirm=LOSS)


@command(account, "export", "account ID", click.argument("file", type=OutputPath(over=False)), *options(with_secrets=bool))
def export(ctx: click.Context, account: str, file: OutputFile, with_secrets: bool, as_json: bool) -> None:
    parts = pages(ctx, "account.export", account=account, with_secrets=with_secrets)
    # What is refused must not have made or emptied a file.
    first = next(parts)
    exported = (record for part in chain([first], parts) for record in part["records"])
    number = 0
    with written(file) as stream, progress("exporting") as far:
        for number, line in enumerate(transfer_lines(account, exported)):
            stream.write(line)
            far(f"exporting: {number:,} records", 0, 0)
    # Without the header and the checksum.
    show({"id": account, "file": str(file), "records": number - 1}, as_json)


@command(account, "import", click.argument("file", type=InputPath()))
def import_(ctx: click.Context, file: Path, as_json: bool) -> None:
    account_id, webhooks, complete = check(file), [], False
    with progress("importing") as far:
        batches = records(file)
        ((line, (_, record)),) = next(batches)
        try:
            begun = call(ctx, "account.import_begin", record=record)["id"]
        except Refused as fault:
            raise CommandError(f"{file}, line {line}: {sentence(fault)}") from None
        try:
            if begun != account_id:
                raise CommandError(f"{file} is of another account than it says")
            read = 0
            for batch in batches:
                read += len(batch)
                far(f"importing: {read:,} records", 0, 0)
                webhooks += _put(ctx, file, begun, batch)
            complete = True
        finally:
            shown = call(ctx, "account.import_end", account=begun, complete=complete)
    show({**shown, "webhooks": webhooks}, as_json)
    if webhooks and not as_json:
        echo("Keep the signing keys now: they are not shown again.", err=True)


def _put(ctx: click.Context, file: object, account: str, batch: list[tuple[int, Any]]) -> list[Any]:
    """Import a batch of records, given as pairs of line number and record. Raises CommandError with the number of a refused line."""
    try:
        imported: list[Any] = call(ctx, "account.import_put", account=account, records=[record for _, record in batch])
    except Refused as fault:
        if len(batch) == 1:
            raise CommandError(f"{file}, line {batch[0][0]}: {sentence(fault)}") from None
        # Nothing of the batch was written. One record at a time shows which one it is.
        return [webhook for webhook_row in batch for webhook in _put(ctx, file, account, [webhook_row])]
    return imported


MOST_LINE = 64 * 1024 * 1024  # bytes
BATCH = 1_000_000  # bytes, or a little more


def transfer_lines(account: str, exported: Iterable[Any]) -> Iterator[bytes]:
    """Yield the lines of a transfer file: a header, the records and a checksum. A file without the checksum is incomplete."""
    from chatsvc.domain.transfer import FORMAT, VERSION

    digest, lines = hashlib.sha256(), 0
    header = {"format": FORMAT, "version": VERSION, "program": __version__, "account": account}
    for value in chain([header], exported):
        line = json.dumps(value, ensure_ascii=False).encode() + b"\n"
        digest.update(line)
        lines += 1
        yield line
    yield json.dumps({"end": lines, "sha256": digest.hexdigest()}).encode() + b"\n"


def check(path: Path) -> str:
    """Check a transfer file and return the id of its account. Raises CommandError if the file is damaged or of a newer version."""
    from chatsvc.domain.transfer import FORMAT, VERSION

    digest, number, last = hashlib.sha256(), -1, b""
    header: Any = None
    for number, line in enumerate(_lines(path)):
        if number == 0:
            header = _value(line)
            if not isinstance(header, dict) or header.get("format") != FORMAT or type(header.get("version")) is not int:
                raise CommandError(f"{path} is no file of `chatsvc account export`")
            if header["version"] > VERSION:
                raise CommandError(f"{path} is of version {header['version']}, this chatsvc knows {VERSION}: install a newer one")
        digest.update(last)
        last = line
    if number < 0:
        raise CommandError(f"{path} is empty")
    if _value(last) != {"end": number, "sha256": digest.hexdigest()}:
        raise CommandError(f"{path} is damaged or was not written to its end: its last line does not fit what is before it")
    return str(header["account"])


def _lines(path: Path) -> Iterator[bytes]:
    with open_input(path) as file:
        while line := file.readline(MOST_LINE):
            yield line


def _value(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def records(path: Path) -> Iterator[list[tuple[int, Any]]]:
    """Yield the records of a checked transfer file with their line numbers, in batches. The first batch has only the account itself."""
    batch: list[tuple[int, Any]] = []
    size = number = 0
    for number, line in enumerate(_lines(path)):
        value = _value(line)
        if number == 0 or (isinstance(value, dict) and "end" in value):
            continue
        if not isinstance(value, list) or len(value) != 2 or (number == 1) is not (value[0] == "account"):
            raise CommandError(f"{path} has a line that is no record, line {number + 1}")
        batch.append((number + 1, value))
        size += len(line)
        if number == 1 or size > BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
    elif number < 2:
        raise CommandError(f"{path} has no account in it")
