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
        outcomes = call(ctx, "test.run", bot=bot) if file is None else _of_file(file)
    if junit:
        with written(junit) as output:
            output.write(_junit(outcomes).encode())
    show([{**outcome, "why": outcome["why"] or None} for outcome in outcomes] if not as_json else outcomes, as_json, COLUMNS)
    if failed := sum(not outcome["passed"] for outcome in outcomes):
        raise CommandError(f"{failed} of {counted(len(outcomes), 'test', 'tests')} failed")


def _of_file(file: str) -> list[dict[str, Any]]:
    """Run the tests of a bot's file in this process."""
    from pathlib import Path

    from chatsvc.cli.bot_folder import read_bot
    from chatsvc.cli.knowledge_reading import parse_knowledge
    from chatsvc.control.rendering.knowledge import test_outcome
    from chatsvc.domain import times
    from chatsvc.domain.models import Bot
    from chatsvc.services.knowledge import bot_tests
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
    files = [from_file(item) for item in parsed or ()]
    index = bot_tests.index_of(
        bot, [entry for item in files for entry in item.entries], [group for item in files for group in item.synonyms]
    )
    return [test_outcome(item) for item in bot_tests.outcomes(bot, index, bot_tests.tests_of(bot), times.now_ms())]


def _junit(outcomes: list[dict[str, Any]]) -> str:
    failed = sum(not outcome["passed"] for outcome in outcomes)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuite name="chatsvc" tests="{len(outcomes)}" failures="{failed}">']
    for outcome in outcomes:
        head = f'  <testcase classname="chatsvc" name="{_xml(outcome["ask"])}"'
        fault = f'><failure message="{_xml(outcome["why"])}">{_xml(outcome["reply"])}</failure></testcase>'
        lines.append(head + ("/>" if outcome["passed"] else fault))
    return "\n".join([*lines, "</testsuite>", ""])


def _xml(text: str) -> str:
    """Escape a text; characters that XML cannot hold are left out."""
    return escape("".join(letter for letter in text if letter in "\t\n\r" or (letter >= " " and letter not in "\ufffe\uffff")))
