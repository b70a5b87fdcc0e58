"""Answers one message of the interface, once per Idempotency-Key: POST /messages (help/interface.md 5.3). turns.py has the steps."""

import asyncio
import hashlib
import json
import logging
import uuid

from chatsvc.domain import errors
from chatsvc.domain.errors import ProblemError
from chatsvc.domain.models import Exchange, SendMessage
from chatsvc.engines import EMPTY_REASONS, EngineError
from chatsvc.services.accounts.account_cache import AccountState
from chatsvc.services.knowledge import unanswered
from chatsvc.services.messages.conversation_locks import Busy, OpenElsewhere
from chatsvc.services.messages.turns import IdempotencyKey, MessageTurn
from chatsvc.services.services import Services
from chatsvc.store import exchanges

log = logging.getLogger(__name__)


async def send(
    services: Services, state: AccountState, message: SendMessage, *, channel: str = "api", idempotency_key: str | None = None
) -> Exchange:
    """Answer one message of an account; raises the problems of help/interface.md 5.3, and StoreUnavailable.

    The caller must not cancel it when its client disconnects: the exchange is written all the same.
    """
    locks, begins = services.conversation_locks, message.user_id is None
    conversation = (message.chatbot_id, channel, message.user_id or uuid.uuid4().hex)
    if idempotency_key is None:
        return await asyncio.shield(locks.start(_answer(MessageTurn(services, state, message, conversation, begins=begins))))
    fields = [message.chatbot_id, message.message, message.user_id, message.language]
    idempotency = IdempotencyKey(idempotency_key, hashlib.sha256(json.dumps(fields).encode()).digest())
    key = (state.account.id, idempotency_key)
    if key not in locks.in_flight:
        turn = MessageTurn(services, state, message, conversation, begins=begins, idempotency=idempotency)
        locks.in_flight[key] = idempotency.fingerprint, locks.start(_answer_once(turn, idempotency))
        locks.in_flight[key][1].add_done_callback(lambda _: locks.in_flight.pop(key))
    fingerprint, answer = locks.in_flight[key]
    _check_same(fingerprint, idempotency)
    return await asyncio.shield(answer)


def _check_same(fingerprint: bytes, idempotency: IdempotencyKey) -> None:
    """Raise the problem of an Idempotency-Key that came with other fields before."""
    if fingerprint != idempotency.fingerprint:
        raise errors.invalid_json(errors.because("other_fields"))


async def _answer_once(turn: MessageTurn, idempotency: IdempotencyKey) -> Exchange:
    services = turn.services
    deadline = asyncio.get_running_loop().time() + services.config.anthropic.timeout_s
    while True:
        before = await exchanges.answered(services.db, turn.state.account.id, idempotency.key, services.clock())
        if before is not None:
            _check_same(before.fingerprint, idempotency)
            return Exchange(**json.loads(before.exchange))
        try:
            return await _answer(turn)
        except OpenElsewhere as elsewhere:
            _check_same(elsewhere.fingerprint, idempotency)
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
            turn.at = max(turn.at, services.clock())
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
