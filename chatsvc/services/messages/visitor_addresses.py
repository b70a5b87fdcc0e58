"""Finds a widget visitor's e-mail address, language and stop link, for mails with answers."""

import re
from typing import NamedTuple

from chatsvc.domain import keys, times
from chatsvc.domain.actors import Caller
from chatsvc.domain.mails import address_digest
from chatsvc.domain.models import Message
from chatsvc.domain.operators import normalised_email
from chatsvc.domain.refusals import Refused
from chatsvc.services.messages import channel_messages, web_visits
from chatsvc.services.services import Services
from chatsvc.store import conversations, mail_notices
from chatsvc.store.mails import OutgoingMail

_CHANNEL = "web"
_READ = 50  # newest messages in which an address is looked for
_LOOKED_AT = 5  # of those with an @
_BEFORE, _BEHIND = 200, 300  # characters around an @; an address is shorter
# A domain that belongs to somebody else than the one that is read of it. Turkish i's are none: keyboards write them by themselves.
_BEYOND_ASCII = re.compile(r"@[\w.-]*[^\W\x00-\x7f]")


class MailAddress(NamedTuple):
    """Address to which answers are mailed. `refusal` is why no mail is sent now (STOPPED or DAILY_LIMIT of domain.mails), or None."""

    address: str
    refusal: str | None


async def to_mail(services: Services, caller: Caller, conversation: str, recorded: str | None = None) -> MailAddress | None:
    """Return the address for mails to a visitor. It is `recorded` on any channel, or else the address that a widget's visitor gave.

    Return None if there is no address or if mail is not set up.
    """
    if not services.sends_mail:
        return None
    thread = await conversations.find(services.db, caller.scope.accounts, conversation, _READ)
    if recorded is None and thread.conversation.channel != _CHANNEL:
        return None
    given = recorded or _given(services, thread.messages) or thread.conversation.visitor_email
    if not given:
        return None
    # The visitor must have written its domain in ASCII.
    texts = [message.content.replace("\u0130", "i").replace("\u0131", "i").lower() for message in thread.messages if message.role == "user"]
    domain = given[given.rindex("@") :]
    if not any(domain in text for text in texts) and any(_BEYOND_ASCII.search(text) for text in texts):
        return None
    try:
        address = normalised_email(given)
    except Refused:
        return None
    return MailAddress(address, await mail_notices.find_refusal(services.db, thread.conversation.chatbot_id, address, services.clock()))


def _given(services: Services, messages: list[Message]) -> str | None:
    """Return the newest e-mail address in the visitor's own messages.

    Only the text around the last @ of a few messages is read, because the operator who answers waits for the result.
    """
    from chatsvc.language import values

    now = times.local(services.clock(), "UTC")
    for text in [message.content for message in reversed(messages) if message.role == "user" and "@" in message.content][:_LOOKED_AT]:
        sign = text.rindex("@")
        email = values.read(text[max(0, sign - _BEFORE) : sign + _BEHIND], now=now).email
        if email:
            return email.value
    return None


async def stop_url(services: Services, mail: OutgoingMail) -> str | None:
    """Return the address of the page that stops mails to a visitor, or None if the widget has been removed."""
    widget = await web_visits.find(services, mail.bot_id or "")
    if widget is None:
        return None
    token = keys.sign_token(widget.key, keys.MAIL, address_digest(mail.recipient).hex())
    return f"{services.config.server.public_url}/chat/{widget.bot.id}/mails/{token}"


async def language_of(services: Services, mail: OutgoingMail) -> str:
    """Return the language of the conversation to which a mail (an answer or a decision) belongs."""
    bot = await services.account_cache.bot(mail.account_id, mail.bot_id)
    if bot is None:
        return mail.language or "en"
    return await channel_messages.spoken(services, bot, (bot.id, mail.channel or _CHANNEL, mail.user_id or ""), "")
