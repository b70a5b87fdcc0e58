"""Commands that print texts: `help` (the manual, a Markdown file for each topic), `completion` and `client`.

`chatsvc client` prints a client of the interface, which is one file for Python or JavaScript.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from importlib import resources

import click

from chatsvc.cli.main import COMMANDS
from chatsvc.cli.operations import Offered, command, group
from chatsvc.cli.output import echo, show
from chatsvc.domain.errors import PROBLEMS, RETRYABLE_REASONS

_MARKER = re.compile(r"^<!-- (begin|end) .*-->\n", re.MULTILINE)
_WIDEST = 120


@cache
def topics() -> dict[str, str]:
    """Return the Markdown of each topic of the manual by its name. The marks of generated parts are removed."""
    files = sorted(resources.files("chatsvc").joinpath("help").iterdir(), key=lambda file: file.name)
    return {file.name.removesuffix(".md"): _MARKER.sub("", file.read_text("utf-8")) for file in files if file.name.endswith(".md")}


def _summary(markdown: str) -> str:
    return markdown.split("\n\n", 2)[1].strip()


def _offer(_: click.Context, begin: str) -> Iterator[tuple[str, str]]:
    return ((name, _summary(text)) for name, text in topics().items() if name.startswith(begin))


@command(None, "help", click.argument("topic", required=False, type=Offered("topic", _offer)))
def manual(ctx: click.Context, topic: str | None, as_json: bool) -> None:
    if topic is not None and topic not in topics():
        hint = f" (`chatsvc {topic} --help` describes the command)" if topic in COMMANDS else ""
        message = f"there is no topic {topic!r}; the topics are {', '.join(topics())}{hint}"
        raise click.BadParameter(message, ctx, param_hint="'[TOPIC]'")
    if topic is None:
        listed = [{"topic": name, "about": _summary(text)} for name, text in topics().items()]
        if as_json:
            show(listed, True)
            return
        for row in listed:
            echo(f"{row['topic']:<15}{row['about']}")
        echo("\nShow one with: chatsvc help TOPIC", err=True)
    elif as_json:
        show({"topic": topic, "text": topics()[topic]}, True)
    elif sys.stdout.isatty():
        width = min(_WIDEST, shutil.get_terminal_size().columns)
        click.echo_via_pager(f"{line}\n" for line in formatted(topics()[topic], width))
    else:
        click.echo(topics()[topic].encode(), nl=False)


@command(None, "completion", click.argument("shell", type=click.Choice(["bash", "zsh", "fish"])), json=False)
def completion(ctx: click.Context, shell: str) -> None:
    from click.shell_completion import BashComplete, FishComplete, ZshComplete

    kind = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}[shell]
    click.echo(kind(ctx.find_root().command, {}, "chatsvc", "_CHATSVC_COMPLETE").source())


client = group("client")


def _print_client(language: str, file: str, as_json: bool) -> None:
    """Print the source text of a client. Insert the error codes and reasons after which it repeats a request."""
    codes = [problem.code for problem in PROBLEMS.values() if problem.retryable]
    text = resources.files("chatsvc.samples").joinpath(file).read_text("utf-8")
    for mark, names in (("@codes@", codes), ("@reasons@", RETRYABLE_REASONS)):
        text = text.replace(f'"{mark}"', ", ".join(map(json.dumps, names)))
    if as_json:
        show({"language": language, "text": text}, True)
    else:
        click.echo(text.encode(), nl=False)


@command(client, "python")
def python_client(as_json: bool) -> None:
    _print_client("python", "client.py.txt", as_json)


@command(client, "js")
def js_client(as_json: bool) -> None:
    _print_client("js", "client.js.txt", as_json)


_LINK = re.compile(r"\[([^\[\]]+)\]\((?:(\w++)\.md)?[^()]*\)")
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_CODE = re.compile(r"`([^`]+)`")
_ITEM = re.compile(r"- |[0-9]{1,9}\. ")
_CELLS = re.compile(r"(?<!\\)\|")
_START = re.compile(r"#{1,6} |```|\||- |[0-9]{1,9}\. |$")


def formatted(markdown: str, width: int) -> Iterator[str]:
    """Convert Markdown to lines for a terminal of `width` columns."""
    lines = markdown.splitlines()
    index = 0
    while index < len(lines):
        begin, line = index, lines[index]
        index += 1
        if line.startswith("```"):
            index = lines.index("```", index) + 1
            yield from (f"    {code}".rstrip() for code in lines[begin + 1 : index - 1])
        elif line.startswith("#"):
            yield click.style(line.lstrip("# "), bold=True, underline=line.startswith("# "))
        elif line.startswith("|"):
            while index < len(lines) and lines[index].startswith("|"):
                index += 1
            rows = [_CELLS.split(row.strip("|")) for row in lines[begin:index]]
            yield from _table([[cell.strip().replace("\\|", "|") for cell in row] for row in rows], width)
        else:
            while line and index < len(lines) and not _START.match(lines[index]):
                index += 1
            text = " ".join(part.strip() for part in lines[begin:index])
            yield from _wrapped(text, width, subsequent_indent="  " if _ITEM.match(text) else "")


def _plain(text: str) -> str:
    """Replace each link by its words. A link to another topic is followed by the command that shows the topic."""
    return _LINK.sub(lambda match: f"{match[1]} (chatsvc help {match[2]})" if match[2] else match[1], text)


def _wrapped(text: str, width: int, **indents: str) -> list[str]:
    """Wrap a paragraph into lines, and add colours afterwards, so that colour codes do not count for the width."""
    wrapped = "\n".join(textwrap.wrap(_plain(text), width, **indents, break_long_words=False, break_on_hyphens=False))  # type: ignore[arg-type]
    wrapped = _CODE.sub(lambda match: click.style(match[1], fg="cyan"), wrapped)
    return _BOLD.sub(lambda match: click.style(match[1], bold=True), wrapped).split("\n")


def _table(rows: list[list[str]], width: int) -> Iterator[str]:
    """Yield the lines of a table. The first cell of a row is a line; the other cells follow below it, with their column headings."""
    heading, _, *body = rows
    for row in body:
        yield "  " + click.style(_plain(row[0]).replace("`", ""), bold=True)
        for name, cell in zip(heading[1:], row[1:], strict=True):
            if cell:
                text = f"{name}: {cell}" if len(heading) > 2 and name else cell
                yield from _wrapped(text, width, initial_indent="    ", subsequent_indent="      ")
