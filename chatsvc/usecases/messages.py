"""Sending a message to a bot: POST /messages (SPEC.md 4.3). Message and reply are written in one transaction."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
import uuid
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from chatsvc.domain import errors, times
from chatsvc.domain.allowance import Reservation
from chatsvc.domain.captures import MOST_A_DAY, as_captured
from chatsvc.domain.errors import Because, ProblemError
from chatsvc.domain.models import MAY_SEND, Bot, Exchange, HistoryMessage, SendMessage
from chatsvc.domain.pricing import Tier, cost_micro_usd
from chatsvc.engines import EMPTY_REASONS, Engine, EngineError, Reply, Turn
from chatsvc.store import conversations, exchanges
from chatsvc.store.conversations import ConversationHistory
from chatsvc.usecases import captures, unanswered
from chatsvc.usecases.account_cache import AccountState
from chatsvc.usecases.conversation_locks import Busy, ConversationLocks, InFlight
from chatsvc.usecases.history_cache import extended
from chatsvc.usecases.services import Services

log = logging.getLogger(__name__)

HISTORY_MESSAGES = 40
FALLBACK = "knowledge"
# Seconds of the deadline that are left for the fallback engine.
FALLBACK_S = 1.0
OTHER_FIELDS = Because(
    tr="Bu “Idempotency-Key” daha önce başka alanlarla kullanıldı.",
    en="This “Idempotency-Key” was used before with other fields.",
)


class _IdempotencyKey(NamedTuple):
    """An Idempotency-Key with the digest of the fields that came with it."""

    key: str
    fingerprint: bytes


class _Request(NamedTuple):
    """A message of an account to a bot, as it came."""

    services: Services
    locks: ConversationLocks
    state: AccountState
    message: SendMessage
    channel: str
    idempotency: _IdempotencyKey | None = None


class _Accepted(NamedTuple):
    """Result of the checks: the bot, the reserved allowance, the time in milliseconds and the deadline in loop time."""

    bot: Bot
    reservation: Reservation
    at: int
    deadline: float


class _Context(NamedTuple):
    """History of the conversation, and the state of the history cache when it was read."""

    history: ConversationHistory
    since: int
    generation: int

    def spoken(self, message: str) -> list[str]:
        """List the visitor's own messages, the new one last."""
        return [earlier.content for earlier in self.history.messages if earlier.role == "user"] + [message]


async def send(
    services: Services, state: AccountState, message: SendMessage, *, channel: str = "api", idempotency_key: str | None = None
) -> Exchange:
    """Answer one message of an account; raises the problems of SPEC.md 4.3, and StoreUnavailable.

    The caller must not cancel it when its client disconnects: the exchange is written all the same.
    """
    locks = services.conversation_locks
    request = _Request(services, locks, state, message, channel)
    if idempotency_key is None:
        return await locks.run(_answer(request))
    return await asyncio.shield(_join(request, idempotency_key))


def _join(request: _Request, key: str) -> asyncio.Task[Exchange]:
    """Start the request, or join the one in flight under the same Idempotency-Key."""
    message, in_flight = request.message, request.locks.in_flight
    fields = [message.chatbot_id, message.message, message.user_id, message.language]
    idempotency = _IdempotencyKey(key, hashlib.sha256(json.dumps(fields).encode()).digest())
    place = (request.state.account.id, key)
    found = in_flight.get(place)
    if found is None:
        work = _answer_once(request._replace(idempotency=idempotency), idempotency)
        found = in_flight[place] = InFlight(idempotency.fingerprint, request.locks.start(work))
        found.answer.add_done_callback(lambda _: in_flight.pop(place))
    if found.fingerprint != idempotency.fingerprint:
        raise errors.invalid_json(OTHER_FIELDS)
    return found.answer


async def _answer_once(request: _Request, idempotency: _IdempotencyKey) -> Exchange:
    services = request.services
    before = await exchanges.answered(services.db, request.state.account.id, idempotency.key, services.clock())
    if before is None:
        return await _answer(request)
    if before.fingerprint != idempotency.fingerprint:
        raise errors.invalid_json(OTHER_FIELDS)
    return Exchange(*json.loads(before.exchange))


async def _answer(request: _Request) -> Exchange:
    services, channel, message = request.services, request.channel, request.message
    accepted = _accept(request)
    bot = accepted.bot
    try:
        user_id = message.user_id or uuid.uuid4().hex
        tier, engine = _engine(services, bot)
        async with request.locks.lock((bot.id, channel, user_id), accepted.deadline):
            reply, context = await _ask(request, accepted, tier, engine)
            exchange = Exchange(bot.id, user_id, channel, message.message, reply.text, services.clock())
            await _record(request, accepted, context, exchange, reply, tier)
            return exchange
    except Busy:
        raise errors.assistant_unavailable(reason="busy") from None
    except EngineError as fault:
        if fault.reason == "no_answer":
            await unanswered.note(services, bot, message, channel)
        raise _as_problem(bot, fault) from fault
    finally:
        accepted.reservation.release()


def _accept(request: _Request) -> _Accepted:
    """Check bot, subscription and allowance in this order, and reserve one message; nothing here awaits."""
    services, state = request.services, request.state
    deadline = request.locks.deadlines.loop.time() + services.config.anthropic.timeout_s
    bot = state.bots.get(request.message.chatbot_id)
    if bot is None:
        raise errors.chatbot_not_found()
    if not bot.active:
        raise errors.chatbot_inactive(chatbot_id=bot.id)
    if state.account.subscription_status not in MAY_SEND:
        raise errors.message_quota_exceeded(reason="subscription_inactive")
    now = services.clock()
    reservation = state.allowance.reserve(times.month(now))
    if reservation is None:
        raise errors.message_quota_exceeded(reason="allowance_exhausted")
    return _Accepted(bot, reservation, now, deadline)


def _engine(services: Services, bot: Bot) -> tuple[Tier, Engine]:
    tier = services.config.models.get(bot.model)
    if tier is None:
        raise EngineError("not_configured", f"the configuration has no model tier {bot.model!r}")
    return tier, services.engines[tier.engine]


async def _context(request: _Request, accepted: _Accepted) -> _Context:
    services, user_id = request.services, request.message.user_id
    histories = services.account_cache.histories
    # A message without a user_id begins a conversation.
    if user_id is None:
        return _Context(conversations.NO_HISTORY, 0, histories.generation)
    since, generation = captures.start_of_day(accepted.bot, accepted.at), histories.generation
    conversation = (accepted.bot.id, request.channel, user_id)
    history = histories.pop(conversation, since)
    if history is None:
        history = await conversations.history(services.db, conversation, HISTORY_MESSAGES, since)
    return _Context(history, since, generation)


async def _turn(request: _Request, accepted: _Accepted, history: ConversationHistory, tier: Tier, spare_s: float) -> Turn:
    message = request.message
    return Turn(
        bot=accepted.bot,
        channel=request.channel,
        message=message.message,
        history=history.messages,
        language=message.language,
        knowledge=await request.services.knowledge.of(accepted.bot),
        model=tier.model,
        timeout_s=accepted.deadline - spare_s - request.locks.deadlines.loop.time(),
        now_ms=accepted.at,
        dialogue=history.dialogue,
        may_capture=history.captured < MOST_A_DAY,
        captured=history.records,
    )


async def _ask(request: _Request, accepted: _Accepted, tier: Tier, engine: Engine) -> tuple[Reply, _Context]:
    began, tallies = time.perf_counter(), request.services.tallies
    try:
        answered = await _reply(request, accepted, tier, engine)
    except EngineError as fault:
        tallies.reply(tier.name, fault.reason, time.perf_counter() - began)
        raise
    tallies.reply(tier.name, "ok", time.perf_counter() - began)
    return answered


async def _reply(request: _Request, accepted: _Accepted, tier: Tier, engine: Engine) -> tuple[Reply, _Context]:
    """Ask the engine and, where it fails and the bot has a fallback, its knowledge; one deadline for both."""
    falls_back = accepted.bot.fallback == FALLBACK and tier.engine != FALLBACK
    try:
        return await _reply_by(request, accepted, tier, engine, spare_s=FALLBACK_S if falls_back else 0.0)
    except EngineError as fault:
        # `no_answer` is the model's answer.
        if not falls_back or fault.reason == "no_answer":
            raise
        log.warning("bot %s: the model failed, its knowledge is asked: %s", accepted.bot.id, fault)
        request.services.tallies.reply(tier.name, fault.reason, 0.0)
        with suppress(EngineError):
            return await _reply_by(request, accepted, tier, request.services.engines[FALLBACK])
        raise


async def _reply_by(request: _Request, accepted: _Accepted, tier: Tier, engine: Engine, *, spare_s: float = 0.0) -> tuple[Reply, _Context]:
    """Ask one engine; `spare_s` of the remaining seconds are not used."""
    try:
        with request.locks.deadlines.until(accepted.deadline - spare_s):
            context = await _context(request, accepted)
            try:
                reply = await engine.reply(await _turn(request, accepted, context.history, tier, spare_s))
            except EngineError as fault:
                if fault.reason == "no_answer":
                    _keep_as_context(request, accepted, context)
                raise
    except TimeoutError:
        raise EngineError("timeout", "the deadline has passed") from None
    if not reply.text.strip():
        raise EngineError("empty")
    if "\0" in reply.text or not _is_unicode(reply.text):
        raise EngineError("bad_response", "the reply is no valid Unicode text")
    return reply, context


def _keep_as_context(request: _Request, accepted: _Accepted, context: _Context) -> None:
    """Add a message without an answer to the cached history alone: context of the next turn, never stored (DECISIONS.md section 1)."""
    user_id, history = request.message.user_id, context.history
    said = HistoryMessage("user", request.message.message)
    if user_id is None or said in history.messages[-1:]:
        return
    kept = history._replace(messages=[*history.messages, said][-HISTORY_MESSAGES:])
    conversation = (accepted.bot.id, request.channel, user_id)
    request.services.account_cache.histories.put(conversation, kept, context.since, context.generation)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _captured(request: _Request, accepted: _Accepted, context: _Context, reply: Reply) -> exchanges.NewCapture | None:
    if reply.captured is None or context.history.captured >= MOST_A_DAY:
        return None
    spoken = context.spoken(request.message.message)
    captured, appointment = captures.records(accepted.bot, reply.captured, spoken, accepted.at)
    plan = request.services.config.plans.get(request.state.account.plan or "")
    return exchanges.NewCapture(captured, appointment, tell=plan is not None and plan.webhooks)


async def _record(request: _Request, accepted: _Accepted, context: _Context, exchange: Exchange, reply: Reply, tier: Tier) -> None:
    """Write the exchange in one transaction, then update counters, history cache and webhook queue."""
    services, state = request.services, request.state
    cost, captured = cost_micro_usd(tier, reply.usage), _captured(request, accepted, context, reply)
    written = await exchanges.record(
        services.db,
        _new_exchange(request, accepted, exchange, reply, cost=cost, captured=captured),
        # Run at the commit, even if this task has been cancelled.
        partial(state.apply_exchange, exchange.chatbot_id, accepted.reservation),
    )
    if written is None:
        raise errors.account_not_found()
    services.tallies.spent(tier.name, state.account.plan or "none", reply.usage, cost)
    if captured and captured.tell:
        services.dispatcher.wake(exchange.chatbot_id)
    if request.message.user_id is not None:
        record = as_captured(captured.request, captured.appointment) if captured else None
        history = extended(context.history, exchange.message, exchange.reply, reply.dialogue, captured=record, most=HISTORY_MESSAGES)
        conversation = (exchange.chatbot_id, exchange.channel, exchange.user_id)
        services.account_cache.histories.put(conversation, history, context.since, context.generation)


def _new_exchange(
    request: _Request, accepted: _Accepted, exchange: Exchange, reply: Reply, *, cost: int, captured: exchanges.NewCapture | None
) -> exchanges.NewExchange:
    key = request.idempotency
    return exchanges.NewExchange(
        account_id=request.state.account.id,
        bot_id=exchange.chatbot_id,
        channel=exchange.channel,
        user_id=exchange.user_id,
        message=exchange.message,
        reply=exchange.reply,
        accepted_at=accepted.at,
        replied_at=exchange.created_at,
        month=accepted.reservation.month,
        tokens=reply.usage.total,
        cost_micro_usd=cost,
        idempotency=exchanges.Idempotency(key.key, key.fingerprint, json.dumps(exchange)) if key else None,
        dialogue=reply.dialogue,
        captured=captured,
        evidence=reply.evidence.to_json() if reply.evidence else None,
    )


def _as_problem(bot: Bot, fault: EngineError) -> ProblemError:
    log.warning("bot %s gave no reply: %s", bot.id, fault)
    if fault.reason in EMPTY_REASONS:
        return errors.assistant_empty_reply(reason=fault.reason)
    return errors.assistant_unavailable(reason=fault.reason)
