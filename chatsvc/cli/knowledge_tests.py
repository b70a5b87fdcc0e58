"""`chatsvc knowledge test`: the tests of a bot, on the running bot or from its file alone."""

from html import escape
from typing import Any

import click

from chatsvc.cli import progress
from chatsvc.cli.files import OutputFile, OutputPath, written
from chatsvc.cli.operations import command, options
from chatsvc.cli.output import call, counted, show
from chatsvc.domain import refusals
from chatsvc.domain.errors import CommandError

COLUMNS = ("passed", "ask", "decision", "entry", "why")


@command(None, "test", "[bot]", *options(file=click.Path(exists=True, dir_okay=False), junit=OutputPath(over=True)), key="knowledge_test")
def test(ctx: click.Context, bot: str | None, file: str | None, junit: OutputFile | None, as_json: bool) -> None:
    if (bot is None) == (file is None):
        raise click.UsageError("give a BOT or --file, one of them")
    with progress.shown("testing"):
        found = call(ctx, "test.run", bot=bot) if file is None else _of_file(file)
    if junit:
        with written(junit) as output:
            output.write(_junit(found).encode())
    show([{**one, "why": one["why"] or None} for one in found] if not as_json else found, as_json, COLUMNS)
    if failed := sum(not one["passed"] for one in found):
        raise CommandError(f"{failed} of {counted(len(found), 'test', 'tests')} failed")


def _of_file(file: str) -> list[dict[str, Any]]:
    """Run the tests of a bot's file in this process."""
    from pathlib import Path

    from chatsvc.cli.bot_folder import read_bot
    from chatsvc.cli.knowledge_reading import parse_knowledge
    from chatsvc.control.rendering.knowledge import test_outcome
    from chatsvc.domain import times
    from chatsvc.domain.models import Bot
    from chatsvc.services.knowledge import bot_test_runs
    from chatsvc.services.knowledge.knowledge import from_file

    path = Path(file)
    faults: list[dict[str, Any]] = []
    here = path.absolute().is_relative_to(Path.cwd()) and ".." not in path.parts
    folder = Path.cwd() if here else path.parent
    read = read_bot(folder, str(path.absolute().relative_to(folder.absolute())), faults)
    if faults:
        raise refusals.bot_file_invalid(file=path.name, faults=faults)
    nobody = Bot("", "", path.stem, None, "", active=True, messages_used=0, created_at=0, updated_at=0)
    bot = nobody._replace(**read.columns)
    (parsed,) = parse_knowledge([(read.knowledge, bot.language)])
    files = [from_file(one) for one in parsed or ()]
    index = bot_test_runs.index_of(
        bot, [entry for one in files for entry in one.entries], [group for one in files for group in one.synonyms]
    )
    return [test_outcome(one) for one in bot_test_runs.outcomes(bot, index, bot_test_runs.tests_of(bot), times.now_ms())]


def _junit(found: list[dict[str, Any]]) -> str:
    failed = sum(not one["passed"] for one in found)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuite name="chatsvc" tests="{len(found)}" failures="{failed}">']
    for one in found:
        head = f'  <testcase classname="chatsvc" name="{_xml(one["ask"])}"'
        fault = f'><failure message="{_xml(one["why"])}">{_xml(one["reply"])}</failure></testcase>'
        lines.append(head + ("/>" if one["passed"] else fault))
    return "\n".join([*lines, "</testsuite>", ""])


def _xml(text: str) -> str:
    """Escape a text; characters that XML cannot hold are left out."""
    return escape("".join(one for one in text if one in "\t\n\r" or (one >= " " and one not in "\ufffe\uffff")))
