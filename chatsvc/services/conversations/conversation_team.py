"""Private notes of the team, assignment of conversations, what each operator has seen, and saved replies to insert into messages."""

import re
from typing import NamedTuple

from chatsvc.domain import refusals
from chatsvc.domain.actors import Caller, Role
from chatsvc.domain.models import Conversation, Note, SavedReply
from chatsvc.domain.times import DAY_MS
from chatsvc.services.accounts import accounts
from chatsvc.services.conversations.conversations import existing
from chatsvc.services.services import Services
from chatsvc.store import conversation_team as stored
from chatsvc.store import operators, owners

MOST_NOTE = 4000
MOST_LABEL = 40
MOST_LABELS = 10  # of a conversation
MOST_DAYS = 366  # for which a conversation is set aside


class AssignedConversation(NamedTuple):
    """A conversation with the e-mail address of its assignee, None for nobody."""

    conversation: Conversation
    assignee: str | None


async def note(services: Services, caller: Caller, *, conversation: str, text: str) -> Note:
    """Write a private note on a conversation. Raises Refused for an empty or too long text."""
    text = accounts.long_text(text, "text", MOST_NOTE)
    actor = caller.actor
    operator = await operators.find_by_id(services.db, actor.id) if actor.kind == "operator" else None
    author = (operator and operator.name) or actor.name or f"uid {actor.id}"
    added = await stored.add_note(services.db, caller.scope.accounts, conversation, author, text, services.clock())
    return existing(added, conversation)


async def assign(services: Services, caller: Caller, *, conversation: str, email: str) -> AssignedConversation:
    """Assign a conversation to the operator `email`, or with an empty text to nobody. Raises `operator_not_found`."""
    account_id = existing(await owners.account_of(services.db, "conversation", conversation, caller.scope.accounts), conversation)
    operator = await operators.find(services.db, email.strip().lower()) if email.strip() else None
    role = operator.scope.role(account_id) if operator else None
    if email.strip() and role is None:
        raise refusals.operator_not_found(email=email)
    if role is not None and role < Role.EDITOR:
        raise refusals.operator_without_role(email=email, role="editor")
    assigned = await stored.assign(services.db, caller.scope.accounts, conversation, operator.id if operator else None)
    return AssignedConversation(existing(assigned, conversation), operator.email if operator else None)


async def snooze(services: Services, caller: Caller, *, conversation: str, until: int) -> Conversation:
    """Set a conversation aside until a time (Unix milliseconds), unless a message comes before. Raises `snooze_out_of_range`."""
    now = services.clock()
    if not now < until <= now + MOST_DAYS * DAY_MS:
        raise refusals.snooze_out_of_range(days=MOST_DAYS)
    return existing(await stored.set_aside(services.db, caller.scope.accounts, conversation, now, until), conversation)


async def reopen(services: Services, caller: Caller, *, conversation: str) -> Conversation:
    """Set a conversation aside no longer."""
    return existing(await stored.set_aside(services.db, caller.scope.accounts, conversation, None, None), conversation)


async def label(services: Services, caller: Caller, *, conversation: str, add: str = "", remove: str = "") -> Conversation:
    """Add a label to a conversation, or remove one. Raises Refused for an unfit label and for more than MOST_LABELS."""
    added = accounts.plain_text(add, "label", MOST_LABEL) if add.strip() or not remove else ""

    def change(labels: list[str]) -> list[str]:
        changed = [label for label in labels if label not in (added, remove)] + ([added] if added else [])
        if len(changed) > MOST_LABELS:
            raise refusals.labels_exhausted(most=MOST_LABELS)
        return sorted(changed)

    return existing(await stored.put_labels(services.db, caller.scope.accounts, conversation, change), conversation)


async def list_labels(services: Services, caller: Caller, *, account: str | None = None) -> list[str]:
    """List the labels that an account's conversations have."""
    state = await accounts.resolve(services, caller, account)
    return await stored.labels(services.db, state.account.id)


async def see(services: Services, caller: Caller, *, conversation: str, message: int) -> None:
    """Store that the operator has seen a conversation up to a message (its number)."""
    await stored.see(services.db, caller.scope.accounts, conversation, caller.actor.id, message)


MOST_SAVED = 200  # of an account
MOST_NAME = 60
MOST_SAVED_TEXT = 4000


async def list_saved_replies(services: Services, caller: Caller, *, account: str | None = None) -> list[SavedReply]:
    """List the saved replies of an account by name."""
    state = await accounts.resolve(services, caller, account)
    return await stored.saved_replies(services.db, state.account.id)


async def put_saved_reply(services: Services, caller: Caller, *, name: str, text: str, account: str | None = None) -> SavedReply:
    """Save a reply, in place of one of the same name. Raises Refused for unfit texts and for more than MOST replies."""
    name = accounts.plain_text(name, "name", MOST_NAME)
    text = accounts.long_text(text, "text", MOST_SAVED_TEXT)
    state = await accounts.resolve(services, caller, account)
    reply = SavedReply(name, text)
    if not await stored.put_reply(services.db, state.account.id, reply, services.clock(), MOST_SAVED):
        raise refusals.saved_replies_exhausted(most=MOST_SAVED)
    return reply


async def remove_saved_reply(services: Services, caller: Caller, *, name: str, account: str | None = None) -> SavedReply:
    """Remove a saved reply; raises `saved_reply_not_found`."""
    state = await accounts.resolve(services, caller, account)
    removed = await stored.remove_reply(services.db, state.account.id, name.strip())
    if removed is None:
        raise refusals.saved_reply_not_found(name=name)
    return removed


def filled(text: str, visitor_name: str | None) -> str:
    """Fill in `{name}`; without a name it goes with the white space before it."""
    if visitor_name:
        return text.replace("{name}", visitor_name)
    return re.sub(r"[ \t]*\{name\}", "", text).lstrip(" \t,")
