"""Front end of WhatsApp's callbacks: /channels/whatsapp/BOT. Everything that is signed and read is acknowledged after its storage."""

import logging

from chatsvc.domain import shapes
from chatsvc.http.faults import BodyTooLarge, HttpFault
from chatsvc.http.request import HttpRequest
from chatsvc.http.response import HttpResponse, text
from chatsvc.http.router import MethodNotAllowed, NotFound, Router
from chatsvc.platforms.whatsapp import WHATSAPP, inbox
from chatsvc.platforms.whatsapp import callbacks as reading
from chatsvc.services.accounts.channel_secrets import OpenChannel
from chatsvc.services.services import Services
from chatsvc.store import channels
from chatsvc.store.database import StoreUnavailable

log = logging.getLogger(__name__)

MOST_BODY = 3 * 1024 * 1024
BODY_S = 10.0


class WhatsAppCallbacks:
    """Answers handshakes and callbacks; see Skin."""

    def __init__(self, services: Services) -> None:
        self._services = services
        template = f"{WHATSAPP.callback_path}{{bot}}"
        self._router: Router[None] = Router([("GET", template, None), ("POST", template, None)])

    async def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request; see Skin."""
        try:
            return await self._answer(request)
        except StoreUnavailable as fault:
            log.error("the store cannot answer: %s", fault)
            # The platform delivers again what is not acknowledged.
            return _refusal(request, 503, "service_unavailable")

    async def _answer(self, request: HttpRequest) -> HttpResponse:
        try:
            match = self._router.find(request.method, request.path)
        except NotFound:
            return _refusal(request, 404, "not_found")
        except MethodNotAllowed as fault:
            refused = _refusal(request, 405, "method_not_allowed")
            refused.add_header("Allow", ", ".join(fault.allow))
            return refused
        request.route = f"{request.method} {match.template}"
        channel = await inbox.find(self._services, match.params["bot"])
        if channel is None:
            return _refusal(request, 404, "not_found")
        request.principal = channel.account_id
        return await (self._verify if request.method == "GET" else self._receive)(channel, request)

    async def _verify(self, channel: OpenChannel, request: HttpRequest) -> HttpResponse:
        expected = channel.secrets.get("verify_token")
        answer = reading.challenge(expected, request.query) if expected else None
        if answer is None:
            return _refusal(request, 403, "verify_token_wrong")
        await channels.note_verified(self._services.db, channel.channel.id, self._services.clock())
        return text(200, answer, {"X-Content-Type-Options": "nosniff"})

    async def _receive(self, channel: OpenChannel, request: HttpRequest) -> HttpResponse:
        try:
            body = await request.body.read(MOST_BODY, BODY_S)
        except BodyTooLarge:
            return _refusal(request, 413, "body_too_large")
        secret = channel.secrets.get("app_secret")
        signatures = request.headers.getall("X-Hub-Signature-256", [])
        if not secret or len(signatures) != 1 or not reading.is_signed(secret, body, signatures[0]):
            return _refusal(request, 403, "signature_wrong")
        request.authenticated()
        told = shapes.parsed(body)
        if told is None:
            return _refusal(request, 400, "body_invalid")
        callback = reading.parse(told, channel.channel.identity or "", self._services.clock())
        await inbox.receive(self._services, channel, callback)
        return text(200, "")

    def refuse(self, fault: HttpFault, request: HttpRequest | None, request_id: str) -> HttpResponse:
        """Word a protocol fault; see Skin."""
        del request_id
        if request is not None:
            request.error = type(fault).__name__
        return text(fault.status, "")


def _refusal(request: HttpRequest, status: int, code: str) -> HttpResponse:
    request.error = code
    return text(status, f"{code}\n", {"X-Content-Type-Options": "nosniff"})
