"""One conversation for the team: a page of messages with their origin, captures, the visitor's other conversations and last question."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from chatsvc.domain import search_words, websites
from chatsvc.domain.actors import Caller
from chatsvc.domain.channels import PLATFORMS, PlatformAddress
from chatsvc.domain.mails import MailState
from chatsvc.domain.models import Conversation, HistoryMessage, Message
from chatsvc.services.conversations import conversations, handling
from chatsvc.services.conversations.conversation_events import VISITOR
from chatsvc.services.knowledge import unanswered
from chatsvc.services.messages import visitor_addresses
from chatsvc.services.messages.visitor_addresses import MailAddress
from chatsvc.services.services import Services
from chatsvc.store import conversation_team as stored
from chatsvc.store import conversations as stored_conversations
from chatsvc.store import knowledge, mails, operators, platforms
from chatsvc.store.conversation_team import ConversationView

MESSAGES = 100  # of a page
_LOOKED_AT = 30  # messages before an operator's
SEARCHED = 500  # newest messages among which the one of a search is looked for


class Origin(NamedTuple):
    """Knowledge entry that a reply used, with its score. `question` is None if the entry was deleted. `page` is its web page, if any."""

    entry: str
    question: str | None
    score: float
    page: str | None


class ShownMessage(NamedTuple):
    """A message, with the decision, confidence and entries (`origins`) of the search that answered it.

    `mail` is the state of the mail that brought the message to a visitor who had left, or None.
    """

    message: Message
    mail: MailState | None
    decision: str | None
    confidence: float | None
    origins: Sequence[Origin]


class Colleague(NamedTuple):
    """Another operator who has the conversation open; `writes` tells whether he or she is typing."""

    name: str
    writes: bool


class ShownConversation(NamedTuple):
    """A conversation with some of its messages, oldest first. `view` has the other stored data.

    `language` is the visitor's language, or None if it is not known. `typing` is true while the visitor types. `writable_until` is the time
    after which the platform accepts no message, or None. `address` is the visitor's address on a platform, `mail_to` the e-mail address
    for answers to a visitor who has gone. `colleagues` are other operators who have the conversation open.
    """

    view: ConversationView
    messages: list[ShownMessage]
    language: str | None
    typing: bool
    writable_until: int | None
    address: PlatformAddress | None
    mail_to: MailAddress | None
    colleagues: Sequence[Colleague]


async def find(services: Services, caller: Caller, *, conversation: str, q: str) -> str | None:
    """Return the id of the newest message with the most terms of a search. Return None if no message has a term."""
    terms = [term.word for term in conversations.terms_of(q)]
    async with services.big_reads:
        thread = await stored_conversations.find(services.db, caller.scope.accounts, conversation, SEARCHED)
    counts = [
        (sum(any(word.startswith(term) for word in search_words.words(message.content)) for term in terms), message.id)
        for message in reversed(thread.messages)
    ]
    count, message_id = max(counts, key=lambda hit: hit[0], default=(0, ""))
    return message_id if count else None


async def show(
    services: Services, caller: Caller, *, conversation: str, around: str | None = None, before: str | None = None
) -> ShownConversation:
    """Show a conversation's newest messages, or the messages around or before a given message. Raises Refused."""
    from chatsvc.language import language_detection

    async with services.big_reads:
        view = await stored.view(services.db, caller.scope.accounts, conversation, MESSAGES, caller.actor.id, around, before)
    evidence = [json.loads(message.evidence) if message.evidence else {} for message in view.messages]
    ids = {entry["id"] for origin in evidence for entry in origin.get("entries", ())}
    known = await knowledge.some(services.db, view.conversation.chatbot_id, sorted(ids)) if ids else {}
    mailed = await mails.of_messages(services.db, conversation) if services.sends_mail else {}
    shown = []
    for message, origin in zip(view.messages, evidence, strict=True):
        hits = [(hit, known.get(hit["id"])) for hit in origin.get("entries") or ()]
        origins = [Origin(hit["id"], entry and entry.question, hit["score"], entry and websites.page_of(entry)) for hit, entry in hits]
        shown.append(ShownMessage(message, mailed.get(message.number), origin.get("decision"), origin.get("confidence"), origins))
    key = view.conversation.key
    return ShownConversation(
        view,
        shown,
        language=language_detection.spoken("", [HistoryMessage(message.role, message.content) for message in view.messages]),
        typing=services.events.typing.has(key, VISITOR),
        writable_until=await handling.writable_until(services, view.conversation),
        address=await platforms.address(services.db, key) if view.conversation.channel in PLATFORMS else None,
        mail_to=await visitor_addresses.to_mail(services, caller, conversation),
        colleagues=await _colleagues(services, caller, view.conversation),
    )


async def _colleagues(services: Services, caller: Caller, conversation: Conversation) -> list[Colleague]:
    """Note that the operator has the conversation open, and return the other operators who have it open."""
    key, events = conversation.key, services.events
    if caller.session is not None:
        events.read(key, caller.actor.id)
    others = [operator for operator in events.reading.of(key) if operator != caller.actor.id]
    shown = [(await operators.find_by_id(services.db, operator), events.typing.has(key, operator)) for operator in others]
    return [Colleague(operator.name or operator.email, writes) for operator, writes in shown if operator is not None]


def last_question(messages: Sequence[Message], country: str, language: str) -> str:
    """Return the visitor's newest message that asks something, or the newest message if none does. Personal data are removed."""
    from chatsvc.engines.knowledge import questions

    texts = [
        unanswered.without_personal_data(message.content, country) for message in messages[::-1][:_LOOKED_AT] if message.role == "user"
    ]
    asked = (text for text in texts if questions.asks(text, language) and unanswered.MASK not in text)
    return next(asked, texts[0] if texts else "")[: unanswered.MOST_CHARACTERS]
