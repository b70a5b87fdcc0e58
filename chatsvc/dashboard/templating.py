"""Jinja2 environment of the dashboard: templates of the package, escaped, with undefined names as errors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import available_timezones

from chatsvc import translations
from chatsvc.dashboard import browsers, directions, formats, qr
from chatsvc.domain import rich_text
from chatsvc.domain.rich_text import Span
from chatsvc.web import static

if TYPE_CHECKING:
    from jinja2 import Environment

STATIC_PREFIX = "/static"
STATIC_FOLDER = Path(__file__).parent / "static"


@cache
def environment() -> Environment:
    # Imported at the first page: an installation without visitors here saves 3 MB.
    from jinja2 import DictLoader, Environment, StrictUndefined
    from jinja2.ext import ExprStmtExtension
    from markupsafe import Markup

    folder = resources.files("chatsvc.dashboard").joinpath("templates")
    made = Environment(
        loader=DictLoader(dict(_templates(folder, ""))),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        # Markup was closed in its parts.
        finalize=lambda value: directions.closed(value) if type(value) is str else value,
        extensions=[ExprStmtExtension],
    )
    made.globals["static"] = partial(static.url, STATIC_PREFIX, STATIC_FOLDER)
    made.filters["rich"] = lambda text: made_markup("").join(map(_marked, rich_text.spans(directions.closed(text))))
    made.filters["unmarked"] = rich_text.plain
    made.globals["machine_time"] = formats.machine_time
    made.globals["qr_code"] = lambda text: Markup(qr.svg(text))  # noqa: S704  # drawn here, of squares alone
    made.globals["browser_name"] = browsers.name
    made.globals["zones"] = _zones
    return made


@cache
def _zones() -> list[str]:
    """List the time zones that are named after a place."""
    return sorted(zone for zone in available_timezones() if "/" in zone and not zone.startswith(("Etc/", "SystemV/", "US/")))


def made_markup(text: str) -> str:
    """Return a text that templates take for markup: one that the program has made, with all others in it escaped."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704  # see above


def _marked(span: Span) -> str:
    """Return a span of a message as markup."""
    from markupsafe import escape

    shown: str = escape(span.text)
    for tag, is_so in (("code", span.code), ("em", span.italic), ("strong", span.bold)):
        shown = made_markup(f"<{tag}>{shown}</{tag}>") if is_so else shown
    return made_markup(f'<a href="{escape(span.link)}" rel="noreferrer noopener nofollow">{shown}</a>') if span.link else shown


def _templates(folder: Traversable, prefix: str) -> Iterator[tuple[str, str]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _templates(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith((".html", ".svg")):
            yield prefix + entry.name, entry.read_text("utf-8")


def load() -> None:
    """Read templates and texts; takes some tenths of a second."""
    environment()
    translations.texts()
