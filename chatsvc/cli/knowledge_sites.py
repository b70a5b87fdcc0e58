"""`chatsvc knowledge site`: add, list, show, sync, apply, discard, remove."""

import time
from typing import Any

import click

from chatsvc.cli import progress
from chatsvc.cli.operations import command, group, operation, option, options
from chatsvc.cli.output import call, echo, show
from chatsvc.domain.errors import CommandError
from chatsvc.domain.terminal import one_line
from chatsvc.domain.websites import EVERY_DAYS, MOST_PAGES

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


site = group("site", "knowledge_site")

operation(
    site,
    "site.add",
    "bot",
    "url",
    *options(include=["GLOB"], exclude=["GLOB"], max_pages=(int, MOST_PAGES)),
    option("--every", "every_days", type=int, metavar="DAYS", default=EVERY_DAYS, show_default=True),
    *options(review=(click.Choice(["on", "off"]), "on")),
    arguments=_given,
)
operation(site, "site.list", "bot", columns="id url state reason read_at changes")
operation(site, "site.show", "site ID", prints=_print)


@command(site, "sync", "site ID")
def sync(ctx: click.Context, site: str, as_json: bool) -> None:
    with progress.shown("reading") as told:
        found = call(ctx, "site.sync", site=site)
        while found["state"] == "reading":
            told("reading", found["progress"]["done"], found["progress"]["of"])
            time.sleep(_EVERY_S)
            found = call(ctx, "site.state", site=site)
    show(found, as_json)
    if found["state"] == "failed":
        raise CommandError(f"the website could not be read: {found['reason']}")


operation(site, "site.apply", "site ID")
operation(site, "site.discard", "site ID")
operation(site, "site.remove", "site ID", confirm="this removes the website and its entries")
