"""A web server on loopback that serves generated pages, and notes what it was asked."""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self

from aiohttp import web
from aiohttp.web import Request, Response, StreamResponse

Page = str | bytes | Callable[[Request], StreamResponse | Awaitable[StreamResponse]]


@dataclass
class WebsiteServer:
    """Pages by path. `validators`: whether pages have an ETag. `asked` are the paths of all requests, `sent` counts whole pages."""

    pages: dict[str, Page] = field(default_factory=dict)
    validators: bool = True
    asked: list[str] = field(default_factory=list)
    sent: int = 0
    down: bool = False
    when_asked: Callable[[str], None] = lambda _: None
    port: int = 0
    _runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner:
            await self._runner.cleanup()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    async def _answer(self, request: Request) -> StreamResponse:
        self.asked.append(request.path)
        self.when_asked(request.path)
        if self.down:
            return Response(status=503)
        page = self.pages.get(request.path)
        if page is None:
            return Response(status=404)
        if callable(page):
            answer = page(request)
            return answer if isinstance(answer, StreamResponse) else await answer
        body = page.encode() if isinstance(page, str) else page
        tag = f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'
        if self.validators and request.headers.get("If-None-Match") == tag:
            return Response(status=304)
        self.sent += 1
        kind = "text/plain" if request.path == "/robots.txt" else "application/xml" if "sitemap" in request.path else "text/html"
        return Response(body=body, content_type=kind, headers={"ETag": tag} if self.validators else {})
