"""POST /messages (SPEC.md 4.3): a message goes in, the bot's reply comes out, and both are written whole or not at all."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
import uuid
from dataclasses import dataclass

from chatsvc.domain import errors, times
from chatsvc.domain.allowance import Reservation
from chatsvc.domain.captures import MOST_A_DAY, as_captured
from chatsvc.domain.errors import Because, ProblemError
from chatsvc.domain.models import MAY_SEND, Bot, Exchange, SendMessage
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
OTHER_FIELDS = Because(
    tr="Bu “Idempotency-Key” daha önce başka alanlarla kullanıldı.",
    en="This “Idempotency-Key” was used before with other fields.",
)


@dataclass(frozen=True, slots=True)
class Once:
    """An Idempotency-Key with the digest of the fields that came under it."""

    key: str
    fingerprint: bytes


@dataclass(slots=True)
class _Sending:
    """One message on its way."""

    services: Services
    locks: ConversationLocks
    state: AccountState
    message: SendMessage
    channel: str
    once: Once | None = None
    deadline: float = 0.0
    accepted_at: int = 0
    history: ConversationHistory = conversations.NO_HISTORY
    since: int = 0
    generation: int = 0

    @property
    def spoken(self) -> list[str]:
        """The visitor's own messages."""
        return [said.content for said in self.history.messages if said.role == "user"] + [self.message.message]


async def send(
    services: Services, state: AccountState, message: SendMessage, *, channel: str = "api", idempotency_key: str | None = None
) -> Exchange:
    """Answer one message of an account; raises the problems of SPEC.md 4.3, and StoreUnavailable.

    It is not to be cancelled where a caller hangs up: that one loses nothing but the sight of the answer.
    """
    locks = services.conversation_locks
    if locks is None:
        raise RuntimeError("only a running service answers")
    sending = _Sending(services, locks, state, message, channel)
    if idempotency_key is None:
        return await locks.run(_answer(sending))
    return await asyncio.shield(_join(sending, idempotency_key))


def _join(sending: _Sending, key: str) -> asyncio.Task[Exchange]:
    message, in_flight = sending.message, sending.locks.in_flight
    fields = [message.chatbot_id, message.message, message.user_id, message.language]
    once = sending.once = Once(key, hashlib.sha256(json.dumps(fields).encode()).digest())
    place = (sending.state.account.id, key)
    request = in_flight.get(place)
    if request is None:
        request = in_flight[place] = InFlight(once.fingerprint, sending.locks.start(_answer_once(sending, once)))
        request.answer.add_done_callback(lambda _: in_flight.pop(place))
    if request.fingerprint != once.fingerprint:
        raise errors.invalid_json(OTHER_FIELDS)
    return request.answer


async def _answer_once(sending: _Sending, once: Once) -> Exchange:
    services = sending.services
    before = await exchanges.answered(services.db, sending.state.account.id, once.key, services.clock())
    if before is None:
        return await _answer(sending)
    if before.fingerprint != once.fingerprint:
        raise errors.invalid_json(OTHER_FIELDS)
    return Exchange(*json.loads(before.exchange))


async def _answer(sending: _Sending) -> Exchange:
    services, channel, message = sending.services, sending.channel, sending.message
    sending.deadline = sending.locks.deadlines.loop.time() + services.config.anthropic.timeout_s
    bot, reservation = _accept(sending)
    try:
        user_id = message.user_id or uuid.uuid4().hex
        tier, engine = _engine(services, bot)
        async with sending.locks.lock((bot.id, channel, user_id), sending.deadline):
            reply = await _ask(sending, bot, tier, engine)
            exchange = Exchange(bot.id, user_id, channel, message.message, reply.text, services.clock())
            cost = cost_micro_usd(tier, reply.usage)
            await _record(sending, exchange, reservation, reply, cost=cost, captured=_captured(sending, bot, reply))
            services.tallies.spent(tier.name, sending.state.account.plan or "none", reply.usage, cost)
            return exchange
    except Busy:
        raise errors.assistant_unavailable(reason="busy") from None
    except EngineError as fault:
        if fault.reason == "no_answer":
            await unanswered.note(services, bot, message, channel)
        raise _as_problem(bot, fault) from fault
    finally:
        reservation.release()


def _accept(sending: _Sending) -> tuple[Bot, Reservation]:
    """The checks of DECISIONS.md section 1 in their order, and the allowance reserved; nothing here waits."""
    state = sending.state
    bot = state.bots.get(sending.message.chatbot_id)
    if bot is None:
        raise errors.chatbot_not_found()
    if not bot.active:
        raise errors.chatbot_inactive(chatbot_id=bot.id)
    if state.account.subscription_status not in MAY_SEND:
        raise errors.message_quota_exceeded(reason="subscription_inactive")
    sending.accepted_at = sending.services.clock()
    reservation = state.allowance.reserve(times.month(sending.accepted_at))
    if reservation is None:
        raise errors.message_quota_exceeded(reason="allowance_exhausted")
    return bot, reservation


def _engine(services: Services, bot: Bot) -> tuple[Tier, Engine]:
    tier = services.config.models.get(bot.model)
    if tier is None:
        raise EngineError("not_configured", f"the configuration has no model tier {bot.model!r}")
    return tier, services.engines[tier.engine]


async def _history(sending: _Sending, bot: Bot) -> ConversationHistory:
    services, user_id = sending.services, sending.message.user_id
    # A visitor who brought no name cannot have been here before.
    if user_id is None:
        return conversations.NO_HISTORY
    histories = services.account_cache.histories
    sending.since = captures.start_of_day(bot, sending.accepted_at)
    sending.generation = histories.generation
    conversation = (bot.id, sending.channel, user_id)
    history = histories.pop(conversation, sending.since)
    return history or await conversations.history(services.db, conversation, HISTORY_MESSAGES, sending.since)


async def _turn(sending: _Sending, bot: Bot, tier: Tier) -> Turn:
    services, message = sending.services, sending.message
    history = sending.history = await _history(sending, bot)
    return Turn(
        bot=bot,
        channel=sending.channel,
        message=message.message,
        history=history.messages,
        language=message.language,
        knowledge=await services.knowledge.of(bot),
        model=tier.model,
        timeout_s=sending.deadline - sending.locks.deadlines.loop.time(),
        now_ms=sending.accepted_at,
        dialogue=history.dialogue,
        may_capture=history.captured < MOST_A_DAY,
        captured=history.records,
    )


async def _ask(sending: _Sending, bot: Bot, tier: Tier, engine: Engine) -> Reply:
    began, tallies = time.perf_counter(), sending.services.tallies
    try:
        reply = await _reply(sending, bot, tier, engine)
    except EngineError as fault:
        tallies.reply(tier.name, fault.reason, time.perf_counter() - began)
        raise
    tallies.reply(tier.name, "ok", time.perf_counter() - began)
    return reply


async def _reply(sending: _Sending, bot: Bot, tier: Tier, engine: Engine) -> Reply:
    try:
        with sending.locks.deadlines.until(sending.deadline):
            reply = await engine.reply(await _turn(sending, bot, tier))
    except TimeoutError:
        raise EngineError("timeout", "the deadline has passed") from None
    if not reply.text.strip():
        raise EngineError("empty")
    if "\0" in reply.text or not _is_unicode(reply.text):
        raise EngineError("bad_response", "the reply is no valid Unicode text")
    return reply


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _captured(sending: _Sending, bot: Bot, reply: Reply) -> exchanges.NewCapture | None:
    if reply.captured is None or sending.history.captured >= MOST_A_DAY:
        return None
    request, appointment = captures.records(bot, reply.captured, sending.spoken, sending.accepted_at)
    plan = sending.services.config.plans.get(sending.state.account.plan or "")
    return exchanges.NewCapture(request, appointment, tell=plan is not None and plan.webhooks)


async def _record(
    sending: _Sending, exchange: Exchange, reservation: Reservation, reply: Reply, *, cost: int, captured: exchanges.NewCapture | None
) -> None:
    state, once, dispatcher = sending.state, sending.once, sending.services.dispatcher

    def applied(counts: exchanges.Counts | None) -> None:
        if counts is not None:
            reservation.charge(counts.month_used, counts.credits)
            if counts.credits != state.account.message_credits:
                state.account = state.account._replace(message_credits=counts.credits)
            state.update_bot(state.bots[exchange.chatbot_id]._replace(messages_used=counts.bot_used))
            if captured and captured.tell and dispatcher:
                dispatcher.wake(exchange.chatbot_id)
            if sending.message.user_id is not None:
                record = as_captured(captured.request, captured.appointment) if captured else None
                history = extended(
                    sending.history, exchange.message, exchange.reply, reply.dialogue, captured=record, most=HISTORY_MESSAGES
                )
                conversation = (exchange.chatbot_id, exchange.channel, exchange.user_id)
                sending.services.account_cache.histories.put(conversation, history, sending.since, sending.generation)

    written = await exchanges.record(
        sending.services.db,
        exchanges.NewExchange(
            account_id=state.account.id,
            bot_id=exchange.chatbot_id,
            channel=exchange.channel,
            user_id=exchange.user_id,
            message=exchange.message,
            reply=exchange.reply,
            accepted_at=sending.accepted_at,
            replied_at=exchange.created_at,
            month=reservation.month,
            tokens=reply.usage.total,
            cost_micro_usd=cost,
            idempotency=exchanges.Idempotency(once.key, once.fingerprint, json.dumps(exchange)) if once else None,
            dialogue=reply.dialogue,
            captured=captured,
        ),
        applied,
    )
    if written is None:
        raise errors.account_not_found()


def _as_problem(bot: Bot, fault: EngineError) -> ProblemError:
    log.warning("bot %s gave no reply: %s", bot.id, fault)
    if fault.reason in EMPTY_REASONS:
        return errors.assistant_empty_reply(reason=fault.reason)
    return errors.assistant_unavailable(reason=fault.reason)
