"""Front end of WhatsApp's callbacks: /channels/whatsapp/BOT. Everything that is signed and read is acknowledged after its storage.

Messages are then answered and marked read.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, cast

from aiohttp import web
from aiohttp.typedefs import Handler
from aiohttp.web import Request, Response

from chatsvc.domain import shapes, times
from chatsvc.domain.channels import ACTIVE, NewMessage, digest_of
from chatsvc.domain.hand_off import BOT
from chatsvc.platforms.whatsapp import NAME
from chatsvc.platforms.whatsapp import callbacks as reading
from chatsvc.platforms.whatsapp.callbacks import WhatsAppCallback, WhatsAppMessage, WhatsAppStatus
from chatsvc.services.accounts.channel_secrets import OpenChannel
from chatsvc.services.messages.channel_answers import ChannelAnswers
from chatsvc.services.messages.outbox import Outbox, sent_digest
from chatsvc.services.services import Services
from chatsvc.store import callbacks, channels
from chatsvc.store.callbacks import AddressedMessage, NewStatus, ReceivedCallback
from chatsvc.store.database import StoreUnavailable
from chatsvc.store.incoming_messages import StoredMessage
from chatsvc.web.bodies import read_body
from chatsvc.web.faults import BodyTooLarge, HttpFault
from chatsvc.web.middlewares import word_faults
from chatsvc.web.requests import INFO

if TYPE_CHECKING:
    from chatsvc.platforms.whatsapp.sender import WhatsAppSender

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
        channel = await _find(self._services, request.match_info["bot"])
        if channel is None:
            return _refusal(request, 404, "not_found")
        request[INFO].principal = channel.account_id
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
        request[INFO].authenticated()
        told = shapes.parsed(body)
        if told is None:
            return _refusal(request, 400, "body_invalid")
        callback = reading.parse(told, channel.channel.identity or "", self._services.clock())
        await _store(self._services, channel, callback)
        return _text(200, "")

    def refuse(self, fault: HttpFault, request: Request) -> Response:
        """Word a fault."""
        request[INFO].error = type(fault).__name__
        return _text(fault.status, "")


def _text(status: int, text: str) -> Response:
    return Response(status=status, text=text, headers={"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"})


def _refusal(request: Request, status: int, code: str) -> Response:
    request[INFO].error = code
    return _text(status, f"{code}\n")


async def _find(services: Services, bot_id: str) -> OpenChannel | None:
    """Find a bot's channel. None where the bot, its account or the channel does not exist."""
    found = (await services.channels.of_bot(bot_id)).get(NAME)
    state = await services.account_cache.account(found.account_id) if found else None
    return found if found is not None and state is not None and bot_id in state.bots else None


async def _store(services: Services, channel: OpenChannel, callback: WhatsAppCallback) -> None:
    """Store a callback, and begin to answer its new messages. Raises StoreUnavailable."""
    bot_id = channel.channel.bot_id
    arrived = ReceivedCallback(
        channel.channel.id,
        bot_id,
        NAME,
        [AddressedMessage(one.addresses, _message(channel, one)._replace(kind=one.kind)) for one in callback.messages],
        [(AddressedMessage(one.addresses, _message(channel, one)), sent_digest(bot_id, NAME, one.key)) for one in callback.echoes],
        [_status(bot_id, one) for one in callback.statuses],
        callback.moves,
    )
    done = await callbacks.receive(services.db, arrived, services.clock())
    for user_id in done.users:
        services.events.notify((bot_id, NAME, user_id))
    keys = {digest_of(bot_id, NAME, one.key): one.key for one in callback.messages}
    messages = sorted(done.messages.items(), key=lambda item: (item[1].user_id, item[1].at, item[1].number))
    for _, of_visitor in groupby(messages, key=lambda item: item[1].user_id):
        new = list(of_visitor)
        _answer(services, channel, [message for _, message in new], keys[new[-1][0]])


def _answer(services: Services, channel: OpenChannel, messages: Sequence[StoredMessage], last_key: str) -> None:
    """Begin to answer the new messages of a conversation. Where the bot answers they are marked as read."""
    last = messages[-1]
    is_recent = services.clock() - last.at <= times.DAY_MS
    is_marked = channel.channel.state == ACTIVE and is_recent and last.kind is None and last.handling in (None, BOT)
    done = cast("WhatsAppSender", services.part(Outbox).sender_of(channel)).receipt(last_key) if is_marked else None
    for message in messages:
        services.part(ChannelAnswers).begin(channel.account_id, message, done if message is last else None)


def _message(channel: OpenChannel, one: WhatsAppMessage) -> NewMessage:
    return NewMessage(channel.account_id, channel.channel.bot_id, NAME, "", one.text, one.key, one.at)


def _status(bot_id: str, status: WhatsAppStatus) -> NewStatus:
    conversation_id, _, rest = (status.opaque or "").partition(" ")
    message_id, _, part = rest.partition(" ")
    return NewStatus(sent_digest(bot_id, NAME, status.key), status.delivery, status.error, conversation_id, message_id, is_last=not part)
