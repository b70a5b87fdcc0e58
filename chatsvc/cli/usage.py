"""`chatsvc usage`: messages, tokens and cost, and this month's messages by WhatsApp."""

from __future__ import annotations

import click

from chatsvc.cli.output import call, json_option, show
from chatsvc.cli.words import ACCOUNT


@click.command()
@click.argument("account", type=ACCOUNT, required=False)
@click.option("--days", type=click.IntRange(1, 90), default=30, show_default=True, help="How many days, today included.")
@json_option
@click.pass_context
def usage(ctx: click.Context, account: str | None, days: int, as_json: bool) -> None:
    """Show messages, tokens and cost of an account; it may be left out where there is one.

    Shows the figures of `GET /analytics`: in total, by bot and by day, over the last days in UTC. Where a bot has WhatsApp, `whatsapp` has
    the messages that each bot sent there in this UTC month, each part of a long one counted. Those `beyond_free` come after the first
    1,000 and are said to cost: Meta's price list names the price.

    \b
    Examples:
      chatsvc usage
      chatsvc usage 6f1c... --days 7 --json
    """
    found = call(ctx, "usage", account=account, days=days)
    if sent := call(ctx, "usage.whatsapp", account=account):
        found["whatsapp"] = sent
    show(found, as_json)
