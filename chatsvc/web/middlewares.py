"""Middlewares of all front ends: access log, metrics, and responses to faults. Also the headers of static files."""

import hashlib
import logging
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from time import perf_counter

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from chatsvc.log import ACCESS
from chatsvc.services.services import Services
from chatsvc.web.requests import INFO, HandlerFailed, HttpFault

log = logging.getLogger(__name__)

API_PREFIX = "/api/v2"  # left out of the names of routes


def observe(services: Services, own: Sequence[Middleware]) -> Middleware:
    """Return the middleware that counts each request, and logs it if `log.access` is set.

    Routes are named by their template, never by their path. `own` are middlewares for the requests that no mounted application answers.
    """

    @web.middleware
    async def observing(request: web.Request, handler: Handler) -> web.StreamResponse:
        info, resource = request[INFO], request.match_info.route.resource
        if resource is not None:
            info.route = f"{'GET' if request.method == 'HEAD' else request.method} {resource.canonical.removeprefix(API_PREFIX)}"
        if request.match_info.apps[-1] is request.app:
            for middleware in reversed(own):
                handler = partial(middleware, handler=handler)
        began = perf_counter()
        response = await handler(request)
        seconds = perf_counter() - began
        services.tallies.requests[info.route, response.status, info.error] += 1
        services.tallies.durations[info.route].note(seconds)
        if services.config.log.access:
            ms = round(seconds * 1000, 1)
            method, _, route = info.route.rpartition(" ")
            fields = {"method": method or None, "route": route, "status": response.status, "ms": ms, "account": info.principal}
            text = f"{info.route} {response.status} {ms:.1f} ms account {info.principal or '-'} from {info.client_address}"
            ACCESS.info("%s", text, extra={"fields": {**fields, "client": info.client_address}})
        return response

    return observing


def word_faults(refuse: Callable[[HttpFault, web.Request], web.StreamResponse]) -> Middleware:
    """Return a middleware that answers each fault with the response of `refuse`. An unexpected exception is logged with its traceback."""

    @web.middleware
    async def wording(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            refusal = request[INFO].refusal
            if refusal is not None:
                raise refusal
            return await handler(request)
        except HttpFault as fault:
            return refuse(fault, request)
        except web.HTTPException:
            raise
        except Exception:
            log.exception("unexpected fault")
            return refuse(HandlerFailed(), request)

    return wording


@cache
def static_url(prefix: str, folder: Path, name: str) -> str:
    """Return the permanent URL of a static file, with a hash of its content. Raise OSError if the file does not exist."""
    return f"{prefix}/{name}?v={hashlib.sha256((folder / name).read_bytes()).hexdigest()[:16]}"


def complete_static(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    """Add the caching headers to a static file's response. If the URL contains the hash, the file never changes."""
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable" if "v" in request.query else "no-cache"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
