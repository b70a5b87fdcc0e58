"""What the process serves outside of the interface, to anybody: the interface's description, and whether the service lives and is ready."""

from __future__ import annotations

from chatsvc.api import BASE_PATH, openapi, render
from chatsvc.domain import errors
from chatsvc.usecases import health
from chatsvc.usecases.services import Services

HEALTH, READY, OPENAPI = PAGES = ("/healthz", "/readyz", "/openapi.json")
METHODS = ["GET", "HEAD"]


async def page(services: Services, method: str, path: str, *, stopping: bool) -> tuple[int, bytes]:
    """The status and body of one of PAGES; raises `method_not_allowed`."""
    if method not in METHODS:
        raise errors.method_not_allowed(allow=METHODS)
    if path == HEALTH:
        return 200, render.encode({"status": "ok"})
    if path == READY:
        state = await health.state(services, stopping=stopping)
        return 200 if state == "ready" else 503, render.encode({"status": state})
    return 200, render.encode(openapi.document(services.config.server.public_url.rstrip("/") + BASE_PATH))
