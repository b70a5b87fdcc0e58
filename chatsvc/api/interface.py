"""Front end of the REST interface: gates, routing, operation, response. Every refusal becomes HTTP here."""

import logging
from functools import partial

from aiohttp import web
from aiohttp.typedefs import Handler

from chatsvc.api import bodies, operations, render
from chatsvc.api.gates import RequestContext, pass_gates
from chatsvc.domain import errors
from chatsvc.domain.errors import ProblemError
from chatsvc.domain.limiter import RateLimiter, untouched
from chatsvc.services.accounts.account_cache import AccountState
from chatsvc.services.services import Services
from chatsvc.store.database import StoreUnavailable
from chatsvc.web.faults import HttpFault
from chatsvc.web.requests import INFO

log = logging.getLogger(__name__)

API_ROOT = "/api"
VERSION = "/v2"
_CONTEXT = web.RequestKey("context", RequestContext)


class Interface:
    """Answers the requests below API_ROOT; `max_in_flight` is checked after the gates. `stopping`: no new connections are accepted."""

    def __init__(self, services: Services, limiter: RateLimiter) -> None:
        self._services = services
        self._limiter = limiter
        self.stopping = False

    def application(self) -> web.Application:
        """Return the application that is mounted at API_ROOT."""
        app = web.Application(middlewares=[self._answer])
        for method, path, operation in operations.ROUTES:
            # An id may be anything: what is no id of the account is not found.
            app.router.add_route(method, VERSION + path.replace("{id}", "{id:[^/]+}"), partial(self._perform, operation))
        return app

    @web.middleware
    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Pass the gates before routing is judged, and word what is refused."""
        context = request[_CONTEXT] = RequestContext(request, self._services, self._limiter)
        try:
            refusal, misrouted = request[INFO].refusal, request.match_info.http_exception
            if refusal is not None:
                raise refusal
            await pass_gates(context)
            self._check_capacity(context.state)
            if isinstance(misrouted, web.HTTPMethodNotAllowed):
                raise errors.method_not_allowed(allow=sorted(misrouted.allowed_methods))
            if misrouted is not None:
                raise operations.unknown(request.method, request.rel_url.raw_path)
            return await handler(request)
        except ProblemError as problem:
            return await self._refuse(context, problem)
        except StoreUnavailable as fault:
            log.error("the store cannot answer: %s", fault)
            return await self._refuse(context, errors.service_unavailable())
        except HttpFault as fault:
            request[INFO].error = _problem(fault).problem.code
            return self.refuse_unparsed(fault, request[INFO].id)
        except Exception:
            log.exception("unexpected fault")
            return await self._refuse(context, errors.internal_error())
        finally:
            del request[_CONTEXT]  # the two hold each other

    async def _perform(self, operation: operations.Operation, request: web.Request) -> web.Response:
        context = request[_CONTEXT]
        if request.method == "POST":
            context.body = await bodies.read_body(request)
            # Counted from now on: a half-sent body keeps nobody out.
            self._check_capacity(context.state)
        with self._services.tallies.in_flight_of(context.state.account.id):
            body = await operation(context)
        return render.respond(200, body, request[INFO].id, context.slot)

    def _check_capacity(self, state: AccountState) -> None:
        """Raise `service_unavailable` over `max_in_flight`, and over the account's half of it."""
        if not self._services.tallies.has_room(state.account.id, self._services.config.limits.max_in_flight):
            raise errors.service_unavailable()

    async def _refuse(self, context: RequestContext, problem: ProblemError) -> web.Response:
        info = context.request[INFO]
        info.error = problem.problem.code
        cause = problem.__cause__
        if cause is not None and problem.problem.status == 503:
            # An outage of the store is one line: it comes with every request, and where a disk is full the log may lie on it.
            log.error("%s: %s", problem, cause, exc_info=None if isinstance(cause, StoreUnavailable) else cause)
        if problem.problem.status == 401:
            log.info("%s: %s", problem, info.client_address)
        return render.problem(problem, info.id, await context.rate_limit(), self._services.clock())

    def refuse_unparsed(self, fault: HttpFault, request_id: str) -> web.Response:
        """Word a fault of HTTP as the interface's JSON, also of bytes that never became a request."""
        now = self._services.clock()
        return render.problem(_problem(fault), request_id, untouched(self._limiter.limit, now), now)


def _problem(fault: HttpFault) -> ProblemError:
    if fault.status < 500:
        return errors.invalid_json(errors.because("head"))
    return errors.service_unavailable() if fault.status == 503 else errors.internal_error()
