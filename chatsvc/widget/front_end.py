"""Front end of the web widget: /widget.js, /widget/..., /chat/BOT, and the page that stops mails."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial

from aiohttp import web
from aiohttp.typedefs import Handler as AnyHandler
from aiohttp.web import Request, Response

from chatsvc.services.messages import web_visits
from chatsvc.services.messages.web_visits import WebVisits, Widget
from chatsvc.services.services import Services
from chatsvc.store.database import StoreUnavailable
from chatsvc.web.client_address import share_of
from chatsvc.web.middlewares import complete_static, word_faults
from chatsvc.web.requests import INFO, HttpFault, is_same_origin, names_own_origin
from chatsvc.widget import calls, documents
from chatsvc.widget.calls import CallRefused

log = logging.getLogger(__name__)

Handler = Callable[[WebVisits, Widget, Request], Awaitable[Response]]


class WebChannel:
    """Front end that answers the requests of embedding pages and of the widget itself."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._visits = WebVisits(services)

    def mount(self, application: web.Application) -> None:
        """Add the routes of the widget to the application of all front ends."""
        application.router.add_get(documents.LOADER, documents.loader)
        widget, chat = (web.Application(middlewares=[word_faults(self.refuse), self._refuse_calls]) for _ in range(2))
        widget.router.add_static("/static", documents.STATIC)
        # For the frame's own script alone; documents are for everybody who opens them.
        widget.router.add_get("/{bot}/messages", partial(self._answer, calls.read, is_call=True))
        widget.router.add_post("/{bot}/messages", partial(self._answer, calls.send, is_call=True))
        widget.router.add_post("/{bot}/feedback", partial(self._answer, calls.rate, is_call=True))
        widget.router.add_get("/{bot}", partial(self._answer, documents.frame))
        widget.router.add_get("/{bot}/look.js", partial(self._answer, documents.look))
        chat.router.add_get("/{bot}", partial(self._answer, documents.page))
        chat.router.add_get("/{bot}/mails/{token}", partial(self._answer, documents.ask_to_stop_mails))
        # From a mail program too, which is no page of this service: the token is the permission.
        chat.router.add_post("/{bot}/mails/{token}", partial(self._answer, documents.stop_mails))
        application.add_subapp("/widget", widget)
        application.add_subapp("/chat", chat)

    @web.middleware
    async def _refuse_calls(self, request: Request, handler: AnyHandler) -> web.StreamResponse:
        info = request[INFO]
        try:
            response = await handler(request)
            if request.path.startswith("/widget/static/"):
                response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
                return complete_static(request, response)
            return response
        except web.HTTPMethodNotAllowed as fault:
            response = _refusal(405, "method_not_allowed")
            response.headers["Allow"] = ", ".join(sorted(fault.allowed_methods))
            return response
        except web.HTTPException:
            refused = CallRefused(404, "not_found")
        except CallRefused as fault:
            refused = fault
        except StoreUnavailable as fault:
            log.error("the store cannot answer: %s", fault)
            refused = CallRefused(503, "service_unavailable")
        info.error = refused.code
        return _refusal(refused.status, refused.code, refused.retry_after)

    async def _answer(self, handler: Handler, request: Request, *, is_call: bool = False) -> Response:
        if is_call and not _is_own_call(request, self._services.config.server.public_url):
            raise CallRefused(403, "cross_site")
        info = request[INFO]
        widget = await web_visits.find(self._services, request.match_info["bot"])
        if widget is None:
            raise CallRefused(404, "not_found")
        info.principal = widget.account_id
        wait_s = await self._visits.take_slot(widget, share_of(info.client_address), sends=False)
        if wait_s is not None:
            raise CallRefused(429, "too_many_requests", wait_s)
        return await handler(self._visits, widget, request)

    def refuse(self, fault: HttpFault, request: Request) -> Response:
        """Return the JSON error for a fault of the HTTP protocol or of a handler."""
        request[INFO].error = type(fault).__name__
        return _refusal(fault.status, "internal_error" if fault.status == 500 else "broken_request")


def _is_own_call(request: Request, public_url: str) -> bool:
    """Report whether a request comes from the widget's own page. Assume this of a read request without origin headers (plain http)."""
    named = "Sec-Fetch-Site" in request.headers or "Origin" in request.headers
    if not named and request.method in ("GET", "HEAD"):
        return True
    if "Origin" in request.headers and not names_own_origin(request, public_url):
        return False
    return is_same_origin(request, public_url) and request.headers.get("Sec-Fetch-Site") != "none"


def _refusal(status: int, code: str, retry_after: int | None = None) -> Response:
    more = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return calls.respond({"error": code, "retry_after": retry_after}, status, more)
