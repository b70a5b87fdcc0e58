"""`chatsvc account`: create, list, show, set, delete, export, import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from chatsvc.cli.output import call, echo, json_option, new_file, show
from chatsvc.cli.words import ACCOUNT, PLAN, SUBSCRIPTION
from chatsvc.domain.errors import Refused

COLUMNS = ("id", "name", "plan", "subscription_status", "messages_used", "messages_limit", "message_credits")


@click.group()
def account() -> None:
    """Accounts: their plan, allowance and subscription."""


@account.command()
@click.argument("name")
@click.option("--plan", type=PLAN, default="enterprise", show_default=True, help="A plan of the configuration, or none.")
@json_option
@click.pass_context
def create(ctx: click.Context, name: str, plan: str, as_json: bool) -> None:
    """Create an account.

    An account has a plan, an allowance of messages a month, bots and API keys. Its bots are made with `bot create`, its keys with
    `key create`.

    \b
    Examples:
      chatsvc account create "Acme Ltd"
      chatsvc account create "Acme Ltd" --plan business --json
    """
    show(call(ctx, "account.create", name=name, plan=plan), as_json)


@account.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """List all accounts, oldest first.

    With each its plan, its subscription's status, and what it has used of its allowance in this calendar month (UTC).

    \b
    Examples:
      chatsvc account list
      chatsvc account list --json
    """
    show(call(ctx, "account.list"), as_json, COLUMNS)


@account.command("show")
@click.argument("account_id", type=ACCOUNT, metavar="ID")
@json_option
@click.pass_context
def show_(ctx: click.Context, account_id: str, as_json: bool) -> None:
    """Show one account.

    With its plan and subscription, its allowance, what is used of it in this calendar month (UTC), and its credits.

    \b
    Examples:
      chatsvc account show 6f1c...
    """
    show(call(ctx, "account.show", account=account_id), as_json)


@account.command("set")
@click.argument("account_id", type=ACCOUNT, metavar="ID")
@click.option("--plan", type=PLAN, help="A plan of the configuration, or none; sets the limit to the plan's, too.")
@click.option("--status", type=SUBSCRIPTION, help="active, trialing, past_due, canceled or paused.")
@click.option("--messages-limit", type=int, help="Messages a month; else as they were, or the plan's.")
@click.option("--credits", type=int, help="Messages beyond the monthly ones, which do not expire; else as they were.")
@json_option
@click.pass_context
def set_(
    ctx: click.Context,
    *,
    account_id: str,
    plan: str | None,
    status: str | None,
    messages_limit: int | None,
    credits: int | None,
    as_json: bool,
) -> None:
    """Change an account, in force from the next request on.

    What is not given stays. A plan brings its limit along, unless --messages-limit says another; with `--plan none` the limit is 0 and
    nothing of the interface is open.

    \b
    Examples:
      chatsvc account set 6f1c... --plan enterprise --credits 500
      chatsvc account set 6f1c... --messages-limit 25000
      chatsvc account set 6f1c... --status past_due
    """
    show(
        call(ctx, "account.set", account=account_id, plan=plan, status=status, messages_limit=messages_limit, credits=credits),
        as_json,
    )


@account.command()
@click.argument("account_id", type=ACCOUNT, metavar="ID")
@click.option("--yes", is_flag=True, help="Really delete: bots, conversations, keys, knowledge, usage.")
@json_option
@click.pass_context
def delete(ctx: click.Context, account_id: str, yes: bool, as_json: bool) -> None:
    """Delete an account with everything that belongs to it.

    Bots, conversations, requests, appointments, webhooks, knowledge and usage go for good; the digests of its keys stay, so that callers
    are told that the account is gone. `account export` or a backup keeps a copy.

    \b
    Examples:
      chatsvc account delete 6f1c... --yes
    """
    if not yes:
        raise click.UsageError("this deletes the account's bots, conversations, keys and usage for good: add --yes")
    show(call(ctx, "account.delete", account=account_id), as_json)


FILE = click.Path(dir_okay=False, path_type=Path)


@account.command()
@click.argument("account_id", type=ACCOUNT, metavar="ID")
@click.argument("file", type=FILE)
@click.option("--with-secrets", is_flag=True, help="Also the signing keys of webhooks; else the import makes new ones.")
@json_option
@click.pass_context
def export(ctx: click.Context, account_id: str, file: Path, with_secrets: bool, as_json: bool) -> None:
    """Write an account with everything that belongs to it into a new file, for another installation.

    Bots, knowledge, conversations, requests, appointments, webhooks and what they told, usage, the digests of API keys. The file is
    readable by you alone, and says what visitors said: keep it as you keep a backup.

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
    with new_file(file, over=False) as stream, progress.shown("exporting") as far:
        try:
            writer = transfer.Writer(stream, account_id)
            while True:
                for record in told["records"]:
                    writer.write(record)
                far(f"exporting: {writer.lines:,} records", 0, 0)
                if told["next"] is None:
                    break
                told = page(told["next"])
            writer.end()
        except BaseException:
            # Half an account is of no use, and would be in the way of the next try.
            file.unlink(missing_ok=True)
            raise
    show({"id": account_id, "file": str(file), "records": writer.lines - 2}, as_json)


@account.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
@click.pass_context
def import_(ctx: click.Context, file: Path, as_json: bool) -> None:
    """Take in an account that `account export` has written; all of it or nothing.

    API keys go on working. Webhooks whose signing key the file does not have get a new one, shown this once. What was still to be sent
    when the file was written is kept and not sent: the other installation sends it.

    \b
    Examples:
      chatsvc account import acme.jsonl
    """
    from chatsvc.cli import progress, transfer

    account_id, webhooks, complete = transfer.check(file), [], False
    with progress.shown("importing") as far:
        batches = transfer.records(file)
        ((_, record),) = next(batches)
        begun = call(ctx, "account.import_begin", record=record)["id"]
        try:
            if begun != account_id:
                raise Refused(f"{file} is of another account than it says")
            read = 0
            for batch in batches:
                read += len(batch)
                far(f"importing: {read:,} records", 0, 0)
                webhooks += call(ctx, "account.import_put", account=begun, records=batch)["webhooks"]
            complete = True
        finally:
            shown = call(ctx, "account.import_end", account=begun, complete=complete)
    show({**shown, "webhooks": webhooks}, as_json)
    if webhooks and not as_json:
        echo("Keep the signing keys now: they are not shown again.", err=True)
