"""`chatsvc bot`: create, list, show, set, export, apply, sync, activate, deactivate, delete."""

from __future__ import annotations

from typing import Any

import click

from chatsvc.cli.bot_sync import sync
from chatsvc.cli.files import InputFile, InputPath
from chatsvc.cli.knowledge_reading import read_text
from chatsvc.cli.operations import Confirm, operation
from chatsvc.cli.output import call, echo, json_option, show, to_json
from chatsvc.cli.words import ACCOUNT, BOT, TIER
from chatsvc.domain.terminal import one_line

COLUMNS = ("id", "name", "model", "active", "messages_used", "account_id")

MINUTES = click.IntRange(1, 1440)

SETTINGS = (
    click.option("--model", type=TIER, metavar="TIER", help="A tier of the configuration; the default is the first."),
    click.option("--description", help="Short description."),
    click.option("--instructions", help="Instructions for the model."),
    click.option("--timezone", metavar="ZONE", help="The bot's time zone; the default is Europe/Istanbul."),
    click.option("--country", metavar="CC", help="Two letters, for telephone numbers without a country code; the default is TR."),
    click.option("--language", metavar="TAG", help="The bot's own language, such as en; the default is tr."),
    click.option("--opening-hours", metavar="HOURS", help='Such as "Mon-Fri 9-18, Sat 10-14" or "her gün 9-22, pazar kapalı".'),
    click.option("--ask-back", type=click.Choice(["on", "off"]), help='Ask "Did you mean ...?" and give hedged answers; on by default.'),
    click.option("--greeting", help="The reply to a greeting."),
    click.option("--hand-off", type=click.Choice(["on", "off"]), help="Call a person where a visitor asks for one; off by default."),
    click.option("--hand-off-wait", type=MINUTES, metavar="M", help="Minutes until the bot takes a request as nobody came; else 10."),
    click.option("--hand-off-return", type=MINUTES, metavar="M", help="Minutes of the operator's silence until the bot returns; else 30."),
    click.option("--fallback", type=click.Choice(["knowledge", "none"]), help="What replies where the model fails; by default nothing."),
)


def _given(values: dict[str, Any]) -> dict[str, Any]:
    switches = {name: None if values[name] is None else values[name] == "on" for name in ("ask_back", "hand_off")}
    offered = values.pop("suggestions", ())
    return {**values, **switches, "suggestions": list(filter(None, offered)) if offered else None}


@click.group()
def bot() -> None:
    """Manage bots and their settings."""


bot.add_command(sync)


operation(
    bot,
    "bot.create",
    click.argument("name"),
    click.option("--account", type=ACCOUNT, metavar="ID", help="The owner; optional when there is only one account."),
    *SETTINGS,
    arguments=_given,
)
operation(
    bot,
    "bot.list",
    click.option("--account", type=ACCOUNT, metavar="ID", help="Only the bots of this account."),
    columns=COLUMNS,
    pages=True,
)
operation(bot, "bot.show", click.argument("bot", type=BOT, metavar="ID"))
operation(
    bot,
    "bot.set",
    click.argument("bot", type=BOT, metavar="ID"),
    click.option("--name", help="The bot's name."),
    *SETTINGS,
    click.option(
        "--suggestion", "suggestions", multiple=True, metavar="T", help='A question offered to visitors first, up to four; "" none.'
    ),
    arguments=_given,
)


@bot.command()
@click.argument("bot_id", type=BOT, metavar="ID")
@json_option
@click.pass_context
def export(ctx: click.Context, bot_id: str, as_json: bool) -> None:
    """Print a bot as YAML: settings, closed days, texts, forms, suggestions and tests.

    `bot apply` reads the same file. Nothing of the knowledge, the keys or the visitors is in it.

    \b
    Examples:
      chatsvc bot export 6f1c... > salon.yaml
    """
    text = call(ctx, "bot.export", bot=bot_id)
    echo(to_json({"yaml": text}) if as_json else text, nl=as_json)


@bot.command()
@click.argument("bot_id", type=BOT, metavar="ID")
@click.argument("file", type=InputPath())
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@click.option("--test", is_flag=True, help="Run the bot's tests first, and change nothing if one fails.")
@json_option
@click.pass_context
def apply(ctx: click.Context, bot_id: str, file: InputFile, dry_run: bool, test: bool, as_json: bool) -> None:
    """Apply a file of `bot export` to a bot.

    Parts that the file does not name stay as they are. All faults are told at once, with line and column; then nothing is changed. With
    `--dry-run`, lines of the bot's file that would go begin with `-`, new ones with `+`.

    `--test` runs the tests that the bot would have, on the knowledge that it has. `knowledge:` in the file is for `bot sync`.

    \b
    Examples:
      chatsvc bot apply 6f1c... salon.yaml --dry-run
      chatsvc bot apply 6f1c... salon.yaml --test
    """
    if dry_run and test:
        raise click.UsageError("--dry-run goes not with --test")
    if dry_run:
        found = call(ctx, "bot.compare", bot=bot_id, file=file.name, text=read_text(file))
        echo(to_json(found) if as_json else "\n".join(map(one_line, found["lines"])) or "nothing would change")
        return
    show(call(ctx, "bot.apply", bot=bot_id, file=file.name, text=read_text(file), test=test or None), as_json)


operation(bot, "bot.activate", click.argument("bot", type=BOT, metavar="ID"))
operation(bot, "bot.deactivate", click.argument("bot", type=BOT, metavar="ID"))
operation(
    bot,
    "bot.delete",
    click.argument("bot", type=BOT, metavar="ID"),
    confirm=Confirm("this deletes the bot's knowledge, conversations, requests and usage for good", "deletion"),
)
