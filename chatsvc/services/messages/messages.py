"""Processing of one message to a bot: accept it, ask the engine within the deadline, record and charge the exchange.

`send` is POST /messages (help/interface.md 5.3); channel_messages.py does the same for stored messages of channels.
"""

import asyncio
import hashlib
import json
import logging
import time
import uuid
from dataclasses import dataclass, field, replace

from chatsvc.domain import errors, times
from chatsvc.domain.captures import MOST_A_DAY, Captured
from chatsvc.domain.errors import ProblemError
from chatsvc.domain.folding import is_storable
from chatsvc.domain.limiter import HeldMessage
from chatsvc.domain.models import MAY_SEND, Bot, ConversationKey, Exchange, HistoryMessage, SendMessage
from chatsvc.domain.plans import Tier, cost_micro_usd
from chatsvc.engines import EMPTY_REASONS, EngineError, Reply, Turn
from chatsvc.services.accounts.account_cache import AccountState
from chatsvc.services.conversations import captures
from chatsvc.services.knowledge import unanswered
from chatsvc.services.messages.conversation_locks import Busy, OpenElsewhere
from chatsvc.services.services import Services
from chatsvc.store import conversations, exchanges
from chatsvc.store.captures import NewCapture
from chatsvc.store.conversations import ConversationHistory
from chatsvc.store.open_turns import NewTurn

log = logging.getLogger(__name__)

HISTORY_MESSAGES = 40
MOST_UNANSWERED = 1024  # conversations whose unanswered words are kept
FALLBACK = "knowledge"
# Seconds of the deadline that are left for the fallback engine.
FALLBACK_S = 1.0


async def reply_to(services: Services, tier: Tier, turn: Turn, deadline: float) -> tuple[Reply, list[EngineError]]:
    """Ask the engine of a model tier for a reply. If it fails and the bot has a fallback, ask the knowledge engine.

    `deadline` is in loop time. Return the reply, and the fault of the first engine if it failed. Raises EngineError without a reply.
    """
    kinds, faults = [tier.engine], list[EngineError]()
    if turn.bot.fallback == FALLBACK and tier.engine != FALLBACK:
        kinds.append(FALLBACK)
    for kind in kinds:
        spare_s = FALLBACK_S if kind != kinds[-1] else 0.0
        try:
            timeout_s = deadline - spare_s - asyncio.get_running_loop().time()
            reply = await services.engines[kind].reply(replace(turn, model=tier.model, timeout_s=timeout_s))
            if not reply.text.strip():
                raise EngineError("empty")
            if not is_storable(reply.text):
                raise EngineError("bad_response", "the reply is no valid Unicode text")
            return reply, faults
        except EngineError as fault:
            faults.append(fault)
            if fault.reason == "no_answer":  # the model's answer
                break
    raise faults[0]


@dataclass(eq=False)
class MessageTurn:
    """Processing of one message to a bot. The methods are called in the order `accept`, `ask`, `record`.

    `begins` is true for the first message of a conversation. `page_host` is the host of the page with the chat. `stored` is the message's
    row number if its channel has stored it before. `delivery` is the first delivery state of the reply, or None on the interface.
    `idempotency` is the Idempotency-Key with the digest of the request's fields.
    """

    services: Services
    state: AccountState
    message: SendMessage
    conversation: ConversationKey
    begins: bool = False
    idempotency: tuple[str, bytes] | None = None
    page_host: str = ""
    stored: int | None = None
    delivery: str | None = None
    bot: Bot = field(init=False)
    tier: Tier = field(init=False)
    held: HeldMessage = field(init=False)
    accepted_at: int = field(init=False)
    deadline: float = field(init=False)
    history: ConversationHistory = field(init=False)

    async def accept(self) -> None:
        """Check bot, subscription and allowance in this order, and reserve one message. Raises ProblemError."""
        services, state = self.services, self.state
        self.deadline = asyncio.get_running_loop().time() + services.config.anthropic.timeout_s
        bot = state.bots.get(self.message.chatbot_id)
        if bot is None:
            raise errors.chatbot_not_found()
        if not bot.active:
            raise errors.chatbot_inactive(chatbot_id=bot.id)
        if state.account.subscription_status not in MAY_SEND:
            raise errors.message_quota_exceeded(reason="subscription_inactive")
        self.bot, self.accepted_at = bot, services.clock()
        # The turn of a stored message has locked its conversation before.
        locked_later = None if self.begins or self.stored is not None else self.conversation
        key, fingerprint = self.idempotency or (None, None)
        opening = NewTurn(state.account.id, self.accepted_at, times.month(self.accepted_at), key=key, fingerprint=fingerprint)
        held = await services.conversation_locks.reserve(state.allowance, opening, locked_later)
        if held is None:
            raise errors.message_quota_exceeded(reason="allowance_exhausted")
        self.held = held

    async def ask(self) -> Reply:
        """Ask the engine for the reply; raises EngineError.

        If the engine gives no answer, a message that is not stored is remembered in memory as context of the next message.
        """
        services, bot, history = self.services, self.bot, conversations.NO_HISTORY
        tier = services.config.models.get(bot.model)
        if tier is None:
            raise EngineError("not_configured", f"the configuration has no model tier {bot.model!r}")
        self.tier, began = tier, time.perf_counter()
        unanswered_words = services.account_cache.unanswered
        if not self.begins:
            since = times.start_of_local_day(self.accepted_at, bot.timezone)
            history = await conversations.history(services.db, self.conversation, HISTORY_MESSAGES, since)
            earlier = unanswered_words.get(self.conversation, [])
            history = history._replace(messages=[*history.messages, *earlier][-HISTORY_MESSAGES:])
        self.history = history
        turn = Turn(
            bot=bot,
            channel=self.conversation[1],
            message=self.message.message,
            history=history.messages,
            language=self.message.language,
            knowledge=await services.knowledge.of(bot, self.state.version.settings),
            now_ms=self.accepted_at,
            dialogue=history.dialogue,
            may_capture=history.captured < MOST_A_DAY,
            captured=history.records,
        )
        try:
            reply, faults = await reply_to(services, tier, turn, self.deadline)
        except EngineError as fault:
            services.tallies.replies[tier.name, fault.reason].note(time.perf_counter() - began)
            question = HistoryMessage("user", self.message.message)
            # The messages of channels are stored.
            is_kept = self.begins or self.stored is not None or question in history.messages[-1:]
            if fault.reason == "no_answer" and not is_kept:
                unanswered_words[self.conversation] = [*unanswered_words.pop(self.conversation, []), question][-HISTORY_MESSAGES:]
                if len(unanswered_words) > MOST_UNANSWERED:
                    del unanswered_words[next(iter(unanswered_words))]
            raise
        for failed in faults:
            log.warning("bot %s: the model failed, its knowledge has answered: %s", bot.id, failed)
            services.tallies.replies[tier.name, failed.reason].note(0.0)
        services.tallies.replies[tier.name, "ok"].note(time.perf_counter() - began)
        return reply

    async def record(self, reply: Reply) -> Exchange:
        """Write the exchange in one transaction, then update counters and webhook queue.

        Write no reply if an operator or another call has answered the stored message meanwhile.
        """
        services, state, key = self.services, self.state, self.idempotency
        exchange = Exchange(*self.conversation[::2], self.conversation[1], self.message.message, reply.text, services.clock())
        cost = cost_micro_usd(self.tier, reply.usage)
        captured = self._captured(reply.captured) if reply.captured else None
        written = await exchanges.record(
            services.db,
            exchanges.NewExchange(
                exchange,
                state.account.id,
                accepted_at=self.accepted_at,
                month=self.held.month,
                tokens=sum(reply.usage),
                cost_micro_usd=cost,
                idempotency=exchanges.Idempotency(*key, json.dumps(exchange._asdict())) if key else None,
                dialogue=reply.dialogue,
                captured=captured,
                evidence=reply.evidence.to_json() if reply.evidence else None,
                entry=reply.evidence.answering if reply.evidence else None,
                stored=self.stored,
                delivery=self.delivery,
                choices=json.dumps(reply.choices) if reply.choices and self.delivery else None,
                turn=self.held.turn,
                is_answer=reply.is_answer,
            ),
        )
        if written is None and self.stored is not None:
            return exchange
        if written is None:
            is_gone = await services.account_cache.account(state.account.id) is None
            raise errors.account_not_found() if is_gone else errors.chatbot_not_found()
        self.held.close()
        if written.awaited:
            services.conversation_locks.announce()
        state.apply_exchange(exchange.chatbot_id, self.held.month, written)
        services.tallies.spent(self.tier.name, state.account.plan or "none", reply.usage, cost)
        if captured and captured.tell:
            services.webhooks.wake(exchange.chatbot_id)
        services.account_cache.unanswered.pop(self.conversation, None)
        if reply.missed:
            await unanswered.note(services, self.bot, self.message._replace(message=reply.missed), exchange.channel)
        return exchange

    def _captured(self, captured: Captured) -> NewCapture | None:
        # Changes do not count, and are never refused.
        if self.history.captured >= MOST_A_DAY and captured.change is None:
            return None
        spoken = [*(earlier.content for earlier in self.history.messages if earlier.role == "user"), self.message.message]
        request, appointment = captures.records(self.bot, captured, spoken, self.accepted_at, page_host=self.page_host)
        plan = self.services.config.plans.get(self.state.account.plan or "")
        tell = plan is not None and plan.webhooks
        return NewCapture(request, appointment, tell=tell, sends_mail=self.services.sends_mail)


async def send(
    services: Services, state: AccountState, message: SendMessage, *, channel: str = "api", idempotency_key: str | None = None
) -> Exchange:
    """Answer one message of an account, once per Idempotency-Key; raises the problems of help/interface.md 5.3, and StoreUnavailable.

    The exchange is written even if the caller is cancelled.
    """
    locks = services.conversation_locks
    conversation = (message.chatbot_id, channel, message.user_id or uuid.uuid4().hex)
    turn = MessageTurn(services, state, message, conversation, begins=message.user_id is None)
    if idempotency_key is None:
        return await asyncio.shield(locks.start(_answer(turn)))
    fields = [message.chatbot_id, message.message, message.user_id, message.language]
    fingerprint = hashlib.sha256(json.dumps(fields).encode()).digest()
    turn.idempotency = idempotency_key, fingerprint
    key = (state.account.id, idempotency_key)
    if key not in locks.in_flight:
        locks.in_flight[key] = fingerprint, locks.start(_answer_once(turn, *turn.idempotency))
        locks.in_flight[key][1].add_done_callback(lambda _: locks.in_flight.pop(key))
    earlier, answer = locks.in_flight[key]
    _check_same(earlier, fingerprint)
    return await asyncio.shield(answer)


def _check_same(earlier: bytes, fingerprint: bytes) -> None:
    """Raise the problem of an Idempotency-Key that was used before with other fields."""
    if earlier != fingerprint:
        raise errors.invalid_json(errors.because("other_fields"))


async def _answer_once(turn: MessageTurn, key: str, fingerprint: bytes) -> Exchange:
    services = turn.services
    deadline = asyncio.get_running_loop().time() + services.config.anthropic.timeout_s
    while True:
        before = await exchanges.answered(services.db, turn.state.account.id, key, services.clock())
        if before is not None:
            _check_same(before.fingerprint, fingerprint)
            return Exchange(**json.loads(before.exchange))
        try:
            return await _answer(turn)
        except OpenElsewhere as elsewhere:
            _check_same(elsewhere.fingerprint, fingerprint)
            try:
                await elsewhere.wait(deadline)
            except Busy:
                raise errors.assistant_unavailable(reason="busy") from None


async def _answer(turn: MessageTurn) -> Exchange:
    services, problem = turn.services, None
    await turn.accept()
    try:
        async with services.conversation_locks.lock(turn.conversation, turn.deadline, turn.held):
            # A message that waited for the turn of another one stands below its reply.
            turn.accepted_at = max(turn.accepted_at, services.clock())
            return await turn.record(await turn.ask())
    except ProblemError as raised:
        problem = raised
        raise
    except Busy:
        problem = errors.assistant_unavailable(reason="busy")
        raise problem from None
    except EngineError as fault:
        log.warning("bot %s gave no reply: %s", turn.bot.id, fault)
        if fault.reason == "no_answer":
            await unanswered.note(services, turn.bot, turn.message, turn.conversation[1])
        is_empty = fault.reason in EMPTY_REASONS
        problem = (errors.assistant_empty_reply if is_empty else errors.assistant_unavailable)(reason=fault.reason)
        raise problem from fault
    finally:
        await services.conversation_locks.release(turn.held, problem)
