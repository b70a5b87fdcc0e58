"""`chatsvc knowledge`: add, list, remove, history, undo, search, test, lint, unanswered, site, export."""

from __future__ import annotations

import sys
from typing import Any

import click

from chatsvc.cli import progress
from chatsvc.cli.files import InputFile, InputPath, OutputFile, OutputPath
from chatsvc.cli.knowledge_questions import lint, search, unanswered
from chatsvc.cli.knowledge_reading import parsed_knowledge, read_files, read_knowledge
from chatsvc.cli.knowledge_sites import site
from chatsvc.cli.knowledge_tests import test
from chatsvc.cli.operations import operation
from chatsvc.cli.output import call, call_all, counted, echo, json_option, show, written
from chatsvc.cli.words import BOT
from chatsvc.domain import terminal
from chatsvc.domain.models import Bot
from chatsvc.domain.terminal import one_line

COLUMNS = ("id", "language", "question", "alt", "source")
FILE = InputPath()


@click.group()
def knowledge() -> None:
    """Manage a bot's knowledge: add files, read a website, list, search, remove, test, check, export.

    \b
    chatsvc knowledge add BOT faq.md prices.csv delivery.html
    chatsvc knowledge site add BOT https://www.example.com
    chatsvc knowledge search BOT "are you open on sundays?"
    chatsvc knowledge test BOT
    chatsvc knowledge lint BOT
    chatsvc knowledge unanswered BOT --markdown > new.md
    chatsvc knowledge export BOT --format csv --output faq.csv
    """


for command in (search, test, lint, unanswered, site):
    knowledge.add_command(command)


@knowledge.command()
@click.argument("bot", type=BOT)
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option("--dry-run", is_flag=True, help="Store nothing; list the past questions whose answers would change.")
@json_option
@click.pass_context
def add(ctx: click.Context, bot: str, files: tuple[InputFile, ...], dry_run: bool, as_json: bool) -> None:
    """Add files to a bot's knowledge, replacing entries from files of the same names.

    Either all files are stored or none. All errors of all files are listed with their lines. A call takes at most 64 MB. Lines with Q:
    and A: become questions and answers, lines of a price list entries.

    With --dry-run nothing is stored. Past questions (of stored conversations, without an answer, and the phrasings of all entries) are
    searched for in the knowledge before and after: which would lose their answer, get another one, or gain one.

    \b
    .md            questions (## ...), alt: lines, answers; or a document, cut into passages
    .txt .html     documents, cut into passages; what a page asks and answers becomes entries
    .pdf .docx     documents as well
    .csv           question,alt,answer,language (and source, synonyms); or a price list
    .jsonl         what `knowledge export` writes

    \b
    Examples:
      chatsvc knowledge add 6f1c... faq.md
      chatsvc knowledge add 6f1c... faq.tr.md faq.en.md prices.csv
      chatsvc knowledge add 6f1c... faq.md --dry-run
    """
    if dry_run:
        _preview(ctx, bot, read_files(ctx, bot, files), as_json)
        return
    with progress.shown("adding"):
        added = call(ctx, "knowledge.add", bot=bot, files=read_files(ctx, bot, files))
    show(added, as_json)


def _preview(ctx: click.Context, bot: str, files: list[dict[str, Any]], as_json: bool) -> None:
    """Show the past questions whose answers the files would change. The search runs in this process."""
    from chatsvc.usecases import knowledge_preview
    from chatsvc.usecases.knowledge import from_file
    from chatsvc.usecases.knowledge_preview import KnowledgeContent, PastQuestion

    with progress.shown("reading") as told:
        shown = call(ctx, "bot.show", bot=bot)
        added = [from_file(file) for file in files]
        names, sources = [file.name for file in added], list(dict.fromkeys(source for file in added for source in file.sources))
        before = KnowledgeContent(*read_knowledge(ctx, bot)[1:])
        rest = parsed_knowledge(call(ctx, "knowledge.kept", bot=bot, files=names, sources=sources))
        after = KnowledgeContent(
            [*rest[0], *(entry for file in added for entry in file.entries)],
            [*rest[1], *(group for file in added for group in file.synonyms)],
        )
        questions = [PastQuestion(**one) for one in call(ctx, "knowledge.past_questions", bot=bot)]
        asker = _bot_of(shown)
        found = knowledge_preview.changes(asker, before, after, questions, told)
    if as_json:
        show([one._asdict() for one in found], True)
        return
    for one in found:
        echo(one_line(f"{one.kind:<8} {one.times:>5}  {one.question}  ({one.origin})"))
        echo(one_line(f"                {one.before or '-'}  ->  {one.after or '-'}"))
    kinds = ", ".join(f"{sum(one.kind == kind for one in found)} {kind}" for kind in knowledge_preview.KINDS)
    echo(f"{counted(len(questions), 'past question', 'past questions')}: {kinds}; nothing was stored", err=True)


def _bot_of(shown: dict[str, Any]) -> Bot:
    """Return the settings of a bot on which its answers depend."""
    kept = {name: shown[name] for name in ("id", "name", "language", "timezone", "country", "ask_back")}
    return Bot(**kept, account_id="", description=None, model="", active=True, messages_used=0, created_at=0, updated_at=0)


operation(knowledge, "knowledge.list", click.argument("bot", type=BOT), columns=COLUMNS)
operation(knowledge, "knowledge.remove", click.argument("bot", type=BOT), click.argument("entry"))


@knowledge.command()
@click.argument("bot", type=BOT)
@click.argument("change", required=False)
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="Maximum number of changes.")
@json_option
@click.pass_context
def history(ctx: click.Context, bot: str, change: str | None, limit: int, as_json: bool) -> None:
    """List the changes to a bot's knowledge, newest first, or show one with its entries before and after.

    A bot keeps its newest 500 changes.

    \b
    Examples:
      chatsvc knowledge history 6f1c...
      chatsvc knowledge history 6f1c... 51ad... --json
    """
    if change is not None:
        show(call(ctx, "knowledge.show_change", bot=bot, change=change), as_json)
        return
    found = call_all(ctx, "knowledge.history", most=limit, bot=bot)
    rows = found if as_json else [{**one, "by": one["actor"]["name"] or one["actor"]["id"]} for one in found]
    show(rows, as_json, ("id", "at", "by", "kind", "title", "undone"))


operation(
    knowledge,
    "knowledge.undo",
    click.argument("bot", type=BOT),
    click.argument("change"),
    shown=lambda done: {name: value for name, value in done.items() if not name.startswith("entries_")},
)


@knowledge.command()
@click.argument("bot", type=BOT)
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "csv", "markdown"]), help="The default follows from FILE's ending, else it is jsonl."
)
@click.option("--output", type=OutputPath(over=True), metavar="FILE", help="The default is standard output.")
@json_option
@click.pass_context
def export(ctx: click.Context, bot: str, form: str | None, output: OutputFile | None, as_json: bool) -> None:
    """Export a bot's knowledge in a form that `knowledge add` reads.

    The format is JSONL, CSV or Markdown, by the ending of FILE (.jsonl, .csv, .md) or by --format. An existing FILE is overwritten.
    Markdown does not contain sources.

    \b
    Examples:
      chatsvc knowledge export 6f1c... --output faq.csv
      chatsvc knowledge export 6f1c... --format markdown
    """
    from chatsvc.domain.knowledge_files import writing

    if as_json and (form or output):
        raise click.UsageError("--json prints the entries; it goes neither with --format nor with --output")
    by_ending = {"": "jsonl", ".jsonl": "jsonl", ".csv": "csv", ".md": "markdown", ".markdown": "markdown"}
    form = form or by_ending.get(output.suffix.lower() if output else "")
    if form is None:
        raise click.UsageError(f"{output} ends with none of .jsonl, .csv and .md: say with --format what it is to be")
    _, entries, synonyms = read_knowledge(ctx, bot)
    if as_json:
        show([{**entry._asdict(), "alt": list(entry.alt)} for entry in entries], True)
        return
    parts = writing.write(form, entries, synonyms)
    # Elsewhere than in a terminal every character stays as it is: `knowledge add` has to read the same entries again.
    shown = terminal.escape if output is None and sys.stdout.isatty() else str
    with written(output) if output else click.open_file("-", "wb") as file:
        for part in parts:
            file.write(shown(part).encode())
    if output:
        echo(f"{counted(len(entries), 'entry', 'entries')} written to {one_line(output)}", err=True)
