"""Application of the plain-http listener. Redirects to https and answers HTTP-01 challenges (RFC 8555, 8.3)."""

from collections.abc import Mapping

from aiohttp import web
from aiohttp.typedefs import Handler

from chatsvc.web.faults import HttpFault
from chatsvc.web.middlewares import word_faults

CHALLENGES = "/.well-known/acme-challenge/"


def application(public_url: str, tokens: Mapping[str, str]) -> web.Application:
    """Return an application that redirects to `public_url`; `tokens` maps the token of each pending challenge to its response."""

    async def challenge(request: web.Request) -> web.Response:
        authorization = tokens.get(request.match_info["token"])
        return await redirect(request) if authorization is None else _text(200, authorization)

    async def redirect(request: web.Request) -> web.Response:
        # The host is the configured one: the Host field may say anything.
        target = request.raw_path
        path = target if target.startswith("/") and target.isascii() and target.isprintable() else "/"
        return _text(308, "", {"Location": public_url + path})

    @web.middleware
    async def redirect_all(request: web.Request, handler: Handler) -> web.StreamResponse:
        return await (redirect if request.match_info.http_exception else handler)(request)

    app = web.Application(middlewares=[word_faults(lambda fault, _: refuse(fault, "")), redirect_all])
    app.router.add_get(CHALLENGES + "{token}", challenge, allow_head=False)
    return app


def refuse(fault: HttpFault, request_id: str) -> web.Response:
    """Refuse what is no HTTP without a word."""
    del request_id
    return _text(fault.status, "")


def _text(status: int, text: str, headers: Mapping[str, str] | None = None) -> web.Response:
    """Make a plain-text response that no cache stores."""
    return web.Response(status=status, text=text, headers={"Cache-Control": "no-store", **(headers or {})})
