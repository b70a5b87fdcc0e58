"""`chatsvc knowledge`: add, list, remove, search."""

from __future__ import annotations

from pathlib import Path

import click

from chatsvc.cli.output import call, json_option, show
from chatsvc.domain.errors import Refused

COLUMNS = ("id", "language", "question", "alt", "source")


@click.group()
def knowledge() -> None:
    """What a bot knows: add files, list, search, remove."""


def read_text(path: Path) -> str:
    """A file as UTF-8; raises Refused."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise Refused(f"{path}: the file is not UTF-8 (byte {fault.start})") from None


@knowledge.command()
@click.argument("bot")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
@click.pass_context
def add(ctx: click.Context, bot: str, files: tuple[Path, ...], as_json: bool) -> None:
    """Add Markdown files of questions and answers. A file of a name that was added before is replaced.

    \b
    Example: chatsvc knowledge add 6f1c... faq.tr.md faq.en.md
    """
    added = call(ctx, "knowledge.add", bot=bot, files=[(path.name, read_text(path)) for path in files])
    show(added, as_json)


@knowledge.command("list")
@click.argument("bot")
@json_option
@click.pass_context
def list_(ctx: click.Context, bot: str, as_json: bool) -> None:
    """List a bot's entries."""
    show(call(ctx, "knowledge.list", bot=bot), as_json, COLUMNS)


@knowledge.command()
@click.argument("bot")
@click.argument("entry")
@json_option
@click.pass_context
def remove(ctx: click.Context, bot: str, entry: str, as_json: bool) -> None:
    """Remove one entry."""
    show(call(ctx, "knowledge.remove", bot=bot, entry=entry), as_json)


@knowledge.command()
@click.argument("bot")
@click.argument("text", required=False)
@click.option("--file", "file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A question a line.")
@json_option
@click.pass_context
def search(ctx: click.Context, bot: str, text: str | None, file: Path | None, as_json: bool) -> None:
    """Show what a bot's knowledge has for a question, and whether it would answer.

    \b
    Example: chatsvc knowledge search 6f1c... "are you open on sundays?"
    """
    if (text is None) == (file is None):
        raise click.UsageError("give a TEXT or --file, one of them")
    questions = [text] if text is not None else [line.strip() for line in read_text(file).splitlines() if line.strip()]  # type: ignore[arg-type]
    found = call(ctx, "knowledge.search", bot=bot, questions=questions)
    if as_json:
        show(found if file else found[0], True)
        return
    for finding in found:
        click.echo(f"{finding['question']}\n  {finding['decision']} ({finding['confidence']:.2f}, {finding['language']})")
        for entry in finding["entries"]:
            click.echo(f"  {entry['score']:.2f}  {entry['question']}  [{entry['id']}]")
            if entry["why"]:
                click.echo(f"        {'; '.join(entry['why'])}")
