"""Answers one message of the interface, once per Idempotency-Key: POST /messages (help/interface.md 5.3). turns.py has the steps."""

import asyncio
import hashlib
import json
import logging
import uuid

from chatsvc.domain import errors
from chatsvc.domain.errors import ProblemError
from chatsvc.domain.models import Bot, Exchange, SendMessage
from chatsvc.engines import EMPTY_REASONS, EngineError
from chatsvc.services.accounts.account_cache import AccountState
from chatsvc.services.knowledge import unanswered
from chatsvc.services.messages import turns
from chatsvc.services.messages.conversation_locks import Busy, InFlight, OpenElsewhere
from chatsvc.services.messages.turns import FALLBACK, AcceptedMessage, IdempotencyKey, MessageRequest
from chatsvc.services.services import Services
from chatsvc.store import exchanges

__all__ = ["FALLBACK", "send"]

log = logging.getLogger(__name__)


async def send(
    services: Services, state: AccountState, message: SendMessage, *, channel: str = "api", idempotency_key: str | None = None
) -> Exchange:
    """Answer one message of an account; raises the problems of help/interface.md 5.3, and StoreUnavailable.

    The caller must not cancel it when its client disconnects: the exchange is written all the same.
    """
    locks = services.conversation_locks
    request = MessageRequest(services, locks, state, message, channel)
    if idempotency_key is None:
        return await locks.run(_answer(request))
    return await asyncio.shield(_join(request, idempotency_key))


def _join(request: MessageRequest, key: str) -> asyncio.Task[Exchange]:
    """Start the request, or join the one in flight under the same Idempotency-Key."""
    message, in_flight = request.message, request.locks.in_flight
    fields = [message.chatbot_id, message.message, message.user_id, message.language]
    idempotency = IdempotencyKey(key, hashlib.sha256(json.dumps(fields).encode()).digest())
    place = (request.state.account.id, key)
    found = in_flight.get(place)
    if found is None:
        work = _answer_once(request._replace(idempotency=idempotency), idempotency)
        found = in_flight[place] = InFlight(idempotency.fingerprint, request.locks.start(work))
        found.answer.add_done_callback(lambda _: in_flight.pop(place))
    if found.fingerprint != idempotency.fingerprint:
        raise errors.invalid_json(errors.because("other_fields"))
    return found.answer


async def _answer_once(request: MessageRequest, idempotency: IdempotencyKey) -> Exchange:
    services, loop = request.services, asyncio.get_running_loop()
    deadline = loop.time() + services.config.anthropic.timeout_s
    while True:
        before = await exchanges.answered(services.db, request.state.account.id, idempotency.key, services.clock())
        if before is None:
            try:
                return await _answer(request)
            except OpenElsewhere as elsewhere:
                await _wait_for(elsewhere, idempotency, deadline)
        elif before.fingerprint != idempotency.fingerprint:
            raise errors.invalid_json(errors.because("other_fields"))
        else:
            return Exchange(**json.loads(before.exchange))


async def _wait_for(elsewhere: OpenElsewhere, idempotency: IdempotencyKey, deadline: float) -> None:
    if elsewhere.fingerprint != idempotency.fingerprint:
        raise errors.invalid_json(errors.because("other_fields"))
    try:
        await elsewhere.wait(deadline)
    except Busy:
        raise errors.assistant_unavailable(reason="busy") from None


async def _answer(request: MessageRequest) -> Exchange:
    accepted, problem = await turns.accept(request), None
    try:
        return await _reply(request, accepted)
    except ProblemError as raised:
        problem = raised
        raise
    finally:
        await request.locks.release(accepted.reservation, problem)


async def _reply(request: MessageRequest, accepted: AcceptedMessage) -> Exchange:
    services, channel, message, bot = request.services, request.channel, request.message, accepted.bot
    try:
        user_id = message.user_id or uuid.uuid4().hex
        tier, engine = turns.engine_of(services, bot)
        async with request.locks.lock((bot.id, channel, user_id), accepted.deadline, accepted.reservation):
            # A message that waited for the turn of another one stands below its reply.
            accepted = accepted._replace(at=max(accepted.at, services.clock()))
            reply, history = await turns.ask(request, accepted, tier, engine)
            exchange = Exchange(bot.id, user_id, channel, message.message, reply.text, services.clock())
            await turns.record(request, accepted, history, exchange, reply, tier)
            return exchange
    except Busy:
        raise errors.assistant_unavailable(reason="busy") from None
    except EngineError as fault:
        if fault.reason == "no_answer":
            await unanswered.note(services, bot, message, channel)
        raise _as_problem(bot, fault) from fault


def _as_problem(bot: Bot, fault: EngineError) -> ProblemError:
    log.warning("bot %s gave no reply: %s", bot.id, fault)
    if fault.reason in EMPTY_REASONS:
        return errors.assistant_empty_reply(reason=fault.reason)
    return errors.assistant_unavailable(reason=fault.reason)
