"""Steps of a turn: accept a message, ask the bot's engine within the deadline, record the exchange with its charge."""

import asyncio
import json
import logging
import time
from contextlib import suppress
from typing import NamedTuple

from chatsvc.domain import errors, times
from chatsvc.domain.allowance import HeldMessage
from chatsvc.domain.captures import MOST_A_DAY
from chatsvc.domain.folding import is_storable
from chatsvc.domain.models import MAY_SEND, Bot, Exchange, HistoryMessage, SendMessage
from chatsvc.domain.pricing import Tier, cost_micro_usd
from chatsvc.engines import Engine, EngineError, Reply, Turn
from chatsvc.services.accounts.account_cache import AccountState
from chatsvc.services.conversations import captures
from chatsvc.services.knowledge import unanswered
from chatsvc.services.messages.conversation_locks import ConversationLocks, HoldRequest
from chatsvc.services.services import Services
from chatsvc.store import conversations, exchanges
from chatsvc.store.conversations import ConversationHistory

log = logging.getLogger(__name__)

HISTORY_MESSAGES = 40
MOST_UNANSWERED = 1024  # conversations whose unanswered words are kept
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


async def _history(request: MessageRequest, accepted: AcceptedMessage) -> ConversationHistory:
    user_id = request.message.user_id
    # A message without a user_id begins a conversation.
    if user_id is None:
        return conversations.NO_HISTORY
    conversation = (accepted.bot.id, request.channel, user_id)
    since = captures.start_of_day(accepted.bot, accepted.at)
    history = await conversations.history(request.services.db, conversation, HISTORY_MESSAGES, since)
    waiting = request.services.account_cache.unanswered.get(conversation, [])
    return history._replace(messages=[*history.messages, *waiting][-HISTORY_MESSAGES:])


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


async def ask(request: MessageRequest, accepted: AcceptedMessage, tier: Tier, engine: Engine) -> tuple[Reply, ConversationHistory]:
    """Ask the bot's engine for the reply within the deadline; raises EngineError."""
    began, tallies = time.perf_counter(), request.services.tallies
    try:
        answered = await _reply(request, accepted, tier, engine)
    except EngineError as fault:
        tallies.reply(tier.name, fault.reason, time.perf_counter() - began)
        raise
    tallies.reply(tier.name, "ok", time.perf_counter() - began)
    return answered


async def _reply(request: MessageRequest, accepted: AcceptedMessage, tier: Tier, engine: Engine) -> tuple[Reply, ConversationHistory]:
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
) -> tuple[Reply, ConversationHistory]:
    """Ask one engine; `spare_s` of the remaining seconds are not used."""
    history = await _history(request, accepted)
    try:
        reply = await engine.reply(await _turn(request, accepted, history, tier, spare_s))
    except EngineError as fault:
        if fault.reason == "no_answer":
            _keep_as_context(request, accepted, history)
        raise
    if not reply.text.strip():
        raise EngineError("empty")
    if not is_storable(reply.text):
        raise EngineError("bad_response", "the reply is no valid Unicode text")
    return reply, history


def _keep_as_context(request: MessageRequest, accepted: AcceptedMessage, history: ConversationHistory) -> None:
    """Keep a message without an answer as context of the next turn, in memory alone."""
    user_id, said = request.message.user_id, HistoryMessage("user", request.message.message)
    # Those of a channel are stored.
    if user_id is None or request.stored is not None or said in history.messages[-1:]:
        return
    kept, conversation = request.services.account_cache.unanswered, (accepted.bot.id, request.channel, user_id)
    kept[conversation] = [*kept.pop(conversation, []), said][-HISTORY_MESSAGES:]
    if len(kept) > MOST_UNANSWERED:
        del kept[next(iter(kept))]


def _captured(
    request: MessageRequest, accepted: AcceptedMessage, history: ConversationHistory, reply: Reply
) -> exchanges.NewCapture | None:
    # Changes do not count, and are never refused.
    if reply.captured is None or (history.captured >= MOST_A_DAY and reply.captured.change is None):
        return None
    spoken = [*(earlier.content for earlier in history.messages if earlier.role == "user"), request.message.message]
    captured, appointment = captures.records(accepted.bot, reply.captured, spoken, accepted.at, page_host=request.page_host)
    plan = request.services.config.plans.get(request.state.account.plan or "")
    return exchanges.NewCapture(captured, appointment, tell=plan is not None and plan.webhooks, sends_mail=request.services.sends_mail)


async def record(
    request: MessageRequest, accepted: AcceptedMessage, history: ConversationHistory, exchange: Exchange, reply: Reply, tier: Tier
) -> None:
    """Write the exchange in one transaction, then update counters and webhook queue.

    Writes no reply where the turn of a stored message was settled meanwhile, by an operator or another call.
    """
    services, state = request.services, request.state
    cost, captured = cost_micro_usd(tier, reply.usage), _captured(request, accepted, history, reply)
    written = await exchanges.record(services.db, _new_exchange(request, accepted, exchange, reply, cost=cost, captured=captured))
    if written is None and request.stored is not None:
        return
    if written is None:
        raise errors.account_not_found() if await services.account_cache.account(state.account.id) is None else errors.chatbot_not_found()
    state.apply_exchange(exchange.chatbot_id, accepted.reservation, written)
    services.tallies.spent(tier.name, state.account.plan or "none", reply.usage, cost)
    if captured and captured.tell:
        services.dispatcher.wake(exchange.chatbot_id)
    services.account_cache.unanswered.pop((exchange.chatbot_id, exchange.channel, exchange.user_id), None)
    if reply.missed:
        await unanswered.note(services, accepted.bot, request.message._replace(message=reply.missed), request.channel)


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
        idempotency=exchanges.Idempotency(key.key, key.fingerprint, json.dumps(exchange._asdict())) if key else None,
        dialogue=reply.dialogue,
        captured=captured,
        evidence=reply.evidence.to_json() if reply.evidence else None,
        entry=reply.evidence.answering if reply.evidence else None,
        stored=request.stored,
        delivery=request.delivery,
        choices=json.dumps(reply.choices) if reply.choices and request.delivery else None,
        turn=accepted.reservation.turn,
        is_answer=reply.is_answer,
    )
