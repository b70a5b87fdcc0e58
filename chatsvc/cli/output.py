"""The configuration, the calls of operations and the output of all commands.

All output goes through `echo` or `escaping.to_json`: no control or invisible character reaches a terminal.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click

from chatsvc import config
from chatsvc.cli import CONFIG_FILE
from chatsvc.config import Config, ConfigDocument
from chatsvc.domain import escaping
from chatsvc.local_user import refuse_root

LARGEST_PAGE = 1000
CONFIG = "chatsvc.config"  # in the root context, whose `obj` is the ConfigDocument
_PROGRESS_EVERY_S = 0.3
# Takes the step, the amount done, and the total, 0 if unknown.
Report = Callable[[str, int, int], None]


def load_document(ctx: click.Context) -> ConfigDocument:
    """Read the configuration file, once for each command. Raises ConfigError, and CommandError if root would use another user's files."""
    root = ctx.find_root()
    if root.obj is None:
        path = config.locate(root.params[CONFIG_FILE], os.environ, Path.cwd())
        if path is not None:
            refuse_root(path)
        document = config.read(path)
        refuse_root(document.data_dir)
        root.obj = document
    return root.obj  # type: ignore[no-any-return]


def load_config(ctx: click.Context) -> Config:
    """Load the whole configuration, once for each command. Raises ConfigError and CommandError."""
    meta = ctx.find_root().meta
    if CONFIG not in meta:
        meta[CONFIG] = config.build(load_document(ctx))
    return meta[CONFIG]  # type: ignore[no-any-return]


def call(ctx: click.Context, operation: str, /, target: IO[bytes] | None = None, **arguments: Any) -> Any:
    """Run one operation, on the running service or else in this process. Arguments that are None are left out.

    If the operation makes a file, the file is written to `target`.
    """
    from chatsvc.control import client

    given = {name: value for name, value in arguments.items() if value is not None}
    return client.call(load_document(ctx), operation, given, target)


def pages(ctx: click.Context, operation: str, /, **arguments: Any) -> Iterator[Any]:
    """Perform an operation that lists page by page, and yield the result of each page."""
    page = call(ctx, operation, **arguments)
    yield page
    while page["next"] is not None:
        page = call(ctx, operation, **{**arguments, "after": page["next"]})
        yield page


def call_all(ctx: click.Context, operation: str, *, most: int | None = None, **arguments: Any) -> list[Any]:
    """Return all items of an operation that lists page by page, or only the first `most` items."""
    items: list[Any] = []
    for page in pages(ctx, operation, limit=min(most or LARGEST_PAGE, LARGEST_PAGE), **arguments):
        items += page["items"]
        if most is not None and len(items) >= most:
            break
    return items[:most]


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text with unsafe characters escaped. Line feeds are kept: put data of one line through `one_line` first."""
    click.echo(escaping.escape(text), err=err, nl=nl)


def show(value: Any, as_json: bool, columns: Sequence[str] = ()) -> None:
    """Print a result as JSON. Without `as_json`, print a list as a table of `columns`, and an object with a line for each field."""
    if as_json:
        click.echo(escaping.to_json(value, indent=2))
    elif isinstance(value, list):
        table(value, columns)
    else:
        fields(value)


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "; ".join(map(_text, value))
    if isinstance(value, dict):
        return ", ".join(f"{escaping.one_line(name)}: {_text(inner)}" for name, inner in value.items())
    if isinstance(value, float):
        return f"{value:.6f}"
    # A line break in a visitor's words must not fake another field.
    return escaping.one_line(value)


def fields(value: dict[str, Any], indent: str = "") -> None:
    """Print each field of an object on a line."""
    width = max((len(name) for name, inner in value.items() if not isinstance(inner, dict | list)), default=0)
    for name, inner in value.items():
        label = escaping.one_line(name)
        if isinstance(inner, dict):
            echo(f"{indent}{label}:")
            fields(inner, indent + "  ")
        elif isinstance(inner, list) and inner and isinstance(inner[0], dict):
            echo(f"{indent}{label}:")
            table(inner, list(inner[0]), indent + "  ")
        else:
            echo(f"{indent}{label:<{width}}  {_text(inner)}")


def counted(number: int, singular: str, plural: str) -> str:
    """Format a number with its noun: 1 entry, 2 entries."""
    return f"{number:,} {singular if number == 1 else plural}"


def table(rows: Sequence[dict[str, Any]], columns: Sequence[str], indent: str = "") -> None:
    """Print objects as a table with a heading. Cells longer than 60 characters are cut."""
    if not rows:
        echo(f"{indent}none", err=True)
        return
    cells = [[_cell(row.get(name)) for name in columns] for row in rows]
    widths = [max(len(name), *(len(line[i]) for line in cells)) for i, name in enumerate(columns)]
    for line in [[_cell(name) for name in columns], *cells]:
        echo((indent + "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True))).rstrip())


def _cell(value: Any) -> str:
    text = " ".join(_text(value).split())
    return text if len(text) <= 60 else text[:59] + "…"


@contextmanager
def progress(what: str, *, prints: bool = False) -> Iterator[Report]:
    """Show the progress of long work in one line of the terminal. Nothing is shown if the command `prints` to the terminal meanwhile."""
    state, began, over = [(what, 0, 0)], time.monotonic(), threading.Event()

    def show() -> None:
        while not over.wait(_PROGRESS_EVERY_S):
            step, done, of = state[-1]
            far = f" {done:,} of {of:,} ({100 * done // of} %)" if of else ""
            line = escaping.one_line(f"{step}{far}, {time.monotonic() - began:.0f} s")
            print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)  # noqa: T201  # a line that is written over
        print("\r\033[K", end="", file=sys.stderr, flush=True)  # noqa: T201

    thread = threading.Thread(target=show, daemon=True) if sys.stderr.isatty() and not (prints and sys.stdout.isatty()) else None
    if thread:
        thread.start()
    try:
        yield lambda step, done, of: state.__setitem__(0, (step, done, of))
    finally:
        over.set()
        if thread:
            thread.join()
