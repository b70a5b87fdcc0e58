"""Front end of the public pages outside of the interface: health, readiness, OpenAPI document."""

import logging

from chatsvc.api import BASE_PATH, openapi, operations, render
from chatsvc.api.interface import Interface
from chatsvc.domain import errors
from chatsvc.domain.errors import ProblemError
from chatsvc.http.faults import HttpFault
from chatsvc.http.request import HttpRequest
from chatsvc.http.response import HttpResponse
from chatsvc.services.operations import system
from chatsvc.services.services import Services
from chatsvc.store.database import StoreUnavailable

log = logging.getLogger(__name__)

HEALTH, READY, OPENAPI = PAGES = ("/healthz", "/readyz", "/openapi.json")
METHODS = ["GET", "HEAD"]


class Outside:
    """Answers every path that no other front end has; see Skin."""

    def __init__(self, services: Services, interface: Interface) -> None:
        self._services = services
        self._interface = interface

    async def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request; see Skin."""
        try:
            if request.path not in PAGES:
                raise operations.unknown(request.method, request.path)
            request.route = f"GET {request.path}"
            if request.method not in METHODS:
                raise errors.method_not_allowed(allow=METHODS)
            status, content = await self._page(request.path)
            return render.respond(status, render.encode(content), request.id, None)
        except ProblemError as problem:
            return self._refuse(problem, request, request.id)
        except StoreUnavailable as fault:
            log.error("the store cannot answer: %s", fault)
            return self._refuse(errors.service_unavailable(), request, request.id)

    async def _page(self, path: str) -> tuple[int, object]:
        if path == HEALTH:
            return 200, {"status": "ok"}
        if path == READY:
            state = await system.state(self._services, stopping=self._interface.stopping)
            return 200 if state == "ready" else 503, {"status": state}
        return 200, openapi.document(self._services.config.server.public_url.rstrip("/") + BASE_PATH)

    def _refuse(self, problem: ProblemError, request: HttpRequest | None, request_id: str) -> HttpResponse:
        if request is not None:
            request.error = problem.problem.code
        return render.problem(problem, request_id, None, self._services.clock())

    def refuse(self, fault: HttpFault, request: HttpRequest | None, request_id: str) -> HttpResponse:
        """Word a protocol fault; see Skin."""
        return self._refuse(errors.internal_error() if fault.status == 500 else errors.invalid_json(), request, request_id)
