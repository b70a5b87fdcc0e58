"""`chatsvc bot sync`: bots, their knowledge and their tests from a folder."""

from pathlib import Path
from typing import Any

import click

from chatsvc.cli import progress
from chatsvc.cli.operations import command, options
from chatsvc.cli.output import call, counted, show
from chatsvc.cli.words import ACCOUNT
from chatsvc.domain.errors import CommandError
from chatsvc.domain.terminal import one_line


@command(
    None,
    "sync",
    click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path)),
    *options(account=ACCOUNT, check=bool, prune=bool),
    key="bot_sync",
)
def sync(ctx: click.Context, folder: Path, account: str | None, check: bool, prune: bool, as_json: bool) -> None:
    from chatsvc.cli.bot_folder import read_folder
    from chatsvc.cli.knowledge_reading import parse_knowledge

    with progress.shown("reading"):
        bots = read_folder(folder)
        knowledge = parse_knowledge([(bot.knowledge, str(bot.columns.get("language") or "tr")) for bot in bots])
        files = [{"file": bot.file, "text": bot.text, "knowledge": parsed} for bot, parsed in zip(bots, knowledge, strict=True)]
        result = call(ctx, "bot.sync", files=files, account=account, prune=prune, check=check)
    plan, failed = result["plan"], result["failed"]
    if as_json:
        show(plan, True)
    else:
        # A row for each detail: cells of tables are cut.
        show([{**step, "details": one} for step in plan for one in _details(step["details"])], False, ("bot", "change", "details"))
    faults = [f"the test {one['ask']!r} of {one['bot']} fails: {one['why']}" for one in failed]
    if check and any(step["change"] != "none" for step in plan):
        faults.insert(0, "something would change")
    if faults:
        raise CommandError("\n".join(map(one_line, faults)))


def _details(details: dict[str, Any]) -> list[str | None]:
    files = [f"{one['source']}: {counted(one['entries'], 'entry', 'entries')}, {one['replaced']} before" for one in details["files"]]
    return [*details["settings"], *files] or [None]
