"""`chatsvc knowledge site`: add, list, show, sync, apply, discard, remove."""

from __future__ import annotations

import time
from typing import Any

import click

from chatsvc.cli import progress
from chatsvc.cli.operations import Confirm, operation
from chatsvc.cli.output import call, echo, json_option, show
from chatsvc.cli.words import BOT
from chatsvc.domain.errors import CommandError
from chatsvc.domain.terminal import one_line
from chatsvc.domain.websites import EVERY_DAYS, MOST_PAGES

COLUMNS = ("id", "url", "state", "reason", "read_at", "changes")
PAGES = ("url", "state", "reason", "entries")
_EVERY_S = 0.5


def _given(given: dict[str, Any]) -> dict[str, Any]:
    return {**given, "include": list(given["include"]), "exclude": list(given["exclude"]), "review": given["review"] == "on"}


def _print(found: dict[str, Any]) -> None:
    difference, pages, edited = found.pop("difference"), found.pop("pages"), found.pop("edited")
    show(found, False)
    for kind, entries in {**(difference or {}), "edited": edited}.items():
        for one in entries:
            echo(one_line(f"{kind:<8} {one['question']} ({one['source']})"))
    show(pages, False, PAGES)


@click.group()
def site() -> None:
    """Read websites as knowledge, and read them again when they change.

    What a reading would change waits as a draft: `show`, then `apply` or `discard`. Entries that a person has edited stay.

    \b
    chatsvc knowledge site add BOT https://www.example.com
    chatsvc knowledge site sync ID
    chatsvc knowledge site show ID
    chatsvc knowledge site apply ID
    """


operation(
    site,
    "site.add",
    click.argument("bot", type=BOT),
    click.argument("url"),
    click.option("--include", metavar="GLOB", multiple=True, help="Read only pages whose path fits, such as '/help/*'; may be repeated."),
    click.option("--exclude", metavar="GLOB", multiple=True, help="Leave out pages whose path fits; may be repeated."),
    click.option("--max-pages", type=int, default=MOST_PAGES, show_default=True, help="Maximum number of pages."),
    click.option(
        "--every", "every_days", type=int, metavar="DAYS", default=EVERY_DAYS, show_default=True, help="Read again; 0 is only by hand."
    ),
    click.option("--review", type=click.Choice(["on", "off"]), default="on", show_default=True, help="Whether a draft waits for `apply`."),
    arguments=_given,
)
operation(site, "site.list", click.argument("bot", type=BOT), columns=COLUMNS)
operation(site, "site.show", click.argument("site", metavar="ID"), prints=_print)


@site.command()
@click.argument("id_", metavar="ID")
@json_option
@click.pass_context
def sync(ctx: click.Context, id_: str, as_json: bool) -> None:
    """Read a website again, and return when it is read.

    Exit status 1 if the reading fails; the knowledge is then as before.

    \b
    Examples:
      chatsvc knowledge site sync 90be...
    """
    with progress.shown("reading") as told:
        found = call(ctx, "site.sync", site=id_)
        while found["state"] == "reading":
            told("reading", found["progress"]["done"], found["progress"]["of"])
            time.sleep(_EVERY_S)
            found = call(ctx, "site.state", site=id_)
    show(found, as_json)
    if found["state"] == "failed":
        raise CommandError(f"the website could not be read: {found['reason']}")


operation(site, "site.apply", click.argument("site", metavar="ID"))
operation(site, "site.discard", click.argument("site", metavar="ID"))
operation(site, "site.remove", click.argument("site", metavar="ID"), confirm=Confirm("this removes the website and its entries", "removal"))
