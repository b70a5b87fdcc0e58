"""Front end of the dashboard: session, protection against forgery, access, handler. Every refusal becomes a page here."""

import logging
from contextlib import suppress
from urllib.parse import urlsplit, urlunsplit

from chatsvc.dashboard import languages, responses, session_cookie
from chatsvc.dashboard.access import ACCOUNT_ACCESS, Access
from chatsvc.dashboard.local_paths import with_query
from chatsvc.dashboard.page import CODE_PATH, DEFAULT_ZONE, HOME_PATH, LOGIN_PATH, Page
from chatsvc.dashboard.pages.today import WAITING_PATH
from chatsvc.dashboard.route import Route
from chatsvc.dashboard.routes import ROUTES
from chatsvc.dashboard.templating import load, static_files
from chatsvc.domain.refusals import Refused
from chatsvc.http.faults import HttpFault
from chatsvc.http.request import HttpRequest
from chatsvc.http.response import HttpResponse
from chatsvc.http.router import MethodNotAllowed, NotFound, Router
from chatsvc.http.same_origin import is_same_origin
from chatsvc.services import administration
from chatsvc.services.services import Services
from chatsvc.services.team import sessions
from chatsvc.store.database import StoreUnavailable

log = logging.getLogger(__name__)


# Sent by static/app.js, with the account that the open page shows: another tab may have chosen another one since.
_REFRESH = "Chatsvc-Refresh"


class Dashboard:
    """Answers every path that no other front end has; see Skin."""

    def __init__(self, services: Services, routes: tuple[Route, ...] = ROUTES) -> None:
        self._services = services
        self._router: Router[Route] = Router((one.method, one.template, one) for one in routes)
        self._is_loaded = False
        self._pages = frozenset(one.template for one in routes if one.method == "GET")

    async def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request; see Skin."""
        if not self._is_loaded:
            # At the first request, since many installations have no visitors here; in a thread, since messages must not wait.
            await self._services.offload(load)
            self._is_loaded = True
        if request.method in ("GET", "HEAD"):
            file = static_files().find(request)
            if file is not None:
                request.route = "GET /static"
                return file
        try:
            response = await self._answer(request)
        except StoreUnavailable as fault:
            log.error("the store cannot answer: %s", fault)
            response = responses.fault(503, languages.choose(request))
        if response.status >= 400:
            request.error = request.error or f"page_{response.status}"
        return response

    async def _answer(self, request: HttpRequest) -> HttpResponse:
        public_url = self._services.config.server.public_url
        token = session_cookie.token(request, public_url)
        is_act = not _is_background(request)
        signed_in = await sessions.find(self._services, token, request.client_address, is_act=is_act) if token else None
        if signed_in is not None and signed_in.session.verified:
            request.authenticated()
            request.principal = signed_in.operator.id
        language = languages.choose(request, signed_in.operator.language if signed_in else None)
        try:
            match = self._router.find("GET" if request.method == "HEAD" else request.method, request.path)
            request.route, route, request.params = f"{match.target.method} {match.template}", match.target, match.params
        except (NotFound, MethodNotAllowed) as fault:
            page = Page(self._services, request, Access.PUBLIC, signed_in, language, self._pages)
            # An account outside the operator's scope changes nothing about a path that does not exist.
            with suppress(Refused):
                await self._choose_account(page)
            return page.fail(404) if isinstance(fault, NotFound) else page.fail(405, more=[("Allow", ", ".join(fault.allow))])
        page = Page(self._services, request, route.access, signed_in, language, self._pages)
        try:
            return await self._run(page, route)
        finally:
            page.close()

    async def _run(self, page: Page, route: Route) -> HttpResponse:
        """Check origin, session and access, and call the handler."""
        request = page.request
        try:
            if request.method not in ("GET", "HEAD") and not is_same_origin(request, self._services.config.server.public_url):
                return page.fail(403, page.text("errors.cross_site"))
            elsewhere = _detour(page)
            if elsewhere is not None:
                return responses.redirect(elsewhere)
            await self._choose_account(page)
            if route.method == "GET" and not page.may_see(route.access):
                return page.fail(403)
            return await route.handler(page)
        except HttpFault as fault:
            return page.fail(fault.status)
        except Refused as fault:
            request.error = fault.code
            if fault.code == "session_needed":
                return responses.redirect(LOGIN_PATH)
            return page.fail_with(fault)

    async def _choose_account(self, page: Page) -> None:
        """Determine the account of the page; raises Refused for a record outside the operator's scope."""
        if not page.is_signed_in or page.signed_in is None:
            return
        scope, chosen = page.caller.scope, page.session.account_id
        record = next(((kind, name) for kind, name in page.params.items() if administration.is_owned(kind)), None)
        page.has_record = record is not None
        wanted = await _wanted_account(page)
        if wanted is not None:
            await sessions.choose_account(self._services, page.signed_in, wanted)
        shown = page.request.headers.get(_REFRESH, "")
        if scope.includes(shown) and await self._services.account_cache.account(shown) is not None:
            wanted = shown
        chosen = wanted or chosen
        owner = await sessions.account_of(self._services, scope, *record) if record else None
        chosen = owner or chosen
        page.accounts = await sessions.choices(self._services, scope, chosen)
        known = [account.id for account in page.accounts]
        page.account_id = chosen if chosen in known else next(iter(known), None)
        if page.account_id is not None:
            own = page.operator.timezone
            page.timezone = own or await sessions.timezone(self._services, page.account_id) or DEFAULT_ZONE
        if record is not None and owner is None:
            raise administration.missing(*record)

    def refuse(self, fault: HttpFault, request: HttpRequest | None, request_id: str) -> HttpResponse:
        """Word a protocol fault; see Skin."""
        if request is not None:
            request.error = type(fault).__name__
        return responses.fault(fault.status, languages.choose(request), request_id)


async def _wanted_account(page: Page) -> str | None:
    """Return the account that a link chooses, or that a form was made for. Another tab may have chosen another one since."""
    if page.request.method in ("GET", "HEAD"):
        return page.query.get("account")
    if page.has_record or page.access not in ACCOUNT_ACCESS:
        return None
    return (await page.form()).optional("account")


def _is_background(request: HttpRequest) -> bool:
    """Report whether an open page asks by itself. That does not keep a session alive."""
    return request.path == WAITING_PATH or _REFRESH in request.headers


def _detour(page: Page) -> str | None:
    """Return the page of the sign-in that comes first. None where the session suffices for the route."""
    access = page.access
    if access is Access.PUBLIC:
        return None
    if page.signed_in is None:
        # After a form the browser returns to the page on which it stood.
        back = page.request.target if page.request.method == "GET" else _referring_page(page.request)
        back = None if back == HOME_PATH else back
        return with_query(LOGIN_PATH, {"next": back})
    if access is Access.WAITING:
        return HOME_PATH if page.is_signed_in else None
    return None if page.is_signed_in else CODE_PATH


def _referring_page(request: HttpRequest) -> str | None:
    """Return the path and query of the page with the form, or None if the browser does not name it."""
    address = urlsplit(request.headers.get("referer", ""))
    return urlunsplit(("", "", address.path, address.query, "")) or None
