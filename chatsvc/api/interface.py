"""Front end of the REST interface: gates, routing, and the six operations (help/interface.md 5). It turns every refusal into a response."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from aiohttp import web
from aiohttp.typedefs import Handler

from chatsvc.api import bodies
from chatsvc.api.gates import RequestContext, pass_gates
from chatsvc.domain import errors, shapes
from chatsvc.domain.errors import ProblemError
from chatsvc.domain.limiter import RateLimiter, untouched
from chatsvc.domain.paging import DEFAULT_LIMIT, MAX_LIMIT, Listing
from chatsvc.domain.shapes import Json
from chatsvc.services.accounts import analytics, bots
from chatsvc.services.conversations import conversations
from chatsvc.services.messages import messages
from chatsvc.services.services import Services
from chatsvc.store.database import StoreUnavailable
from chatsvc.web.requests import INFO, BodyBroken, BodyTimeout, BodyTooLarge, HttpFault, read_body

T = TypeVar("T")
log = logging.getLogger(__name__)

API_ROOT = "/api"
VERSION = "/v2"
MAX_BODY = 64 * 1024
BODY_TIMEOUT_S = 10.0
_CONTEXT = web.RequestKey("context", RequestContext)


def _listed(page: Listing[T], shape: Callable[[T], Json]) -> Json:
    """Return a page of a list as JSON, with its `pagination` (help/interface.md 4)."""
    pagination = {
        "limit": page.limit,
        "returned": len(page.items),
        "total": page.total,
        "has_more": page.next_cursor is not None,
        "next_cursor": page.next_cursor,
    }
    return {"data": list(map(shape, page.items)), "pagination": pagination}


async def list_chatbots(context: RequestContext) -> Json:
    """Answer GET /chatbots (help/interface.md 5.1)."""
    query, state = context.request.query, await context.services.account_cache.counted(context.state)
    limit = bodies.integer(query.get("limit"), DEFAULT_LIMIT, MAX_LIMIT)
    return _listed(bots.page(context.services, state, limit, query.get("cursor")), shapes.chatbot)


async def get_chatbot(context: RequestContext) -> Json:
    """Answer GET /chatbots/{id} (help/interface.md 5.2)."""
    state = await context.services.account_cache.counted(context.state)
    return {"data": shapes.chatbot(bots.find(state, context.request.match_info["id"]))}


async def send_message(context: RequestContext) -> Json:
    """Answer POST /messages (help/interface.md 5.3)."""
    message = bodies.parse_message(context.body)
    key = bodies.idempotency_key(context.request)
    return {"data": shapes.exchange(await messages.send(context.services, context.state, message, idempotency_key=key))}


async def list_conversations(context: RequestContext) -> Json:
    """Answer GET /conversations (help/interface.md 5.4)."""
    query = context.request.query
    limit = bodies.integer(query.get("limit"), DEFAULT_LIMIT, MAX_LIMIT)
    filters = {name: query.get(name) for name in ("chatbot_id", "channel")}
    page = await conversations.page(context.services, context.state, limit, query.get("cursor"), **filters)
    return _listed(page, shapes.conversation)


async def get_conversation(context: RequestContext) -> Json:
    """Answer GET /conversations/{id} (help/interface.md 5.5)."""
    limit = bodies.integer(context.request.query.get("message_limit"), conversations.DEFAULT_MESSAGES, conversations.MAX_MESSAGES)
    thread = await conversations.find(context.services, context.state, context.request.match_info["id"], limit)
    return {"data": shapes.conversation_detail(thread.conversation, thread.messages)}


async def get_analytics(context: RequestContext) -> Json:
    """Answer GET /analytics (help/interface.md 5.6)."""
    state = await context.services.account_cache.counted(context.state)
    days = bodies.integer(context.request.query.get("days"), analytics.DEFAULT_DAYS, analytics.MAX_DAYS)
    return {"data": shapes.analytics(await analytics.summary(context.services, state, days))}


Operation = Callable[[RequestContext], Awaitable[Json]]

ROUTES: tuple[tuple[str, str, Operation], ...] = (
    ("GET", "/chatbots", list_chatbots),
    ("GET", "/chatbots/{id}", get_chatbot),
    ("POST", "/messages", send_message),
    ("GET", "/conversations", list_conversations),
    ("GET", "/conversations/{id}", get_conversation),
    ("GET", "/analytics", get_analytics),
)
SUPPORTED_ENDPOINTS = [f"{method} {path}" for method, path, _ in ROUTES]


def unknown_endpoint(request: web.Request) -> ProblemError:
    """Return the error for a path or method that belongs to no operation."""
    return errors.unknown_endpoint(method=request.method, path=request.rel_url.raw_path, supported_endpoints=SUPPORTED_ENDPOINTS)


class Interface:
    """Front end that answers the requests below API_ROOT. `stopping` is true once the service is stopping."""

    def __init__(self, services: Services, limiter: RateLimiter) -> None:
        self._services = services
        self._limiter = limiter
        self.stopping = False

    def application(self) -> web.Application:
        """Return the application that is mounted at API_ROOT."""
        app = web.Application(middlewares=[self._answer])
        for method, path, operation in ROUTES:
            # An id may be anything: what is no id of the account is not found.
            app.router.add_route(method, VERSION + path.replace("{id}", "{id:[^/]+}"), partial(self._perform, operation))
        return app

    @web.middleware
    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Pass the gates, then check the route and call the handler. Every failure becomes an error response."""
        context = request[_CONTEXT] = RequestContext(request, self._services, self._limiter)
        try:
            refusal, misrouted = request[INFO].refusal, request.match_info.http_exception
            if refusal is not None:
                raise refusal
            await pass_gates(context)
            if not self._services.tallies.has_room(context.account_id):
                raise errors.service_unavailable()
            if isinstance(misrouted, web.HTTPMethodNotAllowed):
                raise errors.method_not_allowed(allow=sorted(misrouted.allowed_methods))
            if misrouted is not None:
                raise unknown_endpoint(request)
            return await handler(request)
        except ProblemError as problem:
            return await self._refuse(context, problem)
        except HttpFault as fault:
            return await self._refuse(context, _problem(fault))
        except StoreUnavailable as fault:
            log.error("the store cannot answer: %s", fault)
            return await self._refuse(context, errors.service_unavailable())
        except Exception:
            log.exception("unexpected fault")
            return await self._refuse(context, errors.internal_error())
        finally:
            del request[_CONTEXT]  # the two hold each other

    async def _perform(self, operation: Operation, request: web.Request) -> web.Response:
        context = request[_CONTEXT]
        if request.method == "POST":
            context.body = await read_body(request, MAX_BODY, BODY_TIMEOUT_S)
            # Counted from now on: a half-sent body keeps nobody out.
            if not self._services.tallies.has_room(context.account_id):
                raise errors.service_unavailable()
        with self._services.tallies.in_flight_of(context.account_id):
            content = await operation(context)
        return bodies.respond(200, {"success": True, **content}, request[INFO].id, context.slot)

    async def _refuse(self, context: RequestContext, problem: ProblemError) -> web.Response:
        info = context.request[INFO]
        info.error = problem.problem.code
        cause = problem.__cause__
        if cause is not None and problem.problem.status == 503:
            # An outage of the store is one line: it comes with every request, and where a disk is full the log may lie on it.
            log.error("%s: %s", problem, cause, exc_info=None if isinstance(cause, StoreUnavailable) else cause)
        if problem.problem.status == 401:
            log.info("%s: %s", problem, info.client_address)
        return bodies.refusal(problem, info.id, context.slot or await context.peek(), self._services.clock())

    def refuse_unparsed(self, fault: HttpFault, request_id: str) -> web.Response:
        """Return the interface's JSON error for bytes that could not be parsed as a request."""
        now = self._services.clock()
        return bodies.refusal(_problem(fault), request_id, untouched(self._limiter.limit, now), now)


def _problem(fault: HttpFault) -> ProblemError:
    """Return the error of the interface for a fault of the HTTP protocol."""
    if isinstance(fault, BodyTooLarge):
        return errors.message_too_long(max_chars=bodies.MAX_MESSAGE)
    if fault.status < 500:
        causes = {BodyTimeout: "late", BodyBroken: "broken"}
        return errors.invalid_json(errors.because(causes.get(type(fault), "head")))
    return errors.service_unavailable() if fault.status == 503 else errors.internal_error()
