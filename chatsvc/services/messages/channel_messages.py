"""Storing and answering of messages that arrive by a channel.

A turn is the processing of one message. It ends with the bot's reply, silently while an operator handles the conversation, or otherwise
with a predefined sentence, which is not charged. A limited number of turns run in the background. Interrupted turns are ended later.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple
from weakref import WeakValueDictionary

from chatsvc import background
from chatsvc.domain import profiles, times
from chatsvc.domain.channels import ACTIVE, PLATFORMS, START, NewMessage, first_delivery
from chatsvc.domain.errors import ProblemError
from chatsvc.domain.models import BOT, MAY_SEND, WAITING, Bot, ConversationKey, SendMessage
from chatsvc.engines import EngineError
from chatsvc.language import catalogue
from chatsvc.services.accounts.account_cache import AccountState
from chatsvc.services.knowledge import unanswered
from chatsvc.services.messages.conversation_locks import Busy
from chatsvc.services.messages.messages import HISTORY_MESSAGES, MessageTurn
from chatsvc.services.services import Services
from chatsvc.store import channel_messages as stored
from chatsvc.store import conversations
from chatsvc.store.channel_messages import NoticeSentence, StoredMessage
from chatsvc.store.database import LAST, StoreUnavailable

log = logging.getLogger(__name__)


class _ChannelTurn(NamedTuple):
    """Stored message with all data that are needed to answer it."""

    services: Services
    state: AccountState
    bot: Bot
    message: StoredMessage
    is_active: bool
    is_silent: bool  # messages of a paused platform are stored and nothing else
    deadline: float


async def receive(services: Services, *arrived: NewMessage) -> list[StoredMessage | None]:
    """Store visitors' messages, and return the stored messages in the same order. Raises TooManyConversations.

    A message that was stored before is returned too, or None in its place if it was erased meanwhile.
    """
    messages = await stored.store(services.db, list(arrived)) if arrived else []
    for message in filter(None, messages):
        services.events.stop_typing(message.conversation, "visitor")
        services.events.notify(message.conversation)
    return messages


async def answer(services: Services, message: StoredMessage) -> None:
    """Answer a stored message once, even if this function is called several times. Return when the answer is stored.

    Earlier unanswered messages of the conversation are answered first. An answer may be silence. It is completed even if the caller is
    cancelled. Raises StoreUnavailable.
    """
    locks = services.conversation_locks
    answering, task = locks.answering, locks.answering.get(message.number)
    if task is None:
        task = answering[message.number] = locks.start(_answer(services, message))
        task.add_done_callback(lambda _: answering.pop(message.number))
    await asyncio.shield(task)


async def _answer(services: Services, message: StoredMessage) -> None:
    state = await services.account_cache.account(message.account_id)
    bot = state.bots.get(message.bot_id) if state else None
    if state is None or bot is None:
        return
    channel = (await services.channels.of_bot(bot.id)).get(message.channel)
    is_active = channel is not None and channel.channel.state == ACTIVE
    is_silent = channel is not None and not is_active and message.channel in PLATFORMS
    loop, timeout_s = asyncio.get_running_loop(), services.config.anthropic.timeout_s
    turn = _ChannelTurn(services, state, bot, message, is_active, is_silent, loop.time() + timeout_s)
    try:
        async with services.conversation_locks.lock(turn.message.conversation, turn.deadline):
            for waiting in await stored.unsettled(services.db, message):
                await _settle(turn._replace(message=waiting, deadline=loop.time() + timeout_s))
    except Busy:
        await _say(turn, "unavailable")
    finally:
        services.events.notify(turn.message.conversation)


async def _settle(turn: _ChannelTurn) -> None:
    # A message that waited for longer than a day, since the process had ended, is not answered any more.
    if turn.message.handling != BOT or turn.is_silent or turn.services.clock() - turn.message.created_at > times.DAY_MS:
        await _write(turn, None)
    elif not (turn.is_active and turn.bot.active and turn.state.account.subscription_status in MAY_SEND):
        await _say(turn, "closed")
    elif turn.message.kind == START:
        await _greet(turn)
    elif turn.message.kind is not None:
        await (_write(turn, None) if await stored.follows_no_text(turn.services.db, turn.message) else _say(turn, "not_text"))
    elif not (turn.bot.hand_off and _calls_a_person(turn)):
        await _reply(turn)
    elif profiles.is_open(turn.bot, now := times.local(turn.services.clock(), turn.bot.timezone)):
        await _say(turn, "handoff.waiting", WAITING)
    else:
        from chatsvc.engines.knowledge import business

        sentences = catalogue.of_bot(turn.bot, await spoken(turn.services, turn.bot, turn.message.conversation, turn.message.text))
        await _reply(turn, before=sentences("handoff.away", next=business.next_opening(turn.bot, now, sentences)).strip())


async def _greet(turn: _ChannelTurn) -> None:
    """Greet the visitor. The choices to press are the suggested questions, a person of the team, and a call back."""
    services, bot = turn.services, turn.bot
    # "/start" shows no language.
    language = await spoken(services, bot, turn.message.conversation, "")
    sentences = catalogue.of_bot(bot, language)
    greeting = catalogue.own_greeting(bot, language) or sentences(catalogue.GREETING, name=bot.name)
    choices = (*profiles.load(bot.profile).suggestions, *wishes(bot, sentences.language))
    await _write(turn, NoticeSentence(greeting, services.clock(), first_delivery(turn.message.channel, "assistant"), choices=choices))


def wishes(bot: Bot, language: str) -> tuple[str, ...]:
    """Return the texts of the choices for a person (only if the bot hands over) and for a call back."""
    keys = ("wish.person", "wish.call") if bot.hand_off else ("wish.call",)
    return tuple(catalogue.say(key, language) for key in keys)


def _calls_a_person(turn: _ChannelTurn) -> bool:
    from chatsvc.engines.knowledge import questions

    return questions.calls_a_person(turn.message.text, turn.bot.language)


async def _reply(turn: _ChannelTurn, before: str = "") -> None:
    """Store the engine's reply, which is charged, or an uncharged sentence if there is no reply. `before` is a text to put before it."""
    services, bot, message = turn.services, turn.bot, turn.message
    sent, delivery = SendMessage(bot.id, message.text, message.user_id), first_delivery(message.channel, "assistant")
    reply_turn = MessageTurn(
        services, turn.state, sent, message.conversation, page_host=message.source_page_host, stored=message.number, delivery=delivery
    )
    try:
        await reply_turn.accept()
    except ProblemError as problem:
        return await _say(turn, "unavailable" if problem.extra.get("reason") == "allowance_exhausted" else "closed")
    reply_turn.deadline = turn.deadline
    try:
        reply = await reply_turn.ask()
        await reply_turn.record(replace(reply, text=f"{before}\n\n{reply.text}") if before else reply)
    except EngineError as fault:
        if fault.reason != "no_answer":
            log.warning("bot %s gave no reply: %s", bot.id, fault)
            return await _say(turn, "unavailable")
        # Not before: the message may have been erased meanwhile, and its words with it.
        fallback = fault.fallback or await sentence(services, bot, turn.message.conversation, message.text, "unknown")
        text = f"{before}\n\n{fallback}".strip()
        if await _write(turn, NoticeSentence(text, services.clock(), delivery, fault.dialogue, choices=fault.choices)):
            await unanswered.note(services, bot, sent, message.channel)
    finally:
        await services.conversation_locks.release(reply_turn.held)


async def _say(turn: _ChannelTurn, key: str, handling: str | None = None) -> None:
    """Answer the message with the bot's predefined sentence `key`. `handling` is the conversation's new handling, if any."""
    words = turn.message.text if turn.message.kind is None else ""  # "[voice]" is nobody's language
    text = await sentence(turn.services, turn.bot, turn.message.conversation, words, key)
    delivery = first_delivery(turn.message.channel, "assistant")
    await _write(turn, NoticeSentence(text, turn.services.clock(), delivery), handling)


async def _write(turn: _ChannelTurn, notice: NoticeSentence | None, handling: str | None = None) -> bool:
    """End the turn with the sentence `notice`, or silently if it is None. Return False if the message was answered or erased before."""
    return await stored.settle(turn.services.db, turn.message.number, notice, handling, sends_mail=turn.services.sends_mail)


async def sentence(services: Services, bot: Bot, conversation: ConversationKey, last_words: str, key: str) -> str:
    """Return the bot's sentence `key` in the language of a conversation. `last_words` is the visitor's last message."""
    return catalogue.of_bot(bot, await spoken(services, bot, conversation, last_words))(key)


async def spoken(services: Services, bot: Bot, conversation: ConversationKey, last_words: str) -> str:
    """Return the language of a conversation, or the bot's language if none is detected."""
    from chatsvc.language import language_detection

    spoken_language = language_detection.guess(last_words)
    if spoken_language is None:
        history = await conversations.history(services.db, conversation, HISTORY_MESSAGES, 0)
        spoken_language = language_detection.spoken(last_words, history.messages)
    return spoken_language or bot.language


STORE_PAUSE_S = 2.0
AT_ONCE = 16
OF_A_BOT = 2  # at once, so that one bot's dead model delays no other bot's turns
RETRY_S = 10.0
PAUSE_S = 0.02  # of a bot after each turn: visitors who write meanwhile come first


class ChannelAnswers:
    """Answers to messages in the background. At most `limits.max_in_flight` run at a time, and at most half of these for one account.

    Other messages wait here, and their deadline has not begun yet. If the process ends, they are answered when it starts again.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        most = services.config.limits.max_in_flight
        self._slots = asyncio.Semaphore(most)
        self._of_account = max(1, most // 2)
        # An account has its own while turns of it run or wait.
        self._accounts: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, message: StoredMessage, done: Callable[[], object] | None = None) -> None:
        """Answer a stored message in the background. `done` is called at the end, even after a failure."""
        task = background.start("answer", self._run(message), self._tasks)
        if done is not None:
            task.add_done_callback(lambda _: done())

    async def _run(self, message: StoredMessage) -> None:
        async with self._accounts.setdefault(message.account_id, asyncio.Semaphore(self._of_account)), self._slots:
            while not self._services.events.closed:
                try:
                    await answer(self._services, message)
                    return
                except StoreUnavailable as fault:
                    log.error("a message waits for its answer: %s", fault)
                await asyncio.sleep(STORE_PAUSE_S)

    async def close(self) -> None:
        """Drop the waiting messages, which remain in the store. Answers in progress continue until ConversationLocks.drain ends them."""
        await background.cancel(*self._tasks)


def settle_in_background(services: Services) -> asyncio.Task[None]:
    """Answer the unanswered messages in a background task. Repeat this after an outage of the store."""
    return background.run("interrupted turns", lambda: settle_all(services), RETRY_S, once=True)


async def settle_all(services: Services, *, at_least_s: float | None = None) -> int:
    """Answer the messages that are unanswered now, oldest first for each bot. Return how many were answered. Raises StoreUnavailable.

    Wait for answers in progress. After the service has begun to stop, no answer is begun. `at_least_s` is the least age of the messages in
    seconds, or None for any age.
    """
    until = services.clock() - int(at_least_s * 1000) if at_least_s is not None else LAST
    outages: list[StoreUnavailable] = []
    slots, of_bots = asyncio.Semaphore(AT_ONCE), defaultdict[str, asyncio.Semaphore](lambda: asyncio.Semaphore(OF_A_BOT))

    async def settle(message: StoredMessage) -> bool:
        async with of_bots[message.bot_id]:
            async with slots:
                if services.events.closed or outages:
                    return False
                try:
                    await answer(services, message)
                except StoreUnavailable as outage:
                    outages.append(outage)
                    return False
                except Exception:
                    # One turn that cannot be settled must not keep the others waiting.
                    log.exception("the turn of message %d of bot %s could not be settled", message.number, message.bot_id)
                    return False
            await asyncio.sleep(PAUSE_S)
            return True

    settled = (await asyncio.gather(*map(settle, await stored.pending(services.db, until)))).count(True)
    if settled:
        log.info("%d messages that waited for a reply at the last end of the service have been settled", settled)
    if outages:
        raise outages[0]
    return settled
