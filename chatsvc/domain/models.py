"""Domain objects of the service (help/interface.md 5). Times are milliseconds since the epoch, UTC.

They are named tuples, which are cheap to create by the thousand, and cheap to define when a command starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from chatsvc.domain.actors import Actor
from chatsvc.domain.channels import SETTABLE

if TYPE_CHECKING:
    from chatsvc.domain.operators import NewOperator

CHANNELS = ("api", *SETTABLE)
SUBSCRIPTION_STATUSES = ("active", "trialing", "past_due", "canceled", "paused")
REQUEST_STATUSES = ("new", "in_progress", "done", "dismissed")
APPOINTMENT_STATUSES = ("pending", "confirmed", "canceled", "done")
MAY_SEND = frozenset({"active", "trialing"})
BOT, WAITING, OPERATOR = ("bot", "waiting", "operator")  # who handles a conversation
# Filters of the team's list. MINE and UNREAD are those of an operator; the team has set SNOOZED and RESOLVED aside, and BACK has come back.
MINE, UNREAD, MISSED, SNOOZED, RESOLVED, BACK = ("mine", "unread", "missed", "snoozed", "resolved", "back")
STATUSES = (WAITING, OPERATOR, MINE, UNREAD, MISSED, SNOOZED, RESOLVED)
KNOWN = "known"  # visitors whose name or contact data are known
# Bot, channel and user.
ConversationKey = tuple[str, str, str]


class Account(NamedTuple):
    """A paying customer: owner of bots, conversations and keys (help/interface.md 5.6)."""

    id: str
    name: str
    plan: str | None
    subscription_status: str
    messages_limit: int
    message_credits: int
    created_at: int
    updated_at: int


class AccountUsage(NamedTuple):
    """An account with the messages it has used this month."""

    account: Account
    messages_used: int


class Bot(NamedTuple):
    """A chatbot (help/interface.md 5.1), also with the settings that the interface does not show."""

    id: str
    account_id: str
    name: str
    description: str | None
    model: str
    active: bool
    messages_used: int
    created_at: int
    updated_at: int
    instructions: str | None = None
    timezone: str = "Europe/Istanbul"
    country: str = "TR"
    language: str = "tr"
    opening_hours: str | None = None
    ask_back: bool | None = None
    greeting: str | None = None
    fallback: str | None = None
    profile: str | None = None
    hand_off: bool = False
    hand_off_wait: int = 10
    hand_off_return: int = 30
    phone: str | None = None
    email: str | None = None
    address: str | None = None
    appointment_minutes: int = 30
    appointments_at_once: int = 1


class ApiKey(NamedTuple):
    """An API key as it is stored, without its secret (help/interface.md 3.1). `account_id` is None after its account was deleted."""

    id: str
    account_id: str | None
    label: str | None
    prefix: str
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    last_used_at: int | None


class ListedKey(NamedTuple):
    """An API key as it may be shown. `status` is "active", "revoked" or "expired"."""

    key: ApiKey
    status: str


class NewKey(NamedTuple):
    """A new API key. Its `secret` can be shown only now."""

    key: ApiKey
    status: str
    secret: str


class FirstRecords(NamedTuple):
    """The first account, bot and key, which are None if there was an account already. `operator` is the new administrator, if any."""

    account: AccountUsage | None
    bot: Bot | None
    key: NewKey | None
    operator: NewOperator | None = None


class Conversation(NamedTuple):
    """One visitor's thread with one bot on one channel (help/interface.md 5.4).

    `handling` is "bot", "waiting" or "operator". `handling_since` is the time when the visitor began to wait, or that of the operator's
    last message. `missed_at` is the time when a visitor had waited too long; it is reset to None when an operator comes.
    """

    id: str
    chatbot_id: str
    channel: str
    user_id: str
    visitor_name: str | None
    visitor_email: str | None
    last_message_at: int
    created_at: int
    updated_at: int
    message_count: int
    handling: str = "bot"
    handling_since: int | None = None
    operator_id: str | None = None
    operator_name: str | None = None
    source_page_host: str = ""
    missed_at: int | None = None

    @property
    def key(self) -> ConversationKey:
        return self.chatbot_id, self.channel, self.user_id


def set_aside(since: int | None, until: int | None, last_message_at: int) -> str | None:
    """Return whether a conversation is SNOOZED, RESOLVED or BACK from a snooze, or None if it is open. A later message reopens it."""
    if (since or 0) >= last_message_at:
        return SNOOZED if until else RESOLVED
    return BACK if since is None and (until or 0) > last_message_at else None


class HistoryMessage(NamedTuple):
    """One earlier message of a conversation, as an engine reads it. `role` is "user" or "assistant"."""

    role: str
    content: str


class Message(NamedTuple):
    """One message of a conversation; `role` is "user", "assistant" or "operator" (`author` names the person).

    `evidence` is the origin of a reply as JSON. `delivery` (domain.channels.DELIVERIES) and `error` are the state of its delivery to
    the visitor's channel, `feedback` is the visitor's thumb, `choices` are the answers that a reply offers, as JSON. `number` orders the
    messages of a conversation; it is 0 if it was not read.
    """

    id: str
    role: str
    content: str
    created_at: int
    evidence: str | None = None
    author: str | None = None
    delivery: str | None = None
    error: str | None = None
    feedback: str | None = None
    choices: str | None = None
    number: int = 0


class Note(NamedTuple):
    """A private note of the team on a conversation. Visitors, the interface, webhooks and models never see it."""

    id: str
    author: str
    text: str
    created_at: int


class SavedReply(NamedTuple):
    """A text of an account that operators insert into their messages. `{name}` in it becomes the visitor's name."""

    name: str
    text: str


class SendMessage(NamedTuple):
    """The validated body of POST /messages (help/interface.md 5.3). Omitted fields are None."""

    chatbot_id: str
    message: str
    user_id: str | None = None
    language: str | None = None


class Exchange(NamedTuple):
    """A message and its reply (help/interface.md 5.3)."""

    chatbot_id: str
    user_id: str
    channel: str
    message: str
    reply: str
    created_at: int


class Usage(NamedTuple):
    """Tokens of one reply. The model has read input + cache_write + cache_read tokens."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0

    def plus(self, other: Usage) -> Usage:
        return Usage(*map(sum, zip(self, other, strict=True)))


class Entry(NamedTuple):
    """One piece of a bot's knowledge: a question, its other phrasings and the answer."""

    id: str
    question: str
    alt: tuple[str, ...]
    answer: str
    language: str
    source: str | None = None


class Synonyms(NamedTuple):
    """Words and expressions that mean the same to a bot."""

    words: tuple[str, ...]
    source: str


class ChangeOrigin(NamedTuple):
    """Origin of a change: its id, time (milliseconds) and author. `via` is the front end, "cli" or "web"."""

    id: str
    changed_at: int
    actor: Actor
    via: str


class KnowledgeChange(NamedTuple):
    """A change of the history: its `kind` is "add", "create", "change", "remove" or "undo".

    `title` is the question of the only entry concerned, or the names of the files. `before` and `after` are the numbers of
    replaced and of new entries. `undone` is true if it was undone; `undoes` is the id of the change that this one undoes.
    """

    origin: ChangeOrigin
    kind: str
    title: str
    before: int
    after: int
    undone: bool = False
    undoes: str | None = None


class ChangeContent(NamedTuple):
    """A change with the entries before and after it."""

    change: KnowledgeChange
    before: Sequence[Entry]
    after: Sequence[Entry]


class ServiceNode(NamedTuple):
    """A process that uses the store. `since` is when it began (Unix milliseconds); `listen` is its address, empty for a command."""

    id: str
    since: int
    listen: str
    version: str


class Person(NamedTuple):
    """A visitor: contact data that the visitor gave or the team noted, and the visitor's requests."""

    name: str | None
    email: str | None
    phone: str | None
    note: str | None
    requests: int
    appointments: int
    account_id: str
