"""Steps of a turn: accept a message, ask the bot's engine, and record the exchange.

The engine has a deadline; the exchange is recorded with its charge. usecases/messages.py and usecases/channel_messages.py call these steps.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from chatsvc.domain import errors, times
from chatsvc.domain.allowance import HeldMessage
from chatsvc.domain.captures import MOST_A_DAY, as_captured
from chatsvc.domain.models import MAY_SEND, Bot, Exchange, HistoryMessage, SendMessage
from chatsvc.domain.pricing import Tier, cost_micro_usd
from chatsvc.engines import Engine, EngineError, Reply, Turn
from chatsvc.store import conversations, exchanges
from chatsvc.store.conversations import ConversationHistory
from chatsvc.usecases import captures
from chatsvc.usecases.account_cache import AccountState
from chatsvc.usecases.conversation_locks import ConversationLocks, HoldRequest
from chatsvc.usecases.history_cache import extended
from chatsvc.usecases.services import Services

log = logging.getLogger(__name__)

HISTORY_MESSAGES = 40
FALLBACK = "knowledge"
# Seconds of the deadline that are left for the fallback engine.
FALLBACK_S = 1.0


class IdempotencyKey(NamedTuple):
    """An Idempotency-Key with the digest of the fields that came with it."""

    key: str
    fingerprint: bytes


class MessageRequest(NamedTuple):
    """A message of an account to a bot, as it came. `page_host` is the host of the page where the chat happens.

    stored: number of the message in the store, where its channel has stored it before.
    delivery: delivery state of the reply at its beginning, None on the interface.
    """

    services: Services
    locks: ConversationLocks
    state: AccountState
    message: SendMessage
    channel: str
    idempotency: IdempotencyKey | None = None
    page_host: str = ""
    stored: int | None = None
    delivery: str | None = None


class AcceptedMessage(NamedTuple):
    """Result of the checks. The bot, the reserved allowance, the time in milliseconds and the deadline in loop time."""

    bot: Bot
    reservation: HeldMessage
    at: int
    deadline: float


class TurnContext(NamedTuple):
    """History of the conversation, and the state of the history cache when it was read."""

    history: ConversationHistory
    since: int
    generation: int

    def spoken(self, message: str) -> list[str]:
        """List the visitor's own messages, the new one last."""
        return [earlier.content for earlier in self.history.messages if earlier.role == "user"] + [message]


async def accept(request: MessageRequest) -> AcceptedMessage:
    """Check bot, subscription and allowance in this order, and reserve one message."""
    services, state = request.services, request.state
    deadline = asyncio.get_running_loop().time() + services.config.anthropic.timeout_s
    bot = state.bots.get(request.message.chatbot_id)
    if bot is None:
        raise errors.chatbot_not_found()
    if not bot.active:
        raise errors.chatbot_inactive(chatbot_id=bot.id)
    if state.account.subscription_status not in MAY_SEND:
        raise errors.message_quota_exceeded(reason="subscription_inactive")
    now = services.clock()
    reservation = await request.locks.reserve(_hold_request(request, bot, now))
    if reservation is None:
        raise errors.message_quota_exceeded(reason="allowance_exhausted")
    return AcceptedMessage(bot, reservation, now, deadline)


def _hold_request(request: MessageRequest, bot: Bot, now: int) -> HoldRequest:
    user_id, key = request.message.user_id, request.idempotency
    # The turn of a stored message has locked its conversation before.
    conversation = (bot.id, request.channel, user_id) if user_id is not None and request.stored is None else None
    return HoldRequest(request.state.account.id, request.state.allowance, times.month(now), now, conversation, *(key or ()))


def engine_of(services: Services, bot: Bot) -> tuple[Tier, Engine]:
    """Return the bot's model tier and its engine; raises EngineError."""
    tier = services.config.models.get(bot.model)
    if tier is None:
        raise EngineError("not_configured", f"the configuration has no model tier {bot.model!r}")
    return tier, services.engines[tier.engine]


async def _context(request: MessageRequest, accepted: AcceptedMessage) -> TurnContext:
    services, user_id = request.services, request.message.user_id
    histories = services.account_cache.histories
    # A message without a user_id begins a conversation.
    if user_id is None:
        return TurnContext(conversations.NO_HISTORY, 0, histories.generation)
    since, generation = captures.start_of_day(accepted.bot, accepted.at), histories.generation
    conversation = (accepted.bot.id, request.channel, user_id)
    history = histories.pop(conversation, since)
    if history is None:
        history = await conversations.history(services.db, conversation, HISTORY_MESSAGES, since)
    return TurnContext(history, since, generation)


async def _turn(request: MessageRequest, accepted: AcceptedMessage, history: ConversationHistory, tier: Tier, spare_s: float) -> Turn:
    message = request.message
    return Turn(
        bot=accepted.bot,
        channel=request.channel,
        message=message.message,
        history=history.messages,
        language=message.language,
        knowledge=await request.services.knowledge.of(accepted.bot, request.state.version.settings),
        model=tier.model,
        timeout_s=accepted.deadline - spare_s - asyncio.get_running_loop().time(),
        now_ms=accepted.at,
        dialogue=history.dialogue,
        may_capture=history.captured < MOST_A_DAY,
        captured=history.records,
    )


async def ask(request: MessageRequest, accepted: AcceptedMessage, tier: Tier, engine: Engine) -> tuple[Reply, TurnContext]:
    """Ask the bot's engine for the reply within the deadline; raises EngineError."""
    began, tallies = time.perf_counter(), request.services.tallies
    try:
        answered = await _reply(request, accepted, tier, engine)
    except EngineError as fault:
        tallies.reply(tier.name, fault.reason, time.perf_counter() - began)
        raise
    tallies.reply(tier.name, "ok", time.perf_counter() - began)
    return answered


async def _reply(request: MessageRequest, accepted: AcceptedMessage, tier: Tier, engine: Engine) -> tuple[Reply, TurnContext]:
    """Ask the engine and, where it fails and the bot has a fallback, its knowledge. One deadline for both."""
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


async def _reply_by(
    request: MessageRequest, accepted: AcceptedMessage, tier: Tier, engine: Engine, *, spare_s: float = 0.0
) -> tuple[Reply, TurnContext]:
    """Ask one engine; `spare_s` of the remaining seconds are not used."""
    try:
        async with asyncio.timeout_at(accepted.deadline - spare_s):
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


def _keep_as_context(request: MessageRequest, accepted: AcceptedMessage, context: TurnContext) -> None:
    """Add a message without an answer to the cached history alone. Context of the next turn, never stored (DECISIONS.md section 1)."""
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


def _captured(request: MessageRequest, accepted: AcceptedMessage, context: TurnContext, reply: Reply) -> exchanges.NewCapture | None:
    if reply.captured is None or context.history.captured >= MOST_A_DAY:
        return None
    spoken = context.spoken(request.message.message)
    captured, appointment = captures.records(accepted.bot, reply.captured, spoken, accepted.at, page_host=request.page_host)
    plan = request.services.config.plans.get(request.state.account.plan or "")
    return exchanges.NewCapture(captured, appointment, tell=plan is not None and plan.webhooks, sends_mail=request.services.sends_mail)


async def record(
    request: MessageRequest, accepted: AcceptedMessage, context: TurnContext, exchange: Exchange, reply: Reply, tier: Tier
) -> bool:
    """Write the exchange in one transaction, then update counters, history cache and webhook queue.

    Returns False and writes no reply where the turn of a stored message was settled meanwhile, by an operator or another call.
    """
    services, state = request.services, request.state
    cost, captured = cost_micro_usd(tier, reply.usage), _captured(request, accepted, context, reply)
    written = await exchanges.record(
        services.db,
        _new_exchange(request, accepted, exchange, reply, cost=cost, captured=captured),
        # Run at the commit, even if this task has been cancelled.
        partial(state.apply_exchange, exchange.chatbot_id, accepted.reservation),
    )
    if written is None and request.stored is not None:
        return False
    if written is None:
        raise errors.account_not_found() if await services.account_cache.account(state.account.id) is None else errors.chatbot_not_found()
    services.tallies.spent(tier.name, state.account.plan or "none", reply.usage, cost)
    if captured and captured.tell:
        services.dispatcher.wake(exchange.chatbot_id)
    if request.message.user_id is not None:
        record = as_captured(captured.request, captured.appointment) if captured else None
        history = extended(context.history, exchange.message, exchange.reply, reply.dialogue, captured=record, most=HISTORY_MESSAGES)
        conversation = (exchange.chatbot_id, exchange.channel, exchange.user_id)
        services.account_cache.histories.put(conversation, history, context.since, context.generation)
    return True


def _new_exchange(
    request: MessageRequest,
    accepted: AcceptedMessage,
    exchange: Exchange,
    reply: Reply,
    *,
    cost: int,
    captured: exchanges.NewCapture | None,
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
        entry=reply.evidence.answering if reply.evidence else None,
        stored=request.stored,
        delivery=request.delivery,
        choices=json.dumps(reply.choices) if reply.choices and request.delivery else None,
        turn=accepted.reservation.turn,
    )
