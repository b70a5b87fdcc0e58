"""`chatsvc account`: create, list, show, set, delete."""

from __future__ import annotations

import click

from chatsvc.cli.output import call, json_option, show

COLUMNS = ("id", "name", "plan", "subscription_status", "messages_used", "messages_limit", "message_credits")


@click.group()
def account() -> None:
    """Accounts: their plan, allowance and subscription."""


@account.command()
@click.argument("name")
@click.option("--plan", default="enterprise", show_default=True, help="A plan of the configuration, or none.")
@json_option
@click.pass_context
def create(ctx: click.Context, name: str, plan: str, as_json: bool) -> None:
    """Create an account.

    \b
    Example: chatsvc account create "Acme Ltd" --plan business
    """
    show(call(ctx, "account.create", name=name, plan=plan), as_json)


@account.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """List all accounts."""
    show(call(ctx, "account.list"), as_json, COLUMNS)


@account.command("show")
@click.argument("account_id", metavar="ID")
@json_option
@click.pass_context
def show_(ctx: click.Context, account_id: str, as_json: bool) -> None:
    """Show one account."""
    show(call(ctx, "account.show", account=account_id), as_json)


@account.command("set")
@click.argument("account_id", metavar="ID")
@click.option("--plan", help="A plan of the configuration, or none; sets the limit to the plan's, too.")
@click.option("--status", help="active, trialing, past_due, canceled or paused.")
@click.option("--messages-limit", type=int, help="Messages a month.")
@click.option("--credits", type=int, help="Messages beyond the monthly ones; they do not expire.")
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

    \b
    Example: chatsvc account set 6f1c... --plan enterprise --credits 500
    """
    show(
        call(ctx, "account.set", account=account_id, plan=plan, status=status, messages_limit=messages_limit, credits=credits),
        as_json,
    )


@account.command()
@click.argument("account_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Really delete: bots, conversations, keys, knowledge, usage.")
@json_option
@click.pass_context
def delete(ctx: click.Context, account_id: str, yes: bool, as_json: bool) -> None:
    """Delete an account with everything that belongs to it."""
    if not yes:
        raise click.UsageError("this deletes the account's bots, conversations, keys and usage for good: add --yes")
    show(call(ctx, "account.delete", account=account_id), as_json)
