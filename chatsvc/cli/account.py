"""`chatsvc account`: create, list, show, set, delete, export, import."""

from __future__ import annotations

from typing import Any

import click

from chatsvc.cli.files import InputFile, InputPath, OutputFile, OutputPath
from chatsvc.cli.operations import Confirm, operation
from chatsvc.cli.output import call, echo, json_option, show, written
from chatsvc.cli.refusals import sentence
from chatsvc.cli.words import ACCOUNT, PLAN, SUBSCRIPTION
from chatsvc.domain.errors import CommandError
from chatsvc.domain.refusals import Refused

COLUMNS = ("id", "name", "plan", "subscription_status", "messages_used", "messages_limit", "message_credits")


@click.group()
def account() -> None:
    """Manage accounts: plan, allowance, subscription, export and import."""


operation(
    account,
    "account.create",
    click.argument("name"),
    click.option("--plan", type=PLAN, default="enterprise", show_default=True, help="A plan of the configuration, or none."),
)
operation(account, "account.list", columns=COLUMNS, pages=True)
operation(account, "account.show", click.argument("account", type=ACCOUNT, metavar="ID"))
operation(
    account,
    "account.set",
    click.argument("account", type=ACCOUNT, metavar="ID"),
    click.option("--name", help="The account's name."),
    click.option("--plan", type=PLAN, help="A plan of the configuration, or none; also sets the plan's limit."),
    click.option("--status", type=SUBSCRIPTION, help="active, trialing, past_due, canceled or paused."),
    click.option("--messages-limit", type=int, help="Messages a month; else unchanged, or the plan's."),
    click.option("--credits", type=int, help="Extra messages, which do not expire; else unchanged."),
)
operation(
    account,
    "account.delete",
    click.argument("account", type=ACCOUNT, metavar="ID"),
    confirm=Confirm("this deletes the account's bots, conversations, keys and usage for good", "deletion"),
)


@account.command()
@click.argument("account_id", type=ACCOUNT, metavar="ID")
@click.argument("file", type=OutputPath(over=False))
@click.option("--with-secrets", is_flag=True, help="Include the signing keys of webhooks; else the import makes new ones.")
@json_option
@click.pass_context
def export(ctx: click.Context, account_id: str, file: OutputFile, with_secrets: bool, as_json: bool) -> None:
    """Export an account with everything that belongs to it to a new file, for another installation.

    The file contains bots, knowledge, conversations, requests, appointments, webhooks with their events, usage, and the digests of API
    keys. Only you can read it. It contains visitors' messages: protect it like a backup.

    \b
    Examples:
      chatsvc account export 6f1c... acme.jsonl
      chatsvc account export 6f1c... acme.jsonl --with-secrets
    """
    from chatsvc.cli import progress, transfer

    def page(after: object) -> Any:
        return call(ctx, "account.export", account=account_id, after=after, with_secrets=with_secrets)

    # What is refused must not have made or emptied a file.
    told = page(None)
    with written(file) as stream, progress.shown("exporting") as far:
        writer = transfer.TransferWriter(stream, account_id)
        while True:
            for record in told["records"]:
                writer.write(record)
            far(f"exporting: {writer.lines:,} records", 0, 0)
            if told["next"] is None:
                break
            told = page(told["next"])
        writer.end()
    show({"id": account_id, "file": str(file), "records": writer.lines - 2}, as_json)


@account.command("import")
@click.argument("file", type=InputPath())
@json_option
@click.pass_context
def import_(ctx: click.Context, file: InputFile, as_json: bool) -> None:
    """Import an account from a file of `account export`; all of it or nothing.

    API keys stay valid. Webhooks whose signing key is not in the file get a new one, shown only once. Events that were pending at the
    export are kept and not sent, because the other installation sends them.

    \b
    Examples:
      chatsvc account import acme.jsonl
    """
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
