"""`chatsvc help`: the manual, one Markdown file for each topic. `chatsvc completion`: the script for the shell."""

from __future__ import annotations

import re
import shutil
import sys
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import click

from chatsvc.cli.main import COMMANDS
from chatsvc.cli.operations import command
from chatsvc.cli.output import echo, show

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_MARKER = re.compile(r"^<!-- (begin|end) .*-->\n", re.MULTILINE)
_WIDEST = 120


@cache
def topics() -> dict[str, str]:
    """Return each topic with its Markdown, without the marks of generated parts."""
    files = sorted(resources.files("chatsvc").joinpath("help").iterdir(), key=lambda file: file.name)
    return {file.name.removesuffix(".md"): _MARKER.sub("", file.read_text("utf-8")) for file in files if file.name.endswith(".md")}


def _summary(markdown: str) -> str:
    """Return the paragraph below a topic's title."""
    return markdown.split("\n\n", 2)[1].strip()


class Topic(click.types.StringParamType):
    name = "topic"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        known = topics()
        if value not in known:
            hint = f" (`chatsvc {value} --help` describes the command)" if value in COMMANDS else ""
            self.fail(f"there is no topic {value!r}; the topics are {', '.join(known)}{hint}", param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[Any]]:
        del ctx, param
        from click.shell_completion import CompletionItem

        return [CompletionItem(name, help=_summary(text)) for name, text in topics().items() if name.startswith(incomplete)]


@command(None, "help", click.argument("topic", required=False, type=Topic()))
def manual(topic: str | None, as_json: bool) -> None:
    if topic is None:
        listed = [{"topic": name, "about": _summary(text)} for name, text in topics().items()]
        if as_json:
            show(listed, True)
            return
        for one in listed:
            echo(f"{one['topic']:<15}{one['about']}")
        echo("\nShow one with: chatsvc help TOPIC", err=True)
    elif as_json:
        show({"topic": topic, "text": topics()[topic]}, True)
    elif sys.stdout.isatty():
        from chatsvc.cli.markdown import formatted

        width = min(_WIDEST, shutil.get_terminal_size().columns)
        click.echo_via_pager(f"{line}\n" for line in formatted(topics()[topic], width))
    else:
        click.echo(topics()[topic].encode(), nl=False)


@command(None, "completion", click.argument("shell", type=click.Choice(["bash", "zsh", "fish"])), json=False)
def completion(ctx: click.Context, shell: str) -> None:
    from click.shell_completion import BashComplete, FishComplete, ZshComplete

    kind = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}[shell]
    click.echo(kind(ctx.find_root().command, {}, "chatsvc", "_CHATSVC_COMPLETE").source())
