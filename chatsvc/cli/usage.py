"""`chatsvc usage`: messages, tokens and cost, this month's messages by WhatsApp, and what bots did by day."""

from __future__ import annotations

import click

from chatsvc.cli.output import call, json_option, show
from chatsvc.cli.words import ACCOUNT, BOT


@click.command()
@click.argument("account", type=ACCOUNT, required=False)
@click.option("--days", type=click.IntRange(1, 90), default=30, show_default=True, help="How many days, today included.")
@click.option("--quality", is_flag=True, help="What the bots did by day: answered, not answered, handed over, captured, thumbs.")
@click.option("--bot", type=BOT, help="Of this bot alone, with --quality.")
@json_option
@click.pass_context
def usage(ctx: click.Context, account: str | None, days: int, quality: bool, bot: str | None, as_json: bool) -> None:
    """Show messages, tokens and cost of an account; it may be left out where there is one.

    Shows the figures of `GET /analytics`: in total, by bot and by day, over the last days in UTC. Where a bot has WhatsApp, `whatsapp` has
    the messages that each bot sent there in this UTC month, each part of a long one counted. Those `beyond_free` come after the first
    1,000 and are said to cost: Meta's price list names the price.

    With --quality: by UTC day the messages with a reply, the questions without an answer, the conversations that went to a person,
    requests, appointments and thumbs. `first_response_s` is the time until a person wrote to a visitor who waited, and the lists name the
    entries that answered most and the questions that were missed most.

    \b
    Examples:
      chatsvc usage
      chatsvc usage 6f1c... --days 7 --json
      chatsvc usage --quality --bot 0b2e... --days 30
    """
    if bot is not None and not quality:
        raise click.UsageError("--bot needs --quality")
    if quality:
        found = call(ctx, "usage.quality", account=account, bot=bot, days=days)
    else:
        found = call(ctx, "usage", account=account, days=days)
        if sent := call(ctx, "usage.whatsapp", account=account):
            found["whatsapp"] = sent
    show(found, as_json)
