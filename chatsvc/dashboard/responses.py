"""Responses of the dashboard: the templates of its pages, headers, redirects within this service, cookies, and the page of a fault.

Values in templates are escaped, and an undefined name raises an error.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from zoneinfo import available_timezones

from aiohttp.web import Response

from chatsvc import translations
from chatsvc.dashboard import localization
from chatsvc.domain import rich_text, times
from chatsvc.domain.knowledge_files.documents import TABLE_RULE
from chatsvc.domain.operators import SESSION_MS
from chatsvc.web.middlewares import static_url

if TYPE_CHECKING:
    from jinja2 import Environment

HTML = "text/html; charset=utf-8"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self';"
    " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = (
    ("Content-Security-Policy", POLICY),
    ("Referrer-Policy", "same-origin"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
)
SESSION_COOKIE = "chatsvc_session"
# Characters that HTML forbids: controls and noncharacters, which visitors may send.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]")
# Browsers read "//host" and "/\host" as another host, and drop tabs and line breaks.
_LOCAL = re.compile(r"/(?![/\\])[!-\[\]-~]*")


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
        finalize=lambda value: localization.closed(value) if type(value) is str else value,
        extensions=[ExprStmtExtension],
    )
    rich = jinja.get_template("rich.html")
    jinja.globals["static"] = partial(static_url, STATIC_PREFIX, STATIC_FOLDER)
    jinja.filters["rich"] = lambda text: Markup(rich.render(spans=rich_text.spans(localization.closed(text))))  # noqa: S704  # escaped there
    jinja.filters["unmarked"] = rich_text.plain
    jinja.filters["unruled"] = _without_rules
    jinja.globals["machine_time"] = times.without_fraction
    jinja.globals["qr_code"] = qr_code
    jinja.globals["browser_name"] = localization.browser_name
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
    """Return a text with its Markdown tables as plain lines. Remove rules below headings, and separate the cells of a row by "·"."""
    rows = (row for row in text.split("\n") if not ("|" in row and TABLE_RULE.fullmatch(row)))
    return "\n".join(" · ".join(map(str.strip, row.strip("| \t\r").split("|"))) if "|" in row else row for row in rows)


def respond(status: int, body: str | bytes | AsyncIterator[bytes], kind: str = HTML, more: Iterable[tuple[str, str]] = ()) -> Response:
    """Make a response that no cache stores. Characters that HTML forbids are replaced with U+FFFD."""
    if isinstance(body, str):
        body = _FORBIDDEN.sub("\ufffd", body).encode("utf-8", "replace")
    return Response(status=status, body=body, headers=[("Content-Type", kind), *HEADERS, *more])


def redirect(location: str) -> Response:
    return Response(status=303, body=b"", headers=[("Content-Type", HTML), *HEADERS, ("Location", location)])


def fault(status: int, language: str, request_id: str = "") -> Response:
    """Make the error page of an HTTP status for a request whose session is unknown."""
    body = environment().get_template("fault.html").render(
        language=language,
        t=lambda key, **values: localization.text(language, key, **values),
        status=status,
        title=localization.text(language, f"errors.title_{status}"),
        sentence=localization.text(language, f"errors.text_{status}"),
        request_id=request_id,
    )  # fmt: skip
    return respond(status, body)


def local(path: str | None, otherwise: str = "/") -> str:
    """Return `path` if it is a path of this service, otherwise the path `otherwise`. Thus no redirect leads to another host."""
    return path if path is not None and len(path) <= 2000 and _LOCAL.fullmatch(path) else otherwise


def with_query(path: str, values: Mapping[str, object]) -> str:
    """Append query parameters to a path. Parameters that are None or empty are left out."""
    query = urlencode({name: str(value) for name, value in values.items() if value is not None and value != ""})
    path, mark, fragment = path.partition("#")
    return f"{path}{'&' if '?' in path else '?'}{query}{mark}{fragment}" if query else path + mark + fragment


def cookie_name(public_url: str, base: str = SESSION_COOKIE) -> str:
    """Return the full name of a cookie. Over https it begins with `__Host-`, so that browsers send it securely and to this host alone."""
    return f"__Host-{base}" if public_url.startswith("https://") else base


def put_cookie(response: Response, public_url: str, base: str, value: str, max_age_s: int = SESSION_MS // 1000) -> Response:
    """Set a cookie for the whole site; a `max_age_s` of 0 deletes it."""
    is_secure = public_url.startswith("https://")
    response.set_cookie(cookie_name(public_url, base), value, max_age=max_age_s, secure=is_secure, httponly=True, samesite="Lax")
    return response
