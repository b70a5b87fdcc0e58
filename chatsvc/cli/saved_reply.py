"""`chatsvc saved-reply`: list, set, remove."""

from __future__ import annotations

import click

from chatsvc.cli.operations import operation
from chatsvc.cli.words import ACCOUNT

OF_ACCOUNT = click.option("--account", type=ACCOUNT, metavar="ID", help="The account; optional when there is only one.")


@click.group()
def saved_reply() -> None:
    """Manage the texts that operators insert into their messages."""


operation(saved_reply, "saved_reply.list", OF_ACCOUNT, columns=("name", "text"))
operation(saved_reply, "saved_reply.set", click.argument("name"), click.argument("text"), OF_ACCOUNT)
operation(saved_reply, "saved_reply.remove", click.argument("name"), OF_ACCOUNT)
