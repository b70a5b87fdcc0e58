"""Front end of WhatsApp's callbacks: /channels/whatsapp/BOT. Everything that is signed and read is acknowledged after its storage."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial

from aiohttp import web
from aiohttp.typedefs import Handler
from aiohttp.web import Request, Response

from chatsvc.domain import shapes
from chatsvc.platforms.whatsapp import callbacks as reading
from chatsvc.platforms.whatsapp import inbox
from chatsvc.services.accounts.channel_secrets import OpenChannel
from chatsvc.services.services import Services
from chatsvc.store import channels
from chatsvc.store.database import StoreUnavailable
from chatsvc.web.bodies import read_body
from chatsvc.web.faults import BodyTooLarge, HttpFault
from chatsvc.web.middlewares import word_faults
from chatsvc.web.requests import info_of

log = logging.getLogger(__name__)

MOST_BODY = 3 * 1024 * 1024
BODY_S = 10.0


class WhatsAppCallbacks:
    """Answers handshakes and callbacks."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def application(self) -> web.Application:
        """Return the application that is mounted at the platform's callback path."""
        made = web.Application(middlewares=[word_faults(self.refuse), self._refuse_unknown])
        made.router.add_get("/{bot}", partial(self._answer, self._verify), allow_head=False)
        made.router.add_post("/{bot}", partial(self._answer, self._receive))
        return made

    @web.middleware
    async def _refuse_unknown(self, request: Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except web.HTTPMethodNotAllowed as fault:
            refused = _refusal(request, 405, "method_not_allowed")
            refused.headers["Allow"] = ", ".join(sorted(fault.allowed_methods))
            return refused
        except web.HTTPNotFound:
            return _refusal(request, 404, "not_found")
        except StoreUnavailable as fault:
            log.error("the store cannot answer: %s", fault)
            # The platform delivers again what is not acknowledged.
            return _refusal(request, 503, "service_unavailable")

    async def _answer(self, answer: Callable[[OpenChannel, Request], Awaitable[Response]], request: Request) -> Response:
        channel = await inbox.find(self._services, request.match_info["bot"])
        if channel is None:
            return _refusal(request, 404, "not_found")
        info_of(request).principal = channel.account_id
        return await answer(channel, request)

    async def _verify(self, channel: OpenChannel, request: Request) -> Response:
        expected = channel.secrets.get("verify_token")
        answer = reading.challenge(expected, request.query) if expected else None
        if answer is None:
            return _refusal(request, 403, "verify_token_wrong")
        await channels.note_verified(self._services.db, channel.channel.id, self._services.clock())
        return _text(200, answer)

    async def _receive(self, channel: OpenChannel, request: Request) -> Response:
        try:
            body = await read_body(request, MOST_BODY, BODY_S)
        except BodyTooLarge:
            return _refusal(request, 413, "body_too_large")
        secret = channel.secrets.get("app_secret")
        signatures = request.headers.getall("X-Hub-Signature-256", [])
        if not secret or len(signatures) != 1 or not reading.is_signed(secret, body, signatures[0]):
            return _refusal(request, 403, "signature_wrong")
        info_of(request).authenticated()
        told = shapes.parsed(body)
        if told is None:
            return _refusal(request, 400, "body_invalid")
        callback = reading.parse(told, channel.channel.identity or "", self._services.clock())
        await inbox.receive(self._services, channel, callback)
        return _text(200, "")

    def refuse(self, fault: HttpFault, request: Request) -> Response:
        """Word a fault."""
        info_of(request).error = type(fault).__name__
        return _text(fault.status, "")


def _text(status: int, text: str) -> Response:
    return Response(status=status, text=text, headers={"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"})


def _refusal(request: Request, status: int, code: str) -> Response:
    info_of(request).error = code
    return _text(status, f"{code}\n")
