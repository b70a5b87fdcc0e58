"""Front end of WhatsApp's callbacks: /channels/whatsapp/BOT. A signed callback is acknowledged after its contents are stored.

Then its messages are answered and marked as read.
"""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, cast

from aiohttp import web
from aiohttp.typedefs import Handler
from aiohttp.web import Request, Response

from chatsvc.domain import shapes, times
from chatsvc.domain.channels import ACTIVE
from chatsvc.domain.models import BOT
from chatsvc.platforms.whatsapp import NAME
from chatsvc.platforms.whatsapp import callbacks as reading
from chatsvc.services.accounts.channel_secrets import OpenChannel
from chatsvc.services.messages.channel_messages import ChannelAnswers
from chatsvc.services.messages.outbox import Outbox
from chatsvc.services.services import Services
from chatsvc.store import channels, platforms
from chatsvc.store.database import StoreUnavailable
from chatsvc.web.middlewares import word_faults
from chatsvc.web.requests import INFO, BodyTooLarge, HttpFault, read_body

if TYPE_CHECKING:
    from chatsvc.platforms.whatsapp.sender import WhatsAppSender

log = logging.getLogger(__name__)

MOST_BODY = 3 * 1024 * 1024
BODY_S = 10.0


class WhatsAppCallbacks:
    """Front end that answers handshakes and callbacks of WhatsApp."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def application(self) -> web.Application:
        """Return the application that is mounted at the platform's callback path."""
        application = web.Application(middlewares=[word_faults(self.refuse), self._refuse_unknown])
        application.router.add_get("/{bot}", partial(self._answer, self._verify), allow_head=False)
        application.router.add_post("/{bot}", partial(self._answer, self._receive))
        return application

    @web.middleware
    async def _refuse_unknown(self, request: Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except web.HTTPMethodNotAllowed as fault:
            refusal = _refusal(request, 405, "method_not_allowed")
            refusal.headers["Allow"] = ", ".join(sorted(fault.allowed_methods))
            return refusal
        except web.HTTPNotFound:
            return _refusal(request, 404, "not_found")
        except StoreUnavailable as fault:
            log.error("the store cannot answer: %s", fault)
            # The platform delivers again what is not acknowledged.
            return _refusal(request, 503, "service_unavailable")

    async def _answer(self, answer: Callable[[OpenChannel, Request], Awaitable[Response]], request: Request) -> Response:
        bot_id = request.match_info["bot"]
        channel = (await self._services.channels.of_bot(bot_id)).get(NAME)
        state = await self._services.account_cache.account(channel.account_id) if channel else None
        if channel is None or state is None or bot_id not in state.bots:
            return _refusal(request, 404, "not_found")
        request[INFO].principal = channel.account_id
        return await answer(channel, request)

    async def _verify(self, channel: OpenChannel, request: Request) -> Response:
        expected = channel.secrets.get("verify_token")
        answer = reading.challenge(expected, request.query) if expected else None
        if answer is None:
            return _refusal(request, 403, "verify_token_wrong")
        await channels.update(self._services.db, channel.channel.id, {"verified_at": self._services.clock()})
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
        request[INFO].authenticated()
        callback = shapes.parsed(body)
        if callback is None:
            return _refusal(request, 400, "body_invalid")
        services, bot_id = self._services, channel.channel.bot_id
        received = reading.parse(callback, channel, services.clock())
        stored, users = await platforms.receive(services.db, received, services.clock())
        for user_id in users:
            services.events.notify((bot_id, NAME, user_id))
        keys = {item.message.digest: item.message.key for item in received.messages}
        messages = sorted(stored.items(), key=lambda item: (item[1].user_id, item[1].created_at, item[1].number))
        for _, of_visitor in groupby(messages, key=lambda item: item[1].user_id):
            new = list(of_visitor)
            digest, last = new[-1]
            # Where the bot answers, the last message is marked as read.
            is_recent = services.clock() - last.created_at <= times.DAY_MS
            is_marked = channel.channel.state == ACTIVE and is_recent and last.kind is None and last.handling in (None, BOT)
            sender = cast("WhatsAppSender", services.part(Outbox).sender_of(channel)) if is_marked else None
            end = sender.receipt(keys[digest]) if sender is not None else None
            for _, message in new:
                services.part(ChannelAnswers).begin(message, end if message is last else None)
        return _text(200, "")

    def refuse(self, fault: HttpFault, request: Request) -> Response:
        """Make the empty response to a request that failed, and note the fault for the log."""
        request[INFO].error = type(fault).__name__
        return _text(fault.status, "")


def _text(status: int, text: str) -> Response:
    return Response(status=status, text=text, headers={"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"})


def _refusal(request: Request, status: int, code: str) -> Response:
    request[INFO].error = code
    return _text(status, f"{code}\n")
