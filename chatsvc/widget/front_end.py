"""Front end of the web widget: /widget.js, /widget/..., /chat/BOT, and the page that stops mails."""

import json
import logging
from collections.abc import Awaitable, Callable

from chatsvc.http.client_address import share_of
from chatsvc.http.faults import HttpFault
from chatsvc.http.request import HttpRequest
from chatsvc.http.response import HttpResponse
from chatsvc.http.router import MethodNotAllowed, NotFound, Router
from chatsvc.http.same_origin import is_same_origin, names_own_origin
from chatsvc.services.messages import web_visits
from chatsvc.services.messages.web_visits import WebVisits, Widget
from chatsvc.services.services import Services
from chatsvc.store.database import StoreUnavailable
from chatsvc.widget import calls, documents, mail_stop
from chatsvc.widget.calls import CallRefused

log = logging.getLogger(__name__)

PATHS = ("/widget.js", "/widget", "/chat")
Handler = Callable[[WebVisits, Widget, HttpRequest], Awaitable[HttpResponse]]
# Documents are for everybody who opens them; calls only for the frame's own script.
_DOCUMENTS: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/widget/{bot}", documents.frame),
    ("GET", "/chat/{bot}", documents.page),
    ("GET", "/chat/{bot}/mails/{token}", mail_stop.show),
    # From a mail program too, which is no page of this service: the token is the permission.
    ("POST", "/chat/{bot}/mails/{token}", mail_stop.stop),
)
_CALLS: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/widget/{bot}/messages", calls.read),
    ("POST", "/widget/{bot}/messages", calls.send),
    ("POST", "/widget/{bot}/feedback", calls.rate),
)


class WebChannel:
    """Answers the requests of embedding pages and of the widget itself; see Skin."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._visits = WebVisits(services)
        self._static = documents.static_files()
        self._router: Router[Handler] = Router([*_DOCUMENTS, *_CALLS])
        self._calls = {handler for _, _, handler in _CALLS}

    async def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request; see Skin."""
        if request.method in ("GET", "HEAD"):
            file = self._static.find(request)
            if file is not None:
                request.route = "GET /widget/static"
                return file
            if request.path == documents.LOADER:
                request.route = f"GET {documents.LOADER}"
                return documents.loader(request)
        try:
            return await self._answer(request)
        except CallRefused as refused:
            request.error = refused.code
            return _refusal(refused.status, refused.code, refused.retry_after)
        except StoreUnavailable as fault:
            log.error("the store cannot answer: %s", fault)
            request.error = "service_unavailable"
            return _refusal(503, "service_unavailable")

    async def _answer(self, request: HttpRequest) -> HttpResponse:
        try:
            match = self._router.find("GET" if request.method == "HEAD" else request.method, request.path)
        except NotFound:
            raise CallRefused(404, "not_found") from None
        except MethodNotAllowed as fault:
            refused = _refusal(405, "method_not_allowed")
            refused.add_header("Allow", ", ".join(fault.allow))
            return refused
        request.route, request.params = f"{request.method} {match.template}", match.params
        is_call = match.target in self._calls
        if is_call and not _is_own_call(request, self._services.config.server.public_url):
            raise CallRefused(403, "cross_site")
        place = share_of(request.client_address)
        widget = await web_visits.find(self._services, request.params["bot"])
        if widget is None:
            raise CallRefused(404, "not_found")
        request.principal = widget.account_id
        slot = await self._visits.take_poll(widget, place)
        if not slot.taken:
            raise CallRefused(429, "too_many_requests", self._visits.seconds_until(slot))
        return await match.target(self._visits, widget, request)

    def refuse(self, fault: HttpFault, request: HttpRequest | None, request_id: str) -> HttpResponse:
        """Word a protocol fault; see Skin."""
        del request_id
        if request is not None:
            request.error = type(fault).__name__
        return _refusal(fault.status, "internal_error" if fault.status == 500 else "broken_request")


def _is_own_call(request: HttpRequest, public_url: str) -> bool:
    """Report whether a request comes from the widget's own page. Browsers name no origin when they read from it over plain http."""
    named = "Sec-Fetch-Site" in request.headers or "Origin" in request.headers
    if not named and request.method in ("GET", "HEAD"):
        return True
    if "Origin" in request.headers and not names_own_origin(request, public_url):
        return False
    return is_same_origin(request, public_url) and request.headers.get("Sec-Fetch-Site") != "none"


def _refusal(status: int, code: str, retry_after: int | None = None) -> HttpResponse:
    headers = {"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    return HttpResponse(status, json.dumps({"error": code, "retry_after": retry_after}).encode(), headers)
