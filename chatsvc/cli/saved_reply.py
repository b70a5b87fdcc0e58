"""`chatsvc saved-reply`: list, set, remove."""

from __future__ import annotations

import click

from chatsvc.cli.operations import operation
from chatsvc.cli.words import ACCOUNT

COLUMNS = ("name", "text")


@click.group()
def saved_reply() -> None:
    """Manage the texts that operators insert into their messages."""


@operation(
    saved_reply,
    "saved_reply.list",
    click.option("--account", type=ACCOUNT, metavar="ID", help="The account; optional when there is only one."),
    columns=COLUMNS,
)
def list_() -> None:
    """List the saved replies of an account by name.

    Shows the texts as they were saved, with {name} where the visitor's name will stand.

    \b
    Examples:
      chatsvc saved-reply list
      chatsvc saved-reply list --account 6f1c... --json
    """


@operation(
    saved_reply,
    "saved_reply.set",
    click.argument("name"),
    click.argument("text"),
    click.option("--account", type=ACCOUNT, metavar="ID", help="The account; optional when there is only one."),
)
def set_() -> None:
    """Save a reply, in place of one of the same name.

    In the dashboard an operator types / in a message and chooses it. {name} in the text becomes the visitor's name.

    \b
    Examples:
      chatsvc saved-reply set greeting "Hello {name}, this is Ada. How can I help?"
    """


@operation(
    saved_reply,
    "saved_reply.remove",
    click.argument("name"),
    click.option("--account", type=ACCOUNT, metavar="ID", help="The account; optional when there is only one."),
)
def remove() -> None:
    """Remove a saved reply.

    Messages that were written with it stay as they are.

    \b
    Examples:
      chatsvc saved-reply remove greeting
    """
