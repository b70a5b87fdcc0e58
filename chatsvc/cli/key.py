"""`chatsvc key`: create, list, revoke."""

from __future__ import annotations

import click

from chatsvc.cli.output import call, echo, json_option, show
from chatsvc.cli.words import ACCOUNT, KEY

COLUMNS = ("id", "name", "prefix", "status", "created_at", "expires_at", "last_used_at")


@click.group()
def key() -> None:
    """API keys."""


@key.command()
@click.option("--account", type=ACCOUNT, metavar="ID", help="Its owner; may be left out where there is one account.")
@click.option("--name", metavar="LABEL", help="What tells it from others.")
@click.option("--expires", metavar="TIME", help="2027-01-31 or 2027-01-31T18:00, UTC; else it does not expire.")
@json_option
@click.pass_context
def create(ctx: click.Context, account: str | None, name: str | None, expires: str | None, as_json: bool) -> None:
    """Create an API key. It is shown this once and never again.

    Whoever has it may use the interface for the account: keep it on servers, never in a page or an app. Only a digest of it is stored.

    \b
    Examples:
      chatsvc key create --name "web server"
      chatsvc key create --account 6f1c... --expires 2027-12-31
    """
    made = call(ctx, "key.create", account=account, name=name, expires=expires)
    show(made, as_json)
    if not as_json:
        echo("Keep the key now: it is not shown again.", err=True)


@key.command("list")
@click.option("--account", type=ACCOUNT, metavar="ID", help="Only the keys of this account.")
@json_option
@click.pass_context
def list_(ctx: click.Context, account: str | None, as_json: bool) -> None:
    """List keys; the keys themselves are not kept.

    With each its beginning, its status, when it expires and when it was last used.

    \b
    Examples:
      chatsvc key list
      chatsvc key list --account 6f1c... --json
    """
    show(call(ctx, "key.list", account=account), as_json, COLUMNS)


@key.command()
@click.argument("key_id", type=KEY)
@json_option
@click.pass_context
def revoke(ctx: click.Context, key_id: str, as_json: bool) -> None:
    """Revoke a key; the very next request with it is refused.

    KEY_ID is the one that `key list` shows, not the key. It cannot be undone: make a new key instead.

    \b
    Examples:
      chatsvc key revoke 6f1c...
    """
    show(call(ctx, "key.revoke", key=key_id), as_json)
