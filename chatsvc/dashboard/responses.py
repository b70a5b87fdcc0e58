"""Responses of the dashboard with the headers that each of them carries."""

import re
from collections.abc import AsyncIterator, Iterable

from aiohttp.web import Response

from chatsvc.dashboard import catalogue
from chatsvc.dashboard.templating import environment

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


# Characters that HTML forbids: controls and noncharacters, which visitors may send.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]")


def encode(html: str) -> bytes:
    """Encode a page; characters that HTML forbids become U+FFFD."""
    return _FORBIDDEN.sub("\ufffd", html).encode("utf-8", "replace")


def respond(status: int, body: bytes | AsyncIterator[bytes], kind: str, more: Iterable[tuple[str, str]] = ()) -> Response:
    """Make a response that no cache stores."""
    return Response(status=status, body=body, headers=[("Content-Type", kind), *HEADERS, *more])


def redirect(location: str, more: Iterable[tuple[str, str]] = ()) -> Response:
    return respond(303, b"", HTML, [("Location", location), *more])


def fault(status: int, language: str, request_id: str = "", more: Iterable[tuple[str, str]] = ()) -> Response:
    """Make an error page for a request whose session is unknown."""
    body = (
        environment()
        .get_template("fault.html")
        .render(
            language=language,
            t=lambda key, **values: catalogue.text(language, key, **values),
            status=status,
            title=catalogue.text(language, f"errors.title_{status}"),
            sentence=catalogue.text(language, f"errors.text_{status}"),
            request_id=request_id,
        )
    )
    return respond(status, encode(body), HTML, more)
