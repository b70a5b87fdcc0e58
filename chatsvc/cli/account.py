"""`chatsvc account`: create, list, show, set, delete, export, import."""

from itertools import chain
from typing import Any

import click

from chatsvc.cli.files import InputFile, InputPath, OutputFile, OutputPath
from chatsvc.cli.operations import command, group, operation, options
from chatsvc.cli.output import call, echo, pages, show, written
from chatsvc.cli.refusals import sentence
from chatsvc.cli.words import PLAN, SUBSCRIPTION
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
    from chatsvc.cli import progress, transfer

    parts = pages(ctx, "account.export", account=account, with_secrets=with_secrets)
    # What is refused must not have made or emptied a file.
    first = next(parts)
    with written(file) as stream, progress.shown("exporting") as far:
        writer = transfer.TransferWriter(stream, account)
        for part in chain([first], parts):
            for record in part["records"]:
                writer.write(record)
            far(f"exporting: {writer.lines:,} records", 0, 0)
        writer.end()
    show({"id": account, "file": str(file), "records": writer.lines - 2}, as_json)


@command(account, "import", click.argument("file", type=InputPath()))
def import_(ctx: click.Context, file: InputFile, as_json: bool) -> None:
    from chatsvc.cli import progress, transfer

    account_id, webhooks, complete = transfer.check(file), [], False
    with progress.shown("importing") as far:
        batches = transfer.records(file)
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
    """Import records, each with the number of its line. Raises CommandError with the line that is refused."""
    try:
        imported: list[Any] = call(ctx, "account.import_put", account=account, records=[record for _, record in batch])["webhooks"]
    except Refused as fault:
        if len(batch) == 1:
            raise CommandError(f"{file}, line {batch[0][0]}: {sentence(fault)}") from None
        # Nothing of the batch was written. One record at a time shows which one it is.
        return [webhook for one in batch for webhook in _put(ctx, file, account, [one])]
    return imported
