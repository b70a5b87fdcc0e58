"""HTTP response. Status, header fields, and a body that is either bytes or an asynchronous iterator of bytes."""

import time
from collections.abc import AsyncIterator, Iterable, Mapping
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus

TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
_REASONS = {status.value: status.phrase for status in HTTPStatus}
_BODILESS = (204, 304)


@lru_cache(maxsize=2)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)


def render_fields(fields: Iterable[tuple[str, str]]) -> str:
    """Render header fields. Raises ValueError for a line break, and for a character outside of Latin-1."""
    lines = [*map(": ".join, fields), ""]
    rendered = "\r\n".join(lines)
    if not rendered.count("\n") == rendered.count("\r") == len(lines) - 1 or "\0" in rendered:
        raise ValueError("a header field holds a line break")
    if not rendered.isascii():
        rendered.encode("latin-1")
    return rendered


class HttpResponse:
    """A response. `close` ends the connection after it.

    A streamed `body` is sent as fast as the client reads, and the connection is aborted when it takes longer than `timeout_s`
    or the iterator raises. `headers`: as `render_fields` takes them, or as it rendered them before.
    """

    __slots__ = ("_fields", "body", "close", "status", "timeout_s")

    def __init__(
        self,
        status: int,
        body: bytes | AsyncIterator[bytes] = b"",
        headers: str | dict[str, str] | Iterable[tuple[str, str]] = "",
        *,
        close: bool = False,
        timeout_s: float = 300.0,
    ) -> None:
        self.status = status
        self.body = body
        if isinstance(headers, dict):
            headers = headers.items()
        self._fields = headers if isinstance(headers, str) else render_fields(headers)
        self.close = close
        self.timeout_s = timeout_s

    def add_header(self, name: str, value: str) -> None:
        self._fields += render_fields([(name, value)])

    @property
    def is_streamed(self) -> bool:
        return not isinstance(self.body, bytes)

    @property
    def has_body(self) -> bool:
        return self.status not in _BODILESS

    def render_head(self, connection: str | None, *, chunked: bool = False, always: str = "") -> bytes:
        """Render the status line and all fields: `connection` is the value of that field, `always` are complete lines of the listener."""
        lines = always
        if chunked:
            lines += "Transfer-Encoding: chunked\r\n"
        elif isinstance(self.body, bytes) and self.has_body:
            lines += f"Content-Length: {len(self.body)}\r\n"
        if connection is not None:
            lines += f"Connection: {connection}\r\n"
        status, date = self.status, _date(int(time.time()))
        return f"HTTP/1.1 {status} {_REASONS[status]}\r\n{self._fields}Date: {date}\r\n{lines}\r\n".encode("latin-1")


def text(status: int, content: str, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """Make a plain-text response that no cache stores."""
    return HttpResponse(status, content.encode(), {"Content-Type": TEXT, "Cache-Control": "no-store", **(headers or {})})


def redirect(location: str, status: int = 303) -> HttpResponse:
    """Make a redirect; 303 follows a form, 308 keeps the method."""
    return text(status, "", {"Location": location})
