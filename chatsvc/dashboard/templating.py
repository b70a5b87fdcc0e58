"""Jinja2 environment of the dashboard. Values are escaped, and an undefined name raises an error."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import available_timezones

from chatsvc import translations
from chatsvc.dashboard import browsers, catalogue
from chatsvc.domain import rich_text, times
from chatsvc.domain.knowledge_files.documents import TABLE_RULE
from chatsvc.web.middlewares import static_url

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

    folder = Path(__file__).parent / "templates"
    jinja = Environment(
        loader=DictLoader({str(file.relative_to(folder)): file.read_text("utf-8") for file in folder.rglob("*.html")}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        # Markup was closed in its parts.
        finalize=lambda value: catalogue.closed(value) if type(value) is str else value,
        extensions=[ExprStmtExtension],
    )
    rich = jinja.get_template("rich.html")
    jinja.globals["static"] = partial(static_url, STATIC_PREFIX, STATIC_FOLDER)
    jinja.filters["rich"] = lambda text: Markup(rich.render(spans=rich_text.spans(catalogue.closed(text))))  # noqa: S704  # escaped there
    jinja.filters["unmarked"] = rich_text.plain
    jinja.filters["unruled"] = _without_rules
    jinja.globals["machine_time"] = times.without_fraction
    jinja.globals["qr_code"] = qr_code
    jinja.globals["browser_name"] = browsers.name
    jinja.globals["zones"] = _zones
    return jinja


@cache
def _zones() -> list[str]:
    """Return the time zones that are named after a place."""
    return sorted(zone for zone in available_timezones() if "/" in zone and not zone.startswith(("Etc/", "SystemV/", "US/")))


def qr_code(text: str) -> str:
    """Return a QR code of a text for authenticator apps, as SVG. It is black on white in both colour schemes."""
    # Imported here: it is shown once for an operator, if at all.
    import segno
    from markupsafe import Markup

    code = segno.make(text, micro=False, error="m")
    drawing = code.svg_inline(scale=4, border=4, dark="#000", light="#fff", svgclass=None, lineclass=None)
    return Markup(drawing)  # noqa: S704  # squares alone


def load() -> None:
    """Load all templates and texts, which takes some tenths of a second."""
    environment()
    translations.texts()


def _without_rules(text: str) -> str:
    """Return a plain text. Rules below table headings are removed, and the cells of a row are separated by "·"."""
    rows = (row for row in text.split("\n") if not ("|" in row and TABLE_RULE.fullmatch(row)))
    return "\n".join(" · ".join(map(str.strip, row.strip("| \t\r").split("|"))) if "|" in row else row for row in rows)
