"""`chatsvc bot`: create, list, show, set, activate, deactivate."""

from __future__ import annotations

from typing import Any

import click

from chatsvc.cli.output import F, call, json_option, show
from chatsvc.cli.words import ACCOUNT, BOT, TIER

COLUMNS = ("id", "name", "model", "active", "messages_used", "account_id")

SETTINGS = (
    click.option("--model", type=TIER, metavar="TIER", help="A model tier of the configuration; a new bot's is the first."),
    click.option("--description", help="What the bot is for."),
    click.option("--instructions", help="What the model is told."),
    click.option("--timezone", metavar="ZONE", help="Where its clock hangs; a new bot's is Europe/Istanbul."),
    click.option("--country", metavar="CC", help="Two letters; phone numbers are read as its own. A new bot's is TR."),
    click.option("--language", metavar="TAG", help="The bot's own language, such as en; a new bot's is tr."),
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

    It accepts messages at once. `--model` names one of the tiers under `models:` in the configuration; a tier with the engine `knowledge`
    answers from what `knowledge add` has put in.

    \b
    Examples:
      chatsvc bot create "Front desk" --model offline --language en
      chatsvc bot create "Resepsiyon" --model fast --opening-hours "mon-fri 09:00-18:00; sat 10:00-14:00"
    """
    show(call(ctx, "bot.create", name=name, account=account, **_given(values)), as_json)


@bot.command("list")
@click.option("--account", type=ACCOUNT, metavar="ID", help="Only the bots of this account.")
@json_option
@click.pass_context
def list_(ctx: click.Context, account: str | None, as_json: bool) -> None:
    """List bots, account by account.

    With each its tier, whether it accepts messages, how many it has answered since it exists, and its account.

    \b
    Examples:
      chatsvc bot list
      chatsvc bot list --account 6f1c... --json
    """
    show(call(ctx, "bot.list", account=account), as_json, COLUMNS)


@bot.command("show")
@click.argument("bot_id", type=BOT, metavar="ID")
@json_option
@click.pass_context
def show_(ctx: click.Context, bot_id: str, as_json: bool) -> None:
    """Show one bot with its settings.

    The same fields as `GET /chatbots/{id}` of the interface, and the settings that only an administrator sees.

    \b
    Examples:
      chatsvc bot show 6f1c...
    """
    show(call(ctx, "bot.show", bot=bot_id), as_json)


@bot.command("set")
@click.argument("bot_id", type=BOT, metavar="ID")
@click.option("--name", help="What it is called.")
@settings
@json_option
@click.pass_context
def set_(ctx: click.Context, /, bot_id: str, as_json: bool, **values: Any) -> None:
    """Change a bot's settings, in force from the next message on.

    What is not given stays; "" takes an optional text away.

    \b
    Examples:
      chatsvc bot set 6f1c... --model fast --greeting "Merhaba!"
      chatsvc bot set 6f1c... --opening-hours ""
    """
    show(call(ctx, "bot.set", bot=bot_id, **_given(values)), as_json)


@bot.command()
@click.argument("bot_id", type=BOT, metavar="ID")
@json_option
@click.pass_context
def activate(ctx: click.Context, bot_id: str, as_json: bool) -> None:
    """Let a bot accept messages.

    The opposite of `bot deactivate`; in force at once.

    \b
    Examples:
      chatsvc bot activate 6f1c...
    """
    show(call(ctx, "bot.activate", bot=bot_id), as_json)


@bot.command()
@click.argument("bot_id", type=BOT, metavar="ID")
@json_option
@click.pass_context
def deactivate(ctx: click.Context, bot_id: str, as_json: bool) -> None:
    """Let a bot reject messages.

    Callers get 409 `chatbot_inactive` from the next message on; everything the bot has is kept.

    \b
    Examples:
      chatsvc bot deactivate 6f1c...
    """
    show(call(ctx, "bot.deactivate", bot=bot_id), as_json)
