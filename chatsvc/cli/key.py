"""`chatsvc key`: create, list, revoke."""

from __future__ import annotations

import click

from chatsvc.cli.operations import operation
from chatsvc.cli.words import ACCOUNT, KEY

COLUMNS = ("id", "name", "prefix", "status", "created_at", "expires_at", "last_used_at")


@click.group()
def key() -> None:
    """Create, list and revoke API keys."""


@operation(
    key,
    "key.create",
    click.option("--account", type=ACCOUNT, metavar="ID", help="The owner; optional when there is only one account."),
    click.option("--name", metavar="LABEL", help="A label to recognise the key by."),
    click.option("--expires", metavar="TIME", help="2027-01-31 or 2027-01-31T18:00, UTC; else it does not expire."),
    told=lambda _: "Keep the key now: it is not shown again.",
)
def create() -> None:
    """Create an API key. It is shown only once.

    The key gives access to the account over the interface: keep it on servers, never in a web page or an app. Only its digest is stored.

    \b
    Examples:
      chatsvc key create --name "web server"
      chatsvc key create --account 6f1c... --expires 2027-12-31
    """


@operation(
    key,
    "key.list",
    click.option("--account", type=ACCOUNT, metavar="ID", help="Only the keys of this account."),
    columns=COLUMNS,
    pages=True,
)
def list_() -> None:
    """List keys; the keys themselves are not stored.

    Shows the key's beginning, its status, when it expires and when it was last used.

    \b
    Examples:
      chatsvc key list
      chatsvc key list --account 6f1c... --json
    """


@operation(key, "key.revoke", click.argument("key", type=KEY, metavar="KEY_ID"))
def revoke() -> None:
    """Revoke a key; the very next request with it is refused.

    KEY_ID is the id that `key list` shows, not the key. Revoking cannot be undone: create a new key instead.

    \b
    Examples:
      chatsvc key revoke 6f1c...
    """
