"""`chatsvc bot`: create, list, show, set, export, apply, sync, activate, deactivate, delete."""

from pathlib import Path
from typing import Any

import click

from chatsvc.cli.files import InputPath, parse_knowledge, read_text
from chatsvc.cli.operations import ACCOUNT, TIER, Called, command, group, operation, options
from chatsvc.cli.output import call, counted, echo, progress, show
from chatsvc.domain.errors import CommandError
from chatsvc.domain.escaping import one_line, to_json

MINUTES = Called("M", click.IntRange(1, 1440))
COUNT = Called("N", click.IntRange(1, 100))
SWITCH = click.Choice(["on", "off"])

SETTINGS = options(
    model=TIER,
    description=str,
    instructions=str,
    timezone="ZONE",
    country="CC",
    language="TAG",
    opening_hours="HOURS",
    phone=str,
    email=str,
    address=str,
    appointment_minutes=MINUTES,
    appointments_at_once=COUNT,
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


operation(bot, "bot.create", "name", *options(account=ACCOUNT), *SETTINGS, arguments=_given)
operation(bot, "bot.list", *options(account=ACCOUNT), columns="id name model active messages_used account_id", pages=True)
operation(bot, "bot.show", "bot ID")
operation(bot, "bot.set", "bot ID", *options(name=str), *SETTINGS, *options(suggestions=["T"]), arguments=_given)


@command(bot, "export", "bot ID")
def export(ctx: click.Context, bot: str, as_json: bool) -> None:
    text = call(ctx, "bot.export", bot=bot)
    echo(to_json({"yaml": text}) if as_json else text, nl=as_json)


@command(bot, "apply", "bot ID", click.argument("file", type=InputPath()), *options(dry_run=bool, test=bool))
def apply(ctx: click.Context, bot: str, file: Path, dry_run: bool, test: bool, as_json: bool) -> None:
    if dry_run and test:
        raise click.UsageError("--dry-run goes not with --test")
    if dry_run:
        plan = call(ctx, "bot.compare", bot=bot, file=file.name, text=read_text(file))
        echo(to_json(plan) if as_json else "\n".join(map(one_line, plan["lines"])) or "nothing would change")
        return
    show(call(ctx, "bot.apply", bot=bot, file=file.name, text=read_text(file), test=test or None), as_json)


operation(bot, "bot.activate", "bot ID")
operation(bot, "bot.deactivate", "bot ID")
operation(bot, "bot.delete", "bot ID", confirm="this deletes the bot's knowledge, conversations, requests and usage for good")


@command(
    bot,
    "sync",
    click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path)),
    *options(account=ACCOUNT, check=bool, prune=bool),
)
def sync(ctx: click.Context, folder: Path, account: str | None, check: bool, prune: bool, as_json: bool) -> None:
    from chatsvc.cli.bot_folder import read_folder

    with progress("reading"):
        bots = read_folder(folder)
        knowledge = parse_knowledge([(bot.knowledge, str(bot.parts.get("language") or "tr")) for bot in bots])
        files = [{"file": bot.file, "text": bot.text, "knowledge": parsed} for bot, parsed in zip(bots, knowledge, strict=True)]
        result = call(ctx, "bot.sync", files=files, account=account, prune=prune, check=check)
    plan, failed = result["plan"], result["failed"]
    if as_json:
        show(plan, True)
    else:
        # A row for each detail: cells of tables are cut.
        rows = []
        for step in plan:
            settings, files = step["details"]["settings"], step["details"]["files"]
            lines = [f"{file['source']}: {counted(file['entries'], 'entry', 'entries')}, {file['replaced']} before" for file in files]
            rows += [{**step, "details": detail} for detail in [*settings, *lines] or [None]]
        show(rows, False, ("bot", "change", "details"))
    faults = [f"the test {test['ask']!r} of {test['bot']} fails: {test['why']}" for test in failed]
    if check and any(step["change"] != "none" for step in plan):
        faults.insert(0, "something would change")
    if faults:
        raise CommandError("\n".join(map(one_line, faults)))
