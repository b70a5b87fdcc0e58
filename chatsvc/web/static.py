"""Static files under URLs that hold a hash of the content: aiohttp serves them, and browsers keep them for good."""

import hashlib
from functools import cache
from pathlib import Path

from aiohttp import web

FOREVER = "public, max-age=31536000, immutable"
REVALIDATED = "no-cache"


@cache
def url(prefix: str, folder: Path, name: str) -> str:
    """Return the permanent URL of a file below a prefix. Raises OSError for one that does not exist."""
    return f"{prefix}/{name}?v={hashlib.sha256((folder / name).read_bytes()).hexdigest()[:16]}"


def complete(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    """Add the header fields about caching. With the hash in its URL a file never changes."""
    response.headers["Cache-Control"] = FOREVER if "v" in request.query else REVALIDATED
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
