"""Hand-off of conversations: a person takes one, writes in it and gives it back, or time does."""

from typing import TypeVar

from chatsvc.domain import refusals
from chatsvc.domain.actors import Caller, Role
from chatsvc.domain.captures import MOST_A_DAY
from chatsvc.domain.channels import NEEDS_SECRET, PAUSED, first_delivery
from chatsvc.domain.hand_off import OPERATOR, WAITING
from chatsvc.domain.mails import STOPPED
from chatsvc.domain.models import Bot, Conversation, ConversationKey, HistoryMessage
from chatsvc.services.accounts import accounts
from chatsvc.services.conversations import captures
from chatsvc.services.messages import channel_messages, turns, visitor_addresses
from chatsvc.services.services import Services
from chatsvc.services.team import operators
from chatsvc.store import conversation_team, conversations, owners, platforms
from chatsvc.store import handling as stored
from chatsvc.store import operators as stored_operators
from chatsvc.store.channel_messages import NoticeSentence
from chatsvc.store.handling import Handler, OperatorMessage

T = TypeVar("T")
MOST_TEXT = 4000
_BATCH = 100  # overdue conversations returned at a time


def key_of(conversation: Conversation) -> ConversationKey:
    """Return the key of a conversation: bot, channel, user."""
    return conversation.chatbot_id, conversation.channel, conversation.user_id


async def take(services: Services, caller: Caller, *, conversation: str, email: str | None = None, yes: bool = False) -> Conversation:
    """Take a conversation over, for the caller or the operator `email`; another's only with `yes`. The bot is silent from then on."""
    handler = await handler_of(services, caller, conversation, email)

    def check(found: Conversation) -> None:
        if found.handling == OPERATOR and not yes and not _is_same(found, handler):
            raise refusals.conversation_taken(conversation=conversation, operator=found.operator_name or "?")

    taken = await stored.take(services.db, caller.scope.accounts, conversation, handler, services.clock(), check)
    return _changed(services, _existing(taken, conversation))


async def reply(
    services: Services, caller: Caller, *, conversation: str, text: str, yes: bool = False, key: bytes | None = None, takes: bool = True
) -> OperatorMessage:
    """Write a message to the visitor, which takes the conversation unless `takes` is False.

    A local user writes for the operator who has it.

    Raises Refused for an empty text, a paused channel, and a conversation that another operator has. `key` is the digest that recognises
    a message which may come again; raises AlreadyWritten.
    """
    text = accounts.long_text(text, "text", MOST_TEXT)
    own = await handler_of(services, caller, conversation, None)
    await check_writable(services, caller, conversation)

    def handler(found: Conversation) -> Handler:
        if found.handling != OPERATOR or yes or not takes or _is_same(found, own):
            return own
        if own.id is None:
            return Handler(found.operator_id, found.operator_name or own.name)
        raise refusals.conversation_taken(conversation=conversation, operator=found.operator_name or "?")

    said = NoticeSentence(text, services.clock(), "queued")
    given = await visitor_addresses.to_mail(services, caller, conversation)
    # One beyond the day's limit is queued all the same: it ends with its reason, where the visitor does not come back.
    mail_to = given.address if given and given.refusal != STOPPED else None
    done = await stored.reply(services.db, caller.scope.accounts, conversation, said, handler, key, mail_to, takes=takes)
    written = _existing(done, conversation)
    _changed(services, written.conversation)
    return written


async def release(services: Services, caller: Caller, *, conversation: str, yes: bool = False) -> Conversation:
    """Give a conversation back to the bot, which says so once. An operator gives another's back only with `yes`.

    A local user releases for the operator who has it, as with a reply.
    """
    found = await _conversation(services, caller, conversation)
    account = await services.account_cache.account(_existing(await _account(services, caller, conversation), conversation))
    bot = account.bots.get(found.chatbot_id) if account else None
    if bot is None:
        raise refusals.conversation_not_found(conversation=conversation)
    until = await writable_until(services, found.channel, conversation)
    is_writable = until is None or services.clock() < until
    said = await _notice(services, bot, found, "") if is_writable else None
    own = await handler_of(services, caller, conversation, None)

    def notice(found: Conversation) -> NoticeSentence | None:
        if found.handling == OPERATOR and not yes and own.id is not None and not _is_same(found, own):
            raise refusals.conversation_taken(conversation=conversation, operator=found.operator_name or "?")
        return said

    released = await stored.release(services.db, caller.scope.accounts, conversation, notice)
    return _changed(services, _existing(released, conversation))


async def settle(services: Services, caller: Caller, *, conversation: str) -> Conversation:
    """Set a conversation aside as done: nobody is missed in it, and the bot has it again, which says nothing of it.

    Raises `conversation_taken` for an operator where another one has it.
    """
    own = await handler_of(services, caller, conversation, None)

    def check(found: Conversation) -> None:
        if found.handling == OPERATOR and own.id is not None and not _is_same(found, own):
            raise refusals.conversation_taken(conversation=conversation, operator=found.operator_name or "?")

    settled = await stored.settle(services.db, caller.scope.accounts, conversation, services.clock(), check)
    return _changed(services, _existing(settled, conversation))


async def show_typing(services: Services, caller: Caller, *, conversation: str) -> Conversation:
    """Show the visitor for a few seconds that the operator is typing; return the conversation."""
    found = await _conversation(services, caller, conversation)
    services.events.type(key_of(found), "operator")
    services.events.type(key_of(found), caller.actor.id)
    return found


async def return_overdue(services: Services) -> int:
    """Return conversations to the bot whose visitors waited in vain or whose operators fell silent. Return how many.

    Where nobody came the bot begins to take a request; after an operator's silence it gives one notice. Conversations that were set
    aside for a while are opened.
    """
    await conversation_team.wake(services.db, services.clock())
    found = await stored.overdue(services.db, services.clock(), _BATCH)
    for account_id, conversation, said in found:
        account = await services.account_cache.account(account_id)
        bot = account.bots.get(conversation.chatbot_id) if account else None
        if account is None or bot is None:
            continue
        waited = conversation.handling == WAITING
        sentence = await (_nobody_came if waited else _notice)(services, bot, conversation, said)
        if await stored.give_back(services.db, conversation, sentence):
            _changed(services, conversation)
    return len(found)


async def _notice(services: Services, bot: Bot, conversation: Conversation, said: str) -> NoticeSentence:
    text = await channel_messages.sentence(services, bot, key_of(conversation), said, "handoff.returned")
    return NoticeSentence(text, services.clock(), first_delivery(conversation.channel, "assistant"))


async def _nobody_came(services: Services, bot: Bot, conversation: Conversation, said: str) -> NoticeSentence:
    """Begin a request as the knowledge engine does. Another engine goes on from the sentence alone."""
    from chatsvc.engines import Turn
    from chatsvc.engines.knowledge import dialogue as engine

    now = services.clock()
    history = await conversations.history(services.db, key_of(conversation), turns.HISTORY_MESSAGES, captures.start_of_day(bot, now))
    turn = Turn(
        bot=bot,
        channel=conversation.channel,
        message=said,
        history=_before_last_word(history.messages),
        language=None,
        knowledge=await services.knowledge.of(bot),
        model="",
        timeout_s=services.config.anthropic.timeout_s,
        now_ms=now,
        may_capture=history.captured < MOST_A_DAY,
        captured=history.records,
    )
    begun = engine.nobody_came(turn)
    tier = services.config.models.get(bot.model)
    dialogue = begun.dialogue if tier is not None and tier.engine == turns.FALLBACK else None
    return NoticeSentence(begun.text, now, first_delivery(conversation.channel, "assistant"), dialogue)


def _before_last_word(messages: list[HistoryMessage]) -> list[HistoryMessage]:
    """Return the messages before the visitor's last one."""
    last = max((place for place, one in enumerate(messages) if one.role == "user"), default=0)
    return messages[:last]


async def _conversation(services: Services, caller: Caller, conversation: str) -> Conversation:
    return _existing(await conversations.find(services.db, caller.scope.accounts, conversation, 1), conversation).conversation


async def _account(services: Services, caller: Caller, conversation: str) -> str | None:
    return await owners.account_of(services.db, "conversation", conversation, caller.scope.accounts)


async def handler_of(services: Services, caller: Caller, conversation: str, email: str | None) -> Handler:
    """Return the person who takes the conversation. The operator with this e-mail address, or the caller."""
    account_id = _existing(await _account(services, caller, conversation), conversation)
    actor = caller.actor
    if email is None and actor.kind == "operator":
        return await _of_operator(services, account_id, actor.id, await stored_operators.name_of(services.db, actor.id))
    if email is None:
        return Handler(None, actor.name or f"uid {actor.id}")
    found = await operators.find(services, caller, email)
    if actor.kind == "operator" and actor.id != found.id:
        raise refusals.forbidden(operation="conversation.take", role="administrator")
    role = found.scope.role(account_id)
    if role is None or role < Role.EDITOR:
        raise refusals.operator_without_role(email=email, role="editor")
    return await _of_operator(services, account_id, found.id, found.name)


async def _of_operator(services: Services, account_id: str, operator_id: str, name: str | None) -> Handler:
    """Return an operator with the name that visitors see: the account's where there is no own, never the e-mail address."""
    account = await services.account_cache.account(account_id) if name is None else None
    return Handler(operator_id, name or (account.account.name if account else ""))


async def check_writable(services: Services, caller: Caller, conversation: str) -> None:
    """Raise Refused where the conversation's channel sends nothing; on the interface nothing is sent."""
    bot_id, channel, _ = key_of(await _conversation(services, caller, conversation))
    if channel == "api":
        return
    found = (await services.channels.of_bot(bot_id)).get(channel)
    if found is None:
        raise refusals.channel_not_found(bot=bot_id, channel=channel)
    until = await writable_until(services, channel, conversation)
    if until is not None and services.clock() >= until:
        raise refusals.channel_window_closed(conversation=conversation)
    if found.channel.state == PAUSED:
        raise refusals.channel_paused(bot=bot_id, channel=channel)
    if found.channel.state == NEEDS_SECRET:
        raise refusals.channel_secret_missing(bot=bot_id, channel=channel)


async def writable_until(services: Services, channel: str, conversation: str) -> int | None:
    """Return when the platform stops to take messages to the visitor. None where it always takes them."""
    platform = services.platforms.get(channel)
    if platform is None or platform.window_ms is None:
        return None
    return (await platforms.last_word_at(services.db, conversation) or 0) + platform.window_ms


def _is_same(found: Conversation, handler: Handler) -> bool:
    return (found.operator_id, found.operator_name) == handler if handler.id is None else found.operator_id == handler.id


def _existing(found: T | None, conversation: str) -> T:
    if found is None:
        raise refusals.conversation_not_found(conversation=conversation)
    return found


def _changed(services: Services, conversation: Conversation) -> Conversation:
    """Wake those who wait for a conversation that has changed, and return it."""
    services.events.stop_typing(key_of(conversation), "operator")
    services.events.notify(key_of(conversation))
    return conversation
