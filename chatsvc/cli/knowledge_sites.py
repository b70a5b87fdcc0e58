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


def _print(website: dict[str, Any]) -> None:
    difference, pages, edited = website.pop("difference"), website.pop("pages"), website.pop("edited")
    show(website, False)
    for kind, entries in {**(difference or {}), "edited": edited}.items():
        for entry in entries:
            echo(one_line(f"{kind:<8} {entry['question']} ({entry['source']})"))
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
    with progress.shown("reading") as report:
        website = call(ctx, "site.sync", site=site)
        while website["state"] == "reading":
            report("reading", website["progress"]["done"], website["progress"]["of"])
            time.sleep(_EVERY_S)
            website = call(ctx, "site.state", site=site)
    show(website, as_json)
    if website["state"] == "failed":
        raise CommandError(f"the website could not be read: {website['reason']}")


operation(site, "site.apply", "site ID")
operation(site, "site.discard", "site ID")
operation(site, "site.remove", "site ID", confirm="this removes the website and its entries")
