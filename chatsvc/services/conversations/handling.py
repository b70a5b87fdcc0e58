"""Hand-off of conversations: an operator takes a conversation, writes in it and returns it to the bot. A time limit may return it, too."""

from chatsvc.domain import refusals, times
from chatsvc.domain.actors import Caller, Role
from chatsvc.domain.captures import MOST_A_DAY
from chatsvc.domain.channels import NEEDS_SECRET, PAUSED, first_delivery
from chatsvc.domain.mails import STOPPED
from chatsvc.domain.models import WAITING, Account, Bot, Conversation
from chatsvc.services.accounts import accounts
from chatsvc.services.conversations.conversations import resolve
from chatsvc.services.messages import channel_messages, messages, visitor_addresses
from chatsvc.services.services import Services
from chatsvc.services.team import operators
from chatsvc.store import conversation_team, conversations, platforms
from chatsvc.store import handling as stored
from chatsvc.store import operators as stored_operators
from chatsvc.store.channel_messages import NoticeSentence
from chatsvc.store.handling import Handler, OperatorMessage

MOST_TEXT = 4000
_BATCH = 100  # overdue conversations returned at a time


async def take(services: Services, caller: Caller, *, conversation: str, email: str | None = None, yes: bool = False) -> Conversation:
    """Take a conversation over, for the caller or the operator `email`. If another operator has it, `yes` must be true."""
    handler = await handler_of(services, caller, (await resolve(services, caller, conversation))[1].account, email)
    return _changed(services, await stored.take(services.db, caller.scope.accounts, conversation, handler, services.clock(), yes=yes))


async def reply(
    services: Services, caller: Caller, *, conversation: str, text: str, yes: bool = False, key: bytes | None = None, takes: bool = True
) -> OperatorMessage:
    """Write a message to the visitor, which takes the conversation unless `takes` is False.

    A local user writes in the name of the operator who has the conversation. `key` is a digest that identifies the message.
    Raises AlreadyWritten if a message with this digest was written before.
    """
    text = accounts.long_text(text, "text", MOST_TEXT)
    before, state, _ = await resolve(services, caller, conversation)
    handler = await handler_of(services, caller, state.account)
    await check_writable(services, before)
    notice = NoticeSentence(text, services.clock(), "queued")
    address = await visitor_addresses.to_mail(services, caller, conversation)
    # One beyond the day's limit is queued all the same: it ends with its reason, where the visitor does not come back.
    mail_to = address.address if address and address.refusal != STOPPED else None
    message = await stored.reply(services.db, caller.scope.accounts, conversation, notice, handler, key, mail_to, yes=yes, takes=takes)
    _changed(services, message.conversation)
    return message


async def release(services: Services, caller: Caller, *, conversation: str, yes: bool = False) -> Conversation:
    """Return a conversation to the bot, which tells the visitor once.

    An operator returns another operator's conversation only if `yes` is true.
    """
    before, state, bot = await resolve(services, caller, conversation)
    until = await writable_until(services, before)
    is_writable = until is None or services.clock() < until
    sentence = await _notice(services, bot, before, "") if is_writable else None
    handler = await handler_of(services, caller, state.account)
    return _changed(services, await stored.release(services.db, caller.scope.accounts, conversation, sentence, handler, yes=yes))


async def settle(services: Services, caller: Caller, *, conversation: str) -> Conversation:
    """Mark a conversation as done. It no longer counts as missed, and the bot handles it again without a message to the visitor."""
    handler = await handler_of(services, caller, (await resolve(services, caller, conversation))[1].account)
    return _changed(services, await stored.settle(services.db, caller.scope.accounts, conversation, services.clock(), handler))


async def show_typing(services: Services, caller: Caller, *, conversation: str) -> Conversation:
    """Show the visitor for a few seconds that the operator is typing; return the conversation."""
    typed_in = await conversations.find(services.db, caller.scope.accounts, conversation)
    for who in ("operator", caller.actor.id):
        services.events.type(typed_in.conversation.key, who)
    return typed_in.conversation


async def return_overdue(services: Services) -> int:
    """Give conversations back to the bot after their time limit, and end expired snoozes. Return how many passed the limit."""
    await conversation_team.wake(services.db, services.clock())
    overdue = await stored.overdue(services.db, services.clock(), _BATCH)
    for account_id, last_words, conversation in overdue:
        bot = await services.account_cache.bot(account_id, conversation.chatbot_id)
        if bot is None:
            continue
        notice = _nobody_came if conversation.handling == WAITING else _notice
        if await stored.give_back(services.db, conversation, await notice(services, bot, conversation, last_words)):
            _changed(services, conversation)
    return len(overdue)


async def _notice(services: Services, bot: Bot, conversation: Conversation, last_words: str) -> NoticeSentence:
    text = await channel_messages.sentence(services, bot, conversation.key, last_words, "handoff.returned")
    return NoticeSentence(text, services.clock(), first_delivery(conversation.channel, "assistant"))


async def _nobody_came(services: Services, bot: Bot, conversation: Conversation, last_words: str) -> NoticeSentence:
    """Begin to record a request because no operator came. Return the sentence, with the dialogue if the bot uses the knowledge engine."""
    from chatsvc.engines import Turn
    from chatsvc.engines.knowledge import dialogue as engine

    now = services.clock()
    history = await conversations.history(
        services.db, conversation.key, messages.HISTORY_MESSAGES, times.start_of_local_day(now, bot.timezone)
    )
    last = max((number for number, message in enumerate(history.messages) if message.role == "user"), default=0)
    turn = Turn(
        bot=bot,
        channel=conversation.channel,
        message=last_words,
        history=history.messages[:last],
        knowledge=await services.knowledge.of(bot),
        now_ms=now,
        may_capture=history.captured < MOST_A_DAY,
        captured=history.records,
    )
    begun = engine.nobody_came(turn)
    tier = services.config.models.get(bot.model)
    dialogue = begun.dialogue if tier is not None and tier.engine == messages.FALLBACK else None
    return NoticeSentence(begun.text, now, first_delivery(conversation.channel, "assistant"), dialogue)


async def handler_of(services: Services, caller: Caller, account: Account, email: str | None = None) -> Handler:
    """Return the operator `email`, or the caller, as the handler of a conversation.

    Visitors see the handler's name, or the account's name if the handler has none.
    """
    actor = caller.actor
    if email is None:
        if actor.kind != "operator":
            return Handler(None, actor.name or f"uid {actor.id}")
        operator = await stored_operators.find_by_id(services.db, actor.id)
        return Handler(actor.id, account.name if operator is None or operator.name is None else operator.name)
    operator = await operators.find(services, caller, email)
    if actor.kind == "operator" and actor.id != operator.id:
        raise refusals.forbidden(operation="conversation.take", role="administrator")
    role = operator.scope.role(account.id)
    if role is None or role < Role.EDITOR:
        raise refusals.operator_without_role(email=email, role="editor")
    return Handler(operator.id, account.name if operator.name is None else operator.name)


async def check_writable(services: Services, conversation: Conversation) -> None:
    """Raise Refused if the conversation's channel cannot send messages. Conversations on the interface are never refused."""
    bot_id, name, _ = conversation.key
    if name == "api":
        return
    channel = (await services.channels.of_bot(bot_id)).get(name)
    if channel is None:
        raise refusals.channel_not_found(bot=bot_id, channel=name)
    until = await writable_until(services, conversation)
    if until is not None and services.clock() >= until:
        raise refusals.channel_window_closed(conversation=conversation.id)
    if channel.channel.state == PAUSED:
        raise refusals.channel_paused(bot=bot_id, channel=name)
    if channel.channel.state == NEEDS_SECRET:
        raise refusals.channel_secret_missing(bot=bot_id, channel=name)


async def writable_until(services: Services, conversation: Conversation) -> int | None:
    """Return the time from which the platform accepts no message to the visitor (Unix milliseconds). Return None if there is no limit."""
    platform = services.platforms.get(conversation.channel)
    if platform is None or platform.window_ms is None:
        return None
    return (await platforms.last_word_at(services.db, conversation.id) or 0) + platform.window_ms


def _changed(services: Services, conversation: Conversation) -> Conversation:
    """Wake the callers that wait for a changed conversation, and return the conversation."""
    services.events.stop_typing(conversation.key, "operator")
    services.events.notify(conversation.key)
    return conversation
