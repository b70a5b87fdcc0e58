"""Writes the manual page chatsvc(1), out of the help that the commands themselves give, to standard output."""
# ruff: noqa: INP001  # a script, no package

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Iterator

import click

from chatsvc import __version__
from chatsvc.cli.main import chatsvc


def escaped(text: str) -> str:
    """Text as roff has it: nothing in it is a request, and a hyphen is the one that people type."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def paragraphs(text: str) -> Iterator[str]:
    """The help of a command; what click keeps as it is (after a line with \\b alone) is kept here, too."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        lines = paragraph.strip("\n").splitlines()
        if lines and lines[0].strip() == "\b":
            yield "\n".join([".PP", ".nf", *(escaped(line) for line in lines[1:]), ".fi"])
        else:
            yield ".PP\n" + escaped(" ".join(line.strip() for line in lines))


def options(command: click.Command, ctx: click.Context) -> Iterator[str]:
    """Each option with what it takes."""
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
        if record is not None and not {"--help", "--json"} & set(parameter.opts):
            yield f".TP\n.B {escaped(record[0])}\n{escaped(record[1])}"


def pages(command: click.Command, words: tuple[str, ...]) -> Iterator[str]:
    """A command, or those of a group."""
    ctx = click.Context(command, info_name=" ".join(words))
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            if inner is not None:
                yield from pages(inner, (*words, name))
        return
    yield f".SS {escaped(' '.join((*words, *command.collect_usage_pieces(ctx))))}"
    yield from paragraphs(command.help or "")
    yield from options(command, ctx)


def main() -> None:
    """Print it."""
    day = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    ctx = click.Context(chatsvc, info_name="chatsvc")
    click.echo(f'.TH CHATSVC 1 {day} "chatsvc {__version__}"\n.SH NAME\nchatsvc \\- chatbot messaging service that you run yourself')
    click.echo(".SH SYNOPSIS\n.B chatsvc\n[\\-c FILE] COMMAND [\\-\\-json]\n.SH DESCRIPTION")
    click.echo("\n".join([*paragraphs(chatsvc.help or ""), ".SH OPTIONS", *options(chatsvc, ctx)]))
    click.echo(".TP\n.B \\-\\-json\nof nearly every command: prints the result as JSON.\n.SH COMMANDS")
    click.echo("\n".join(pages(chatsvc, ())))


main()
