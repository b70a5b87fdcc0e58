"""`chatsvc conversation`: list, show, note, assign, take, reply, release, export, erase."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import chain
from typing import IO, Any

import click

from chatsvc.cli import progress, transcript
from chatsvc.cli.files import OutputFile, OutputPath
from chatsvc.cli.operations import operation
from chatsvc.cli.output import call, counted, echo, json_option, show, written
from chatsvc.cli.words import ACCOUNT, BOT, CHANNEL, HANDLING
from chatsvc.domain.terminal import indented, one_line

COLUMNS = ("id", "channel", "handling", "user_id", "visitor_name", "message_count", "last_message_at")


def _print(found: dict[str, Any]) -> None:
    messages, notes = found.pop("messages"), found.pop("notes")
    show(found, False)
    for message in messages:
        author = f" ({one_line(message['author'])})" if message["author"] else ""
        told = "".join(f"  {one_line(message[name])}" for name in ("delivery", "error", "feedback") if message[name])
        told += f"  mail: {one_line(' '.join(filter(None, (message['mail'], message['mail_error']))))}" if message["mail"] else ""
        echo(f"\n{one_line(message['created_at'])}  {one_line(message['role'])}{author}{told}\n{indented(message['content'], '  ')}")
        if message["evidence"]:
            echo(f"  ({one_line(_origin(message['evidence']))})")
    for note in notes:
        echo(f"\n{one_line(note['created_at'])}  note ({one_line(note['author'])})\n{indented(note['text'], '  ')}")


@click.group()
def conversation() -> None:
    """List, show, export and erase conversations, and take them over from the bot."""


operation(
    conversation,
    "conversation.list",
    click.option("--bot", type=BOT, metavar="ID", help="Only the conversations of this bot."),
    click.option("--channel", type=CHANNEL, help="Only the conversations on this channel."),
    click.option("--search", "q", metavar="WORDS", help="Only those that have all these words, by their beginnings."),
    click.option("--captured", is_flag=True, help="Only those with a request."),
    click.option("--handling", type=HANDLING, help="Only those that wait for a person (waiting) or have one (operator)."),
    click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Maximum number of records."),
    columns=COLUMNS,
    pages=True,
)
operation(
    conversation,
    "conversation.show",
    click.argument("conversation", metavar="ID"),
    click.option("--message-limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Maximum number of messages."),
    prints=_print,
)
operation(conversation, "conversation.note", click.argument("conversation", metavar="ID"), click.argument("text"))
operation(conversation, "conversation.assign", click.argument("conversation", metavar="ID"), click.argument("email"))
operation(
    conversation,
    "conversation.take",
    click.argument("conversation", metavar="ID"),
    click.option("--as", "email", metavar="EMAIL", help="The operator who takes it; the default is you."),
    click.option("--yes", is_flag=True, help="Take it from another operator."),
)
operation(
    conversation,
    "conversation.reply",
    click.argument("conversation", metavar="ID"),
    click.argument("text"),
    click.option("--yes", is_flag=True, help="Take it from another operator."),
    shown=lambda done: done["message"],
)
operation(conversation, "conversation.release", click.argument("conversation", metavar="ID"))


def _origin(evidence: dict[str, Any]) -> str:
    """Describe the origin of a reply. The search's decision and confidence, and the entries with their scores."""
    head = f"{evidence['decision']}, confidence {evidence['confidence']:.2f}; " if evidence["decision"] else ""
    entries = ", ".join(f"{entry['id']} {entry['score']:.2f}" for entry in evidence["entries"])
    return f"{head}entries: {entries or 'none'}"


@conversation.command()
@click.option("--bot", type=BOT, metavar="ID", help="Only the conversations of this bot.")
@click.option("--format", "form", type=click.Choice(["jsonl", "csv"]), help="The default follows from FILE's ending, else it is jsonl.")
@click.option("--output", type=OutputPath(over=True), metavar="FILE", help="The default is standard output.")
@json_option
@click.pass_context
def export(ctx: click.Context, bot: str | None, form: str | None, output: OutputFile | None, as_json: bool) -> None:
    """Export all conversations with all their messages.

    Only you can read FILE. An existing FILE is overwritten.

    \b
    jsonl  a conversation a line, as GET /conversations/{id} has it; with visitor_phone where WhatsApp tells the number,
           and with the team's notes where it has some
    csv    a message a line; a text that a spreadsheet would take for a formula begins with '

    \b
    Examples:
      chatsvc conversation export --bot 6f1c... --output conversations.csv
      chatsvc conversation export --format jsonl
    """
    if as_json and (form or output):
        raise click.UsageError("--json prints one array; it goes neither with --format nor with --output")
    form = "json" if as_json else form or {"": "jsonl", ".jsonl": "jsonl", ".csv": "csv"}.get(output.suffix.lower() if output else "")
    if form is None:
        raise click.UsageError(f"{output} ends with neither .jsonl nor .csv: say with --format what it is to be")
    written = {"conversation": 0, "message": 0}
    pages = _counted(_pages(ctx, bot), written)
    # Asked for before the file is opened: what is refused must not have emptied it.
    first = next(pages)
    with _opened(output) as file, progress.shown("exporting", prints=output is None):
        for text in transcript.write(form, chain([first], pages)):
            file.write(text.encode())
    if output:
        conversations, messages = (counted(number, what, f"{what}s") for what, number in written.items())
        echo(f"{conversations} with {messages} written to {one_line(output)}", err=True)


def _pages(ctx: click.Context, bot: str | None) -> Iterator[list[dict[str, Any]]]:
    after = None
    while True:
        page = call(ctx, "conversation.export", bot=bot, after=after)
        yield page["parts"]
        after = page["next"]
        if after is None:
            return


def _counted(pages: Iterator[list[dict[str, Any]]], written: dict[str, int]) -> Iterator[list[dict[str, Any]]]:
    for page in pages:
        written["conversation"] += sum(part["ends"] for part in page)
        written["message"] += sum(len(part["messages"]) for part in page)
        yield page


def _opened(output: OutputFile | None) -> AbstractContextManager[IO[bytes]]:
    """Open standard output, or a file that only the caller can read."""
    if output is None:
        return click.open_file("-", "wb")
    return written(output)


@conversation.command()
@click.option("--user-id", required=True, metavar="U", help="The visitor's user_id.")
@click.option("--bot", type=BOT, metavar="ID", help="Only the data of this bot; else of every bot of the account.")
@click.option("--account", type=ACCOUNT, metavar="ID", help="The visitor's account; optional when there is only one.")
@click.option("--yes", is_flag=True, help="Confirm the erasure.")
@json_option
@click.pass_context
def erase(ctx: click.Context, /, user_id: str, bot: str | None, account: str | None, yes: bool, as_json: bool) -> None:
    """Erase all data of a visitor. Nothing of it remains readable in the data folder.

    The same user_id in another account is another visitor: with several accounts, give --account or --bot. The database is rewritten, which
    takes about 15 seconds for each GB; messages wait meanwhile. Usage and counters stay: they do not identify a visitor. Unanswered
    questions of the visitor are deleted too. Backups made before still contain the data.

    \b
    Examples:
      chatsvc conversation erase --user-id customer-1042 --bot 6f1c... --yes
      chatsvc conversation erase --user-id customer-1042 --account 90be... --yes
    """
    if bot is not None and account is not None:
        raise click.UsageError("give --bot or --account, one of them: a bot has its account")
    if not yes:
        raise click.UsageError("this erases all that is kept of the visitor for good: add --yes")
    with progress.shown("erasing"):
        erased = call(ctx, "conversation.erase", user_id=user_id, bot=bot, account=account)
    show(erased, as_json)
