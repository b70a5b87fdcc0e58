"""`chatsvc usage`: messages, tokens and cost, this month's messages by WhatsApp, and what bots did by day."""

from __future__ import annotations

import click

from chatsvc.cli.operations import command, options
from chatsvc.cli.output import call, show
from chatsvc.cli.words import BOT


@command(None, "usage", "[account]", *options(days=(click.IntRange(1, 90), 30), quality=bool, bot=BOT))
def usage(ctx: click.Context, account: str | None, days: int, quality: bool, bot: str | None, as_json: bool) -> None:
    if bot is not None and not quality:
        raise click.UsageError("--bot needs --quality")
    if quality:
        found = call(ctx, "usage.quality", account=account, bot=bot, days=days)
    else:
        found = call(ctx, "usage", account=account, days=days)
        if sent := call(ctx, "usage.whatsapp", account=account):
            found["whatsapp"] = sent
    show(found, as_json)
