"""`chatsvc saved-reply`: list, set, remove."""

from __future__ import annotations

import click

from chatsvc.cli.output import call, json_option, show
from chatsvc.cli.words import ACCOUNT

COLUMNS = ("name", "text")


@click.group()
def saved_reply() -> None:
    """Manage the texts that operators insert into their messages."""


@saved_reply.command("list")
@click.option("--account", type=ACCOUNT, metavar="ID", help="The account; optional when there is only one.")
@json_option
@click.pass_context
def list_(ctx: click.Context, account: str | None, as_json: bool) -> None:
    """List the saved replies of an account by name.

    Shows the texts as they were saved, with {name} where the visitor's name will stand.

    \b
    Examples:
      chatsvc saved-reply list
      chatsvc saved-reply list --account 6f1c... --json
    """
    show(call(ctx, "saved_reply.list", account=account), as_json, COLUMNS)


@saved_reply.command("set")
@click.argument("name")
@click.argument("text")
@click.option("--account", type=ACCOUNT, metavar="ID", help="The account; optional when there is only one.")
@json_option
@click.pass_context
def set_(ctx: click.Context, name: str, text: str, account: str | None, as_json: bool) -> None:
    """Save a reply, in place of one of the same name.

    In the dashboard an operator types / in a message and chooses it. {name} in the text becomes the visitor's name.

    \b
    Examples:
      chatsvc saved-reply set greeting "Hello {name}, this is Ada. How can I help?"
    """
    show(call(ctx, "saved_reply.set", name=name, text=text, account=account), as_json)


@saved_reply.command()
@click.argument("name")
@click.option("--account", type=ACCOUNT, metavar="ID", help="The account; optional when there is only one.")
@json_option
@click.pass_context
def remove(ctx: click.Context, name: str, account: str | None, as_json: bool) -> None:
    """Remove a saved reply.

    Messages that were written with it stay as they are.

    \b
    Examples:
      chatsvc saved-reply remove greeting
    """
    show(call(ctx, "saved_reply.remove", name=name, account=account), as_json)
