"""A request's whole way: gates, routing, operation, answer; the one place where what was raised becomes HTTP."""

from __future__ import annotations

import logging
from time import perf_counter

from aiohttp import hdrs

from chatsvc.api import caller, outside, render, routes
from chatsvc.api.gates import GATES, OTHER, Call
from chatsvc.api.request import Request
from chatsvc.domain import errors
from chatsvc.domain.errors import ProblemError
from chatsvc.domain.limiter import Limiter, Slot, untouched
from chatsvc.log import ACCESS, request_id
from chatsvc.store.database import StoreUnavailable
from chatsvc.usecases.services import Services

log = logging.getLogger(__name__)

API_ROOT = "/api/"


class Interface:
    """Handles every HTTP request of the process; `stopping` and `max_in_flight` come after the gates."""

    def __init__(self, services: Services, limiter: Limiter) -> None:
        self._services = services
        self._limiter = limiter
        self.stopping = False

    def unknown_slot(self) -> Slot:
        """The rate-limit headers of a caller whom nobody knows."""
        return untouched(self._limiter.limit, self._services.clock())

    async def handle(self, request: Request) -> render.Response:
        """Answer one request; raises nothing but what closes the connection."""
        call = Call(request, render.new_request_id(), self._services, self._limiter)
        request_id.set(call.request_id)
        began = perf_counter()
        response = await self._answer(call, request.path)
        took = perf_counter() - began
        self._services.tallies.request(call.route, response.status, call.error, took)
        if self._services.config.log.access:
            _tell(call, response.status, took)
        return response

    async def _answer(self, call: Call, path: str) -> render.Response:
        inside, request = path.startswith(API_ROOT), call.request
        try:
            if path in outside.PAGES:
                call.route = f"GET {path}"
                status, body = await outside.page(self._services, request.method, path, stopping=self.stopping)
                return render.respond(status, body, call.request_id, None)
            if not inside:
                raise routes.unknown(request.method, path)
            body = await self._pass(call, path)
            return render.respond(200, body, call.request_id, call.slot)
        except ProblemError as problem:
            return self._refuse(call, path, problem)
        except StoreUnavailable as fault:
            log.error("the store cannot answer: %s", fault)
            return self._refuse(call, path, errors.service_unavailable())
        except Exception:
            log.exception("unexpected fault")
            return self._refuse(call, path, errors.internal_error())

    async def _pass(self, call: Call, path: str) -> bytes:
        for gate in GATES:
            await gate(call)
        tallies = self._services.tallies
        if self.stopping or tallies.in_flight >= self._services.config.limits.max_in_flight:
            raise errors.service_unavailable()
        tallies.in_flight += 1
        try:
            operation, record_id = routes.find(call.request.method, path)
            call.route = routes.name(operation)
            return await operation(call, record_id)
        finally:
            tallies.in_flight -= 1

    def _refuse(self, call: Call, path: str, problem: ProblemError) -> render.Response:
        inside = path.startswith(API_ROOT)
        if inside and call.route == OTHER:
            call.route = routes.name_of(call.request.method, path)
        call.error = problem.problem.code
        cause = problem.__cause__
        if cause is not None and problem.problem.status == 503:
            # An outage of the store is told in a line: it comes with every request, and where a disk is full the log may lie on it.
            log.error("%s: %s", problem, cause, exc_info=None if isinstance(cause, StoreUnavailable) else cause)
        if problem.problem.status == 401:
            log.info("%s: %s", problem, caller.address(call.request, self._services.config.server))
        slot = call.standing() if inside else None
        extra = render.problem_headers(problem, slot, self._services.clock())
        response = render.respond(problem.problem.status, render.encode(problem.as_json()), call.request_id, slot, extra)
        content = call.request.content
        if (not content.is_eof() and call.request.method != hdrs.METH_GET) or content.exception() is not None:
            # What is left of a body that nobody read must not be taken for the next request.
            response.closes = True
        return response


def _tell(call: Call, status: int, seconds: float) -> None:
    """The access line: what was asked for by the table's name, never by the path that came."""
    account, ms = call.account.account.id if call.account else None, round(seconds * 1000, 1)
    method, _, route = call.route.rpartition(" ")
    fields = {"method": method or None, "route": route, "status": status, "ms": ms, "account": account}
    ACCESS.info("%s %d %.1f ms account %s", call.route, status, ms, account or "-", extra={"fields": fields})
