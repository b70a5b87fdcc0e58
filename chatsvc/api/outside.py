"""Public pages outside of the interface: health, readiness, OpenAPI document and calendars. It also answers all unknown paths."""

import logging
from functools import partial
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler

from chatsvc.api import BASE_PATH, bodies, openapi
from chatsvc.api.interface import API_ROOT, Interface, unknown_endpoint
from chatsvc.domain import errors
from chatsvc.domain.errors import ProblemError
from chatsvc.services.conversations import calendar
from chatsvc.services.operations import system
from chatsvc.services.services import Services
from chatsvc.store.database import StoreUnavailable
from chatsvc.web.middlewares import word_faults
from chatsvc.web.requests import INFO, HttpFault

log = logging.getLogger(__name__)

METHODS = ["GET", "HEAD"]


class Outside:
    """Front end of the public pages. Without the dashboard, it also answers the paths that belong to no other front end."""

    def __init__(self, services: Services, interface: Interface) -> None:
        self._services = services
        self._interface = interface

    def application(self) -> web.Application:
        """Return an application that answers every request with an error."""
        return web.Application(middlewares=[word_faults(self.refuse), self._refuse_problems])

    def mount(self, application: web.Application) -> None:
        """Add the public pages to the application that contains all front ends."""
        for path in ("/healthz", "/readyz", "/openapi.json"):
            mounted = self.application()
            mounted.router.add_route("*", "", partial(self._show, path))
            application.add_subapp(path, mounted)
        feeds = self.application()
        feeds.router.add_get("/{token}" + calendar.SUFFIX, self._calendar)
        application.add_subapp(calendar.PATH.rstrip("/"), feeds)
        application.router.add_route("*", API_ROOT, self._nothing)  # the interface is below it

    @web.middleware
    async def _refuse_problems(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except (web.HTTPNotFound, web.HTTPMethodNotAllowed):
            return self._refuse(unknown_endpoint(request), request)
        except ProblemError as problem:
            return self._refuse(problem, request)
        except StoreUnavailable as fault:
            log.error("the store cannot answer: %s", fault)
            return self._refuse(errors.service_unavailable(), request)

    async def _show(self, path: str, request: web.Request) -> web.Response:
        if request.method not in METHODS:
            request[INFO].route = f"GET {path}"
            raise errors.method_not_allowed(allow=METHODS)
        status, content = 200, dict[str, Any](status="ok")
        if path == "/readyz":
            content["status"] = state = await system.state(self._services, stopping=self._interface.stopping)
            status = 200 if state == "ready" else 503
        elif path == "/openapi.json":
            content = openapi.document(self._services.config.server.public_url.rstrip("/") + BASE_PATH)
        return bodies.respond(status, content, request[INFO].id, None)

    async def _nothing(self, _: web.Request) -> web.Response:
        raise web.HTTPNotFound

    async def _calendar(self, request: web.Request) -> web.Response:
        """Answer a calendar program with a bot's appointments, or with 404 if the token is unknown."""
        feed = await calendar.feed(self._services, request.match_info["token"])
        if feed is None:
            raise web.HTTPNotFound
        headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        return web.Response(body=feed, content_type="text/calendar", charset="utf-8", headers=headers)

    def _refuse(self, problem: ProblemError, request: web.Request) -> web.Response:
        info = request[INFO]
        info.error = problem.problem.code
        return bodies.refusal(problem, info.id, None, self._services.clock())

    def refuse(self, fault: HttpFault, request: web.Request) -> web.Response:
        """Return the JSON error for a fault of the HTTP protocol."""
        return self._refuse(errors.internal_error() if fault.status == 500 else errors.invalid_json(errors.because("head")), request)
