"""`chatsvc bot`: create, list, show, set, activate, deactivate."""

from __future__ import annotations

from typing import Any

import click

from chatsvc.cli.output import F, call, json_option, show
from chatsvc.cli.words import ACCOUNT, BOT, TIER

COLUMNS = ("id", "name", "model", "active", "messages_used", "account_id")

SETTINGS = (
    click.option("--model", type=TIER, metavar="TIER", help="A model tier of the configuration."),
    click.option("--description", help="What the bot is for."),
    click.option("--instructions", help="What the model is told."),
    click.option("--timezone", metavar="ZONE", help="Such as Europe/Istanbul."),
    click.option("--country", metavar="CC", help="Two letters; phone numbers are read as its own."),
    click.option("--language", metavar="TAG", help="The bot's own language, such as tr or en."),
    click.option("--opening-hours", metavar="HOURS", help='Such as "mon-fri 09:00-18:00; sat 10:00-14:00".'),
    click.option("--ask-back", type=click.Choice(["on", "off"]), help='Whether it asks "Did you mean ...?"; else only outside the API.'),
    click.option("--greeting", help="What it answers to a greeting."),
)


def settings(command: F) -> F:
    """Add the options that `create` and `set` share."""
    for option in reversed(SETTINGS):
        command = option(command)
    return command


def _given(values: dict[str, Any]) -> dict[str, Any]:
    ask_back = values.pop("ask_back")
    return {**values, "ask_back": None if ask_back is None else ask_back == "on"}


@click.group()
def bot() -> None:
    """Chatbots and their settings."""


@bot.command()
@click.argument("name")
@click.option("--account", type=ACCOUNT, metavar="ID", help="Its owner; may be left out where there is one account.")
@settings
@json_option
@click.pass_context
def create(ctx: click.Context, /, name: str, account: str | None, as_json: bool, **values: Any) -> None:
    """Create a bot.

    \b
    Example: chatsvc bot create "Front desk" --model offline --language tr
    """
    show(call(ctx, "bot.create", name=name, account=account, **_given(values)), as_json)


@bot.command("list")
@click.option("--account", type=ACCOUNT, metavar="ID", help="Only the bots of this account.")
@json_option
@click.pass_context
def list_(ctx: click.Context, account: str | None, as_json: bool) -> None:
    """List bots."""
    show(call(ctx, "bot.list", account=account), as_json, COLUMNS)


@bot.command("show")
@click.argument("bot_id", type=BOT, metavar="ID")
@json_option
@click.pass_context
def show_(ctx: click.Context, bot_id: str, as_json: bool) -> None:
    """Show one bot with its settings."""
    show(call(ctx, "bot.show", bot=bot_id), as_json)


@bot.command("set")
@click.argument("bot_id", type=BOT, metavar="ID")
@click.option("--name", help="What it is called.")
@settings
@json_option
@click.pass_context
def set_(ctx: click.Context, /, bot_id: str, as_json: bool, **values: Any) -> None:
    """Change settings, in force from the next message on; "" takes an optional text away.

    \b
    Example: chatsvc bot set 6f1c... --model fast --greeting "Merhaba!"
    """
    show(call(ctx, "bot.set", bot=bot_id, **_given(values)), as_json)


@bot.command()
@click.argument("bot_id", type=BOT, metavar="ID")
@json_option
@click.pass_context
def activate(ctx: click.Context, bot_id: str, as_json: bool) -> None:
    """Let a bot accept messages."""
    show(call(ctx, "bot.activate", bot=bot_id), as_json)


@bot.command()
@click.argument("bot_id", type=BOT, metavar="ID")
@json_option
@click.pass_context
def deactivate(ctx: click.Context, bot_id: str, as_json: bool) -> None:
    """Let a bot reject messages."""
    show(call(ctx, "bot.deactivate", bot=bot_id), as_json)
