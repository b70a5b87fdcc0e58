"""Responses of the dashboard: their headers, redirects within this service, cookies, and the page of a fault."""

import re
from collections.abc import AsyncIterator, Iterable, Mapping
from urllib.parse import urlencode

from aiohttp.web import Response

from chatsvc.dashboard import catalogue
from chatsvc.dashboard.templating import environment
from chatsvc.domain.operators import SESSION_MS

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


def respond(status: int, body: str | bytes | AsyncIterator[bytes], kind: str = HTML, more: Iterable[tuple[str, str]] = ()) -> Response:
    """Make a response that no cache stores. Characters that HTML forbids are replaced with U+FFFD."""
    if isinstance(body, str):
        body = _FORBIDDEN.sub("\ufffd", body).encode("utf-8", "replace")
    return Response(status=status, body=body, headers=[("Content-Type", kind), *HEADERS, *more])


def redirect(location: str) -> Response:
    return Response(status=303, body=b"", headers=[("Content-Type", HTML), *HEADERS, ("Location", location)])


def fault(status: int, language: str, request_id: str = "") -> Response:
    """Make an error page for a request whose session is unknown."""
    body = environment().get_template("fault.html").render(
        language=language,
        t=lambda key, **values: catalogue.text(language, key, **values),
        status=status,
        title=catalogue.text(language, f"errors.title_{status}"),
        sentence=catalogue.text(language, f"errors.text_{status}"),
        request_id=request_id,
    )  # fmt: skip
    return respond(status, body)


def local(path: str | None, otherwise: str = "/") -> str:
    """Return `path` if it belongs to this service, otherwise `otherwise`, so that no redirect leads to another host."""
    return path if path is not None and len(path) <= 2000 and _LOCAL.fullmatch(path) else otherwise


def with_query(path: str, values: Mapping[str, object]) -> str:
    """Append query parameters to a path. Parameters that are None or empty are left out."""
    query = urlencode({name: str(value) for name, value in values.items() if value is not None and value != ""})
    path, mark, fragment = path.partition("#")
    return f"{path}{'&' if '?' in path else '?'}{query}{mark}{fragment}" if query else path + mark + fragment


def cookie_name(public_url: str, base: str = SESSION_COOKIE) -> str:
    """Return the full name of a cookie. Over https it has the prefix with which browsers accept secure cookies of this host alone."""
    return f"__Host-{base}" if public_url.startswith("https://") else base


def put_cookie(response: Response, public_url: str, base: str, value: str, max_age_s: int = SESSION_MS // 1000) -> Response:
    """Set a cookie for the whole site; a `max_age_s` of 0 deletes it."""
    is_secure = public_url.startswith("https://")
    response.set_cookie(cookie_name(public_url, base), value, max_age=max_age_s, secure=is_secure, httponly=True, samesite="Lax")
    return response
