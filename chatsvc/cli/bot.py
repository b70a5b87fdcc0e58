"""`chatsvc bot`: create, list, show, set, export, apply, sync, activate, deactivate, delete."""

from typing import Any

import click

from chatsvc.cli.bot_sync import sync
from chatsvc.cli.files import InputFile, InputPath
from chatsvc.cli.knowledge_reading import read_text
from chatsvc.cli.operations import command, group, operation, options
from chatsvc.cli.output import call, echo, show, to_json
from chatsvc.cli.words import ACCOUNT, TIER, Called
from chatsvc.domain.terminal import one_line

MINUTES = Called("M", click.IntRange(1, 1440))
SWITCH = click.Choice(["on", "off"])

SETTINGS = options(
    model=TIER,
    description=str,
    instructions=str,
    timezone="ZONE",
    country="CC",
    language="TAG",
    opening_hours="HOURS",
    ask_back=SWITCH,
    greeting=str,
    hand_off=SWITCH,
    hand_off_wait=MINUTES,
    hand_off_return=MINUTES,
    fallback=click.Choice(["knowledge", "none"]),
)


def _given(values: dict[str, Any]) -> dict[str, Any]:
    switches = {name: None if values[name] is None else values[name] == "on" for name in ("ask_back", "hand_off")}
    offered = values.pop("suggestions", ())
    return {**values, **switches, "suggestions": list(filter(None, offered)) if offered else None}


bot = group("bot")


bot.add_command(sync)

operation(bot, "bot.create", "name", *options(account=ACCOUNT), *SETTINGS, arguments=_given)
operation(bot, "bot.list", *options(account=ACCOUNT), columns="id name model active messages_used account_id", pages=True)
operation(bot, "bot.show", "bot ID")
operation(bot, "bot.set", "bot ID", *options(name=str), *SETTINGS, *options(suggestions=["T"]), arguments=_given)


@command(bot, "export", "bot ID")
def export(ctx: click.Context, bot: str, as_json: bool) -> None:
    text = call(ctx, "bot.export", bot=bot)
    echo(to_json({"yaml": text}) if as_json else text, nl=as_json)


@command(bot, "apply", "bot ID", click.argument("file", type=InputPath()), *options(dry_run=bool, test=bool))
def apply(ctx: click.Context, bot: str, file: InputFile, dry_run: bool, test: bool, as_json: bool) -> None:
    if dry_run and test:
        raise click.UsageError("--dry-run goes not with --test")
    if dry_run:
        found = call(ctx, "bot.compare", bot=bot, file=file.name, text=read_text(file))
        echo(to_json(found) if as_json else "\n".join(map(one_line, found["lines"])) or "nothing would change")
        return
    show(call(ctx, "bot.apply", bot=bot, file=file.name, text=read_text(file), test=test or None), as_json)


operation(bot, "bot.activate", "bot ID")
operation(bot, "bot.deactivate", "bot ID")
operation(bot, "bot.delete", "bot ID", confirm="this deletes the bot's knowledge, conversations, requests and usage for good")
