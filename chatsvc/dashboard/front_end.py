"""Front end of the dashboard: session, protection against forged requests, access, handlers. Every refusal becomes a page here."""

import asyncio
import logging
from collections.abc import Awaitable
from contextlib import suppress
from functools import partial
from urllib.parse import unquote, urlsplit, urlunsplit

from aiohttp import typedefs, web
from aiohttp.web import Request, Response

from chatsvc.dashboard import localization, responses
from chatsvc.dashboard.page import ACCOUNT_ACCESS, CODE_PATH, HOME_PATH, LOGIN_PATH, REFRESH, Access, Handler, Page
from chatsvc.dashboard.pages.today import WAITING_PATH
from chatsvc.dashboard.responses import STATIC_FOLDER, STATIC_PREFIX, load, with_query
from chatsvc.dashboard.routes import ROUTES, Route
from chatsvc.domain.refusals import Refused
from chatsvc.services import administration
from chatsvc.services.services import Services
from chatsvc.services.team import sessions
from chatsvc.store.database import StoreUnavailable
from chatsvc.web.middlewares import complete_static, word_faults
from chatsvc.web.requests import INFO, HttpFault, is_same_origin

log = logging.getLogger(__name__)


_LOOK_S = 1.0  # between two looks at a connection whose answer takes long
_GONE = 499  # for the log: nobody reads the answer


class Dashboard:
    """Front end of the pages for operators. It also answers the paths that belong to no other front end."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._cookie = responses.cookie_name(services.config.server.public_url)
        self._is_loaded = False

    def application(self) -> web.Application:
        """Return the application with all pages."""
        application = web.Application(middlewares=[word_faults(self.refuse), self._serve])
        application.router.add_static(STATIC_PREFIX, STATIC_FOLDER)
        for route in ROUTES:
            if route.get is not None:
                application.router.add_get(route.template, partial(self._answer, route, route.get))  # and HEAD
            if route.post is not None:
                application.router.add_post(route.template, partial(self._answer, route, route.post))
        return application

    @web.middleware
    async def _serve(self, request: Request, handler: typedefs.Handler) -> web.StreamResponse:
        info = request[INFO]
        try:
            if not self._is_loaded:
                # At the first request, since many installations have no visitors here; in a thread, since messages must not wait.
                await self._services.offload(load)
                self._is_loaded = True
            response = await handler(request)
            if request.path.startswith(STATIC_PREFIX):
                complete_static(request, response)
        except web.HTTPException as fault:
            response = await self._show_unknown(request, fault)
        except StoreUnavailable as fault:
            log.error("the store cannot answer: %s", fault)
            response = responses.fault(503, localization.preferred_language(request.headers.get("Accept-Language", "")))
        if response.status >= 400:
            info.error = info.error or f"page_{response.status}"
        return response

    async def _page(self, request: Request, access: Access) -> Page:
        info = request[INFO]
        token = request.cookies.get(self._cookie)
        # An open page that asks by itself does not keep a session alive.
        is_act = request.path != WAITING_PATH and REFRESH not in request.headers
        signed_in = await sessions.find(self._services, token, info.client_address, is_act=is_act) if token else None
        if signed_in is not None and signed_in.session.verified:
            info.authenticated(signed_in.operator.id)
            info.principal = signed_in.operator.id
        return Page(self._services, request, access, signed_in)

    async def _show_unknown(self, request: Request, fault: web.HTTPException) -> Response:
        page = await self._page(request, Access.PUBLIC)
        # An account outside the operator's scope changes nothing about a path that does not exist.
        with suppress(Refused):
            await self._choose_account(page)
        if isinstance(fault, web.HTTPMethodNotAllowed):
            return page.fail(405, more=[("Allow", ", ".join(sorted(fault.allowed_methods)))])
        return page.fail(404)

    async def _answer(self, route: Route, handler: Handler, request: Request) -> Response:
        """Check the path, the origin, the session, the account and the access, in this order, and call the handler."""
        try:
            unquote(request.rel_url.raw_path, errors="strict")
        except UnicodeDecodeError:
            raise web.HTTPNotFound from None
        page, is_get = await self._page(request, route.access), request.method in ("GET", "HEAD")
        try:
            if not is_get and not is_same_origin(request, self._services.config.server.public_url):
                return page.fail(403, page.text("errors.cross_site"))
            sign_in = _sign_in_path(page)
            if sign_in is not None:
                return responses.redirect(sign_in)
            await self._choose_account(page)
            if is_get and not page.may_see(route.access):
                return page.fail(403)
            return await _while_connected(request, handler(page))
        except HttpFault as fault:
            return page.fail(fault.status)
        except Refused as fault:
            page.info.error = fault.code
            return responses.redirect(LOGIN_PATH) if fault.code == "session_needed" else page.fail_with(fault)
        finally:
            if page.fields is not None:
                page.fields.close()

    async def _choose_account(self, page: Page) -> None:
        """Determine the account of the page. Raise Refused for a record outside the operator's scope."""
        if page.signed_in is None or not page.is_signed_in:
            return
        services, scope = self._services, page.caller.scope
        kind = next(filter(administration.OWNED.__contains__, page.params), None)
        page.has_record = kind is not None
        wanted = None
        # A link chooses an account, or a form was made for one. Another tab may have chosen another one since.
        if page.request.method in ("GET", "HEAD"):
            wanted = page.query.get("account")
        elif not page.has_record and page.access in ACCOUNT_ACCESS:
            wanted = (await page.form()).optional("account")
        if wanted is not None:
            await sessions.choose_account(services, page.signed_in, wanted)
        refreshed = page.request.headers.get(REFRESH, "")
        if scope.includes(refreshed) and await services.account_cache.account(refreshed) is not None:
            wanted = refreshed
        record_id, wanted = page.params.get(kind or "", ""), wanted or page.session.account_id
        owner, page.accounts = await sessions.choices(services, scope, wanted, kind, record_id)
        chosen = owner or wanted
        page.account_id = chosen if chosen in page.accounts else next(iter(page.accounts), None)
        if page.operator.timezone:
            page.timezone = page.operator.timezone
        elif page.account_id and (state := await services.account_cache.account(page.account_id)) and state.bots:
            page.timezone = next(iter(state.bots.values())).timezone
        if kind and owner is None:
            raise administration.missing(kind, record_id)

    def refuse(self, fault: HttpFault, request: Request) -> Response:
        """Return the error page of a fault of the HTTP protocol."""
        info = request[INFO]
        info.error = type(fault).__name__
        return responses.fault(fault.status, localization.preferred_language(request.headers.get("Accept-Language", "")), info.id)


async def _while_connected(request: Request, work: Awaitable[Response]) -> Response:
    """Await `work`, and cancel it if the browser disconnects. An operation that changes data is completed all the same."""
    task: asyncio.Future[Response] = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({task}, timeout=_LOOK_S))[0]:
            if request.transport is None or request.transport.is_closing():
                task.cancel()
                await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        raise
    return Response(status=_GONE) if task.cancelled() else task.result()


def _sign_in_path(page: Page) -> str | None:
    """Return the path to redirect to, such as the sign-in page, or None if the session suffices for the page."""
    access = page.access
    if access is Access.PUBLIC:
        return None
    if page.signed_in is None:
        # After a form the browser returns to the page on which it stood.
        address = urlsplit(page.request.headers.get("referer", ""))
        back = page.request.raw_path if page.request.method == "GET" else urlunsplit(("", "", address.path, address.query, ""))
        return with_query(LOGIN_PATH, {"next": None if back == HOME_PATH else back})
    if access is Access.WAITING:
        return HOME_PATH if page.is_signed_in else None
    return None if page.is_signed_in else CODE_PATH
