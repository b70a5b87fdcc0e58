"""Static files. Held in memory, with validators, and with URLs that hold a hash of the content and never change."""

import hashlib
from email.utils import formatdate, parsedate_to_datetime
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath
from typing import NamedTuple

from chatsvc.http.request import HttpRequest
from chatsvc.http.response import HttpResponse

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
FOREVER = "public, max-age=31536000, immutable"
REVALIDATED = "no-cache"


class _File(NamedTuple):
    content: bytes
    headers: dict[str, str]
    modified: int


class StaticFiles:
    """The files of a folder below a URL prefix, all read at the start. Each is served under its name and under `url(name)`."""

    def __init__(self, prefix: str, folder: Traversable, modified: int) -> None:
        self._prefix = prefix
        self._files: dict[str, _File] = {}
        self._urls: dict[str, str] = {}
        for entry in folder.iterdir():
            path = PurePosixPath(entry.name)
            if entry.is_file() and path.suffix in TYPES:
                self._add(entry.name, f"{path.stem}.%s{path.suffix}", TYPES[path.suffix], entry.read_bytes(), modified)

    def _add(self, name: str, hashed: str, kind: str, content: bytes, modified: int) -> None:
        digest = hashlib.sha256(content).hexdigest()[:16]
        headers = {"Content-Type": kind, "ETag": f'"{digest}"', "Last-Modified": formatdate(modified, usegmt=True)}
        self._urls[name] = self._prefix + hashed % digest
        self._files[self._prefix + name] = _File(content, {**headers, "Cache-Control": REVALIDATED}, modified)
        self._files[self._urls[name]] = _File(content, {**headers, "Cache-Control": FOREVER}, modified)

    def url(self, name: str) -> str:
        """Return the permanent URL path of a file. Raises KeyError for one that does not exist."""
        return self._urls[name]

    def find(self, request: HttpRequest) -> HttpResponse | None:
        """Return the response to GET or HEAD for a file, None for an unknown path. It is 304 where the client's copy is current."""
        file = self._files.get(request.path)
        if file is None:
            return None
        if _is_current(request, file):
            return HttpResponse(304, b"", file.headers)
        return HttpResponse(200, file.content, {**file.headers, "X-Content-Type-Options": "nosniff"})


def _is_current(request: HttpRequest, file: _File) -> bool:
    """Evaluate If-None-Match, or without it If-Modified-Since (RFC 9110, 13.2.2)."""
    tags = request.headers.getall("If-None-Match", ())
    if tags:
        sent = {tag.strip().removeprefix("W/") for tag in ",".join(tags).split(",")}
        return "*" in sent or file.headers["ETag"] in sent
    try:
        return parsedate_to_datetime(request.headers.get("If-Modified-Since", "")).timestamp() >= file.modified
    except (ValueError, TypeError):
        return False
