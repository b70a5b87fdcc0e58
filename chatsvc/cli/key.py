"""`chatsvc key`: create, list, revoke."""

from __future__ import annotations

import click

from chatsvc.cli.operations import operation
from chatsvc.cli.words import ACCOUNT, KEY

COLUMNS = ("id", "name", "prefix", "status", "created_at", "expires_at", "last_used_at")


@click.group()
def key() -> None:
    """Create, list and revoke API keys."""


operation(
    key,
    "key.create",
    click.option("--account", type=ACCOUNT, metavar="ID", help="The owner; optional when there is only one account."),
    click.option("--name", metavar="LABEL", help="A label to recognise the key by."),
    click.option("--expires", metavar="TIME", help="2027-01-31 or 2027-01-31T18:00, UTC; else it does not expire."),
    told=lambda _: "Keep the key now: it is not shown again.",
)
operation(
    key,
    "key.list",
    click.option("--account", type=ACCOUNT, metavar="ID", help="Only the keys of this account."),
    columns=COLUMNS,
    pages=True,
)
operation(key, "key.revoke", click.argument("key", type=KEY, metavar="KEY_ID"))
