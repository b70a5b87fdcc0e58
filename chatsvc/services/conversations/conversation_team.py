"""Private notes of the team, assignment of conversations, and what each operator has seen."""

from typing import NamedTuple

from chatsvc.domain import refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.models import Conversation, Note
from chatsvc.services.accounts import accounts
from chatsvc.services.services import Services
from chatsvc.store import conversation_team as stored
from chatsvc.store import operators, owners

MOST_NOTE = 4000


class AssignedConversation(NamedTuple):
    """A conversation with the e-mail address of its assignee, None for nobody."""

    conversation: Conversation
    assignee: str | None


async def note(services: Services, caller: Caller, *, conversation: str, text: str) -> Note:
    """Write a private note on a conversation. Raises Refused for an empty or too long text."""
    text = accounts.long_text(text, "text", MOST_NOTE)
    actor = caller.actor
    name = await operators.name_of(services.db, actor.id) if actor.kind == "operator" else None
    author = name or actor.name or f"uid {actor.id}"
    added = await stored.add_note(services.db, caller.scope.accounts, conversation, author, text, services.clock())
    if added is None:
        raise refusals.conversation_not_found(conversation=conversation)
    return added


async def assign(services: Services, caller: Caller, *, conversation: str, email: str) -> AssignedConversation:
    """Assign a conversation to the operator `email`, or with an empty text to nobody. Raises `operator_not_found`."""
    account_id = await owners.account_of(services.db, "conversation", conversation, caller.scope.accounts)
    if account_id is None:
        raise refusals.conversation_not_found(conversation=conversation)
    operator = await operators.find(services.db, email.strip().lower()) if email.strip() else None
    if email.strip() and (operator is None or operator.scope.role(account_id) is None):
        raise refusals.operator_not_found(email=email)
    assigned = await stored.assign(services.db, caller.scope.accounts, conversation, operator.id if operator else None)
    if assigned is None:
        raise refusals.conversation_not_found(conversation=conversation)
    return AssignedConversation(assigned, operator.email if operator else None)


async def see(services: Services, caller: Caller, *, conversation: str, message: int) -> None:
    """Store that the operator has seen a conversation up to a message (its number)."""
    await stored.see(services.db, caller.scope.accounts, conversation, caller.actor.id, message)
