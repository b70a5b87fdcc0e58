"""Responses of the dashboard with the headers that each of them carries (DECISIONS.md section 6)."""

from __future__ import annotations

from collections.abc import Iterable

from chatsvc.dashboard import catalogue
from chatsvc.dashboard.templating import environment
from chatsvc.http.response import HTML, HttpResponse

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self';"
    " frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = (
    ("Content-Security-Policy", POLICY),
    ("Referrer-Policy", "same-origin"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
)


def respond(status: int, body: bytes, kind: str, more: Iterable[tuple[str, str]] = ()) -> HttpResponse:
    """Make a response that no cache stores."""
    return HttpResponse(status, body, [("Content-Type", kind), *HEADERS, *more])


def redirect(location: str, more: Iterable[tuple[str, str]] = ()) -> HttpResponse:
    """Make the redirect that follows a form."""
    return respond(303, b"", HTML, [("Location", location), *more])


def fault(status: int, language: str, request_id: str = "", more: Iterable[tuple[str, str]] = ()) -> HttpResponse:
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
    return respond(status, body.encode(), HTML, more)
