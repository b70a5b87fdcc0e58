"""Front end of the REST interface: gates, routing, operation, response. Every refusal becomes HTTP here."""

import logging

from chatsvc.api import bodies, operations, render
from chatsvc.api.gates import GATES, RequestContext
from chatsvc.domain import errors
from chatsvc.domain.errors import ProblemError
from chatsvc.domain.limiter import RateLimiter, untouched
from chatsvc.http.faults import HttpFault
from chatsvc.http.request import HttpRequest
from chatsvc.http.response import HttpResponse
from chatsvc.services.accounts.account_cache import AccountState
from chatsvc.services.services import Services
from chatsvc.store.database import StoreUnavailable

log = logging.getLogger(__name__)

API_ROOT = "/api/"


async def _pass_gates(context: RequestContext) -> None:
    """Pass all gates, again where another process has changed meanwhile what they took from memory."""
    while True:
        refusal: ProblemError | None = None
        context.key = context.account = None
        try:
            for gate in GATES:
                await gate(context)
        except ProblemError as problem:
            refusal = problem
        if await context.is_confirmed():
            break
    if refusal is not None:
        raise refusal


class Interface:
    """Answers the requests below API_ROOT; `max_in_flight` is checked after the gates. `stopping`: no new connections are accepted."""

    def __init__(self, services: Services, limiter: RateLimiter) -> None:
        self._services = services
        self._limiter = limiter
        self.stopping = False

    async def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request; see Skin."""
        context = RequestContext(request, self._services, self._limiter)
        try:
            body = await self._pass(context)
            return render.respond(200, body, request.id, context.slot)
        except ProblemError as problem:
            return await self._refuse(context, problem)
        except StoreUnavailable as fault:
            log.error("the store cannot answer: %s", fault)
            return await self._refuse(context, errors.service_unavailable())
        except HttpFault:
            raise
        except Exception:
            log.exception("unexpected fault")
            return await self._refuse(context, errors.internal_error())

    async def _pass(self, context: RequestContext) -> bytes:
        request, operation, unknown = context.request, None, None
        # Routing comes after the gates; metrics and logs name the route of a refused request too.
        try:
            _, (request.route, operation), request.params = operations.find(request.method, request.path)
        except ProblemError as problem:
            unknown = problem
        await _pass_gates(context)
        state = context.state
        self._check_capacity(state)
        if operation is None:
            raise unknown or errors.internal_error()
        if request.method == "POST":
            context.body = await bodies.read_body(request)
            # Counted from now on: a half-sent body keeps nobody out.
            self._check_capacity(state)
        tallies = self._services.tallies
        tallies.in_flight += 1
        state.requests.in_flight += 1
        try:
            return await operation(context)
        finally:
            tallies.in_flight -= 1
            state.requests.in_flight -= 1

    def _check_capacity(self, state: AccountState) -> None:
        """Raise `service_unavailable` over `max_in_flight`, and over the account's half of it."""
        most = self._services.config.limits.max_in_flight
        if self._services.tallies.in_flight >= most or state.requests.in_flight >= max(1, most // 2):
            raise errors.service_unavailable()

    async def _refuse(self, context: RequestContext, problem: ProblemError) -> HttpResponse:
        request = context.request
        request.error = problem.problem.code
        cause = problem.__cause__
        if cause is not None and problem.problem.status == 503:
            # An outage of the store is one line: it comes with every request, and where a disk is full the log may lie on it.
            log.error("%s: %s", problem, cause, exc_info=None if isinstance(cause, StoreUnavailable) else cause)
        if problem.problem.status == 401:
            log.info("%s: %s", problem, request.client_address)
        return render.problem(problem, request.id, await context.rate_limit(), self._services.clock())

    def refuse(self, fault: HttpFault, request: HttpRequest | None, request_id: str) -> HttpResponse:
        """Word a protocol fault as SPEC.md's JSON; see Skin."""
        problem = errors.invalid_json()
        if fault.status >= 500:
            problem = errors.service_unavailable() if fault.status == 503 else errors.internal_error()
        if request is not None:
            request.error = problem.problem.code
        now = self._services.clock()
        return render.problem(problem, request_id, untouched(self._limiter.limit, now), now)
