"""`chatsvc conversation`: list, show, note, assign, take, reply, release, export, erase."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import click

from chatsvc.cli.files import OutputFile, OutputPath, written
from chatsvc.cli.operations import ACCOUNT, BOT, CHANNEL, HANDLING, Called, command, group, operation, option, options
from chatsvc.cli.output import call, counted, echo, pages, progress, show
from chatsvc.domain import escaping
from chatsvc.domain.escaping import BYTE_ORDER_MARK, indented, one_line, row, to_json


def _print(thread: dict[str, Any]) -> None:
    messages, notes = thread.pop("messages"), thread.pop("notes")
    show(thread, False)
    for message in messages:
        author = f" ({one_line(message['author'])})" if message["author"] else ""
        outcome = "".join(f"  {one_line(message[name])}" for name in ("delivery", "error", "feedback") if message[name])
        outcome += f"  mail: {one_line(' '.join(filter(None, (message['mail'], message['mail_error']))))}" if message["mail"] else ""
        echo(f"\n{one_line(message['created_at'])}  {one_line(message['role'])}{author}{outcome}\n{indented(message['content'], '  ')}")
        if evidence := message["evidence"]:
            head = f"{evidence['decision']}, confidence {evidence['confidence']:.2f}; " if evidence["decision"] else ""
            entries = ", ".join(f"{entry['id']} {entry['score']:.2f}" for entry in evidence["entries"])
            origin = f"{head}entries: {entries or 'none'}"
            echo(f"  ({one_line(origin)})")
    for note in notes:
        echo(f"\n{one_line(note['created_at'])}  note ({one_line(note['author'])})\n{indented(note['text'], '  ')}")


conversation = group("conversation")

operation(
    conversation,
    "conversation.list",
    *options(bot=Called("ID", BOT), channel=CHANNEL),
    option("--search", "q", metavar="WORDS"),
    *options(captured=bool, missed=bool, handling=HANDLING, limit=(click.IntRange(1, 100000), 100)),
    columns="id channel handling user_id visitor_name message_count last_message_at",
    pages=True,
)
operation(conversation, "conversation.show", "conversation ID", *options(message_limit=(click.IntRange(1, 100000), 100)), prints=_print)
operation(conversation, "conversation.note", "conversation ID", "text")
operation(conversation, "conversation.assign", "conversation ID", "email")
operation(conversation, "conversation.take", "conversation ID", option("--as", "email", metavar="EMAIL"), *options(yes=bool))
operation(conversation, "conversation.reply", "conversation ID", "text", *options(yes=bool), shown=lambda done: done["message"])
operation(conversation, "conversation.release", "conversation ID")
operation(conversation, "conversation.settle", "conversation ID")


@command(
    conversation,
    "export",
    *options(bot=Called("ID", BOT)),
    option("--format", "form", type=click.Choice(["jsonl", "csv"])),
    *options(output=OutputPath(over=True)),
)
def export(ctx: click.Context, bot: str | None, form: str | None, output: OutputFile | None, as_json: bool) -> None:
    if as_json and (form or output):
        raise click.UsageError("--json prints one array; it goes neither with --format nor with --output")
    form = "json" if as_json else form or {"": "jsonl", ".jsonl": "jsonl", ".csv": "csv"}.get(output.suffix.lower() if output else "")
    if form is None:
        raise click.UsageError(f"{output} ends with neither .jsonl nor .csv: say with --format what it is to be")
    counts = {"conversation": 0, "message": 0}
    parts = _counted((page["parts"] for page in pages(ctx, "conversation.export", bot=bot)), counts)
    # Asked for before the file is opened: what is refused must not have emptied it.
    first = next(parts)
    with written(output) as file, progress("exporting", prints=output is None):
        for text in write(form, chain([first], parts)):
            file.write(text.encode())
    if output:
        conversations, messages = (counted(number, what, f"{what}s") for what, number in counts.items())
        echo(f"{conversations} with {messages} written to {one_line(output)}", err=True)


def _counted(pages: Iterator[list[dict[str, Any]]], written: dict[str, int]) -> Iterator[list[dict[str, Any]]]:
    for page in pages:
        written["conversation"] += sum(part["ends"] for part in page)
        written["message"] += sum(len(part["messages"]) for part in page)
        yield page


@command(conversation, "erase", option("--user-id", required=True, metavar="U"), *options(bot=Called("ID", BOT), account=ACCOUNT, yes=bool))
def erase(ctx: click.Context, /, user_id: str, bot: str | None, account: str | None, yes: bool, as_json: bool) -> None:
    if bot is not None and account is not None:
        raise click.UsageError("give --bot or --account, one of them: a bot has its account")
    if not yes:
        raise click.UsageError("this erases all that is kept of the visitor for good: add --yes")
    with progress("erasing"):
        erased = call(ctx, "conversation.erase", user_id=user_id, bot=bot, account=account)
    show(erased, as_json)


Part = dict[str, Any]
COLUMNS = (
    *("conversation_id", "chatbot_id", "channel", "user_id", "session_id", "visitor_name", "visitor_email"),
    *("message_id", "role", "content", "created_at", "visitor_phone"),
)


def write(form: str, pages: Iterable[list[Part]]) -> Iterator[str]:
    """Serialise pages of conversations. `form` is json, jsonl or csv. Control and invisible characters are escaped."""
    return _csv(pages) if form == "csv" else _json(pages, as_array=form == "json")


def _json(pages: Iterable[list[Part]], *, as_array: bool) -> Iterator[str]:
    """Serialise each conversation in the form of GET /conversations/{id} (help/interface.md 5.4), with all its messages."""
    before = "[\n" if as_array else ""
    has_messages = False
    for page in pages:
        for part in page:
            if part["begins"]:
                head = {**part["conversation"], "message_count": part["message_count"]}
                yield f'{before}{to_json(head)[:-1]}, "messages": ['
                has_messages = False
            if part["messages"]:
                yield (", " if has_messages else "") + ", ".join(map(to_json, part["messages"]))
                has_messages = True
            if part["ends"]:
                yield '], "messages_truncated": false}' + ("" if as_array else "\n")
                before = ",\n" if as_array else ""
    if as_array:
        yield "[]\n" if before == "[\n" else "\n]\n"


def _csv(pages: Iterable[list[Part]]) -> Iterator[str]:
    yield BYTE_ORDER_MARK + row(*COLUMNS)
    for page in pages:
        for part in page:
            for message in part["messages"]:
                conversation = part["conversation"]
                about = [conversation["id"], *(conversation[name] for name in COLUMNS[1:7])]
                values = [*about, *(message[name] for name in ("id", "role", "content", "created_at")), conversation.get("visitor_phone")]
                # Tabs and line feeds stay.
                yield row(*(value and "\t".join(map(escaping.escape, value.replace("\r\n", "\n").split("\t"))) for value in values))
