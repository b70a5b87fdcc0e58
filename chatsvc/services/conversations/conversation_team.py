"""Private notes of the team, assignment of conversations, what each operator has seen, saved replies, and visitors as people."""

import re
from typing import NamedTuple

from chatsvc.domain import contacts, paging, refusals
from chatsvc.domain.actors import Caller, Role
from chatsvc.domain.models import KNOWN, Bot, Conversation, Note, Person, SavedReply
from chatsvc.domain.operators import normalised_email
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.refusals import Faults
from chatsvc.domain.times import DAY_MS
from chatsvc.services.accounts import accounts
from chatsvc.services.conversations import appointments
from chatsvc.services.conversations.conversations import resolve, terms_of
from chatsvc.services.services import Services
from chatsvc.store import conversation_team as stored
from chatsvc.store import operators, search_queries
from chatsvc.store.search_queries import ConversationFilter

MOST_NOTE = 4000
MOST_LABEL = 40
MOST_LABELS = 10  # of a conversation
MOST_DAYS = 366  # for which a conversation is set aside


class AssignedConversation(NamedTuple):
    """Conversation with the e-mail address of its assignee, or None if it has no assignee."""

    conversation: Conversation
    assignee: str | None


async def note(services: Services, caller: Caller, *, conversation: str, text: str) -> Note:
    """Write a private note on a conversation. Raises Refused for an empty or too long text."""
    text = accounts.long_text(text, "text", MOST_NOTE)
    actor = caller.actor
    operator = await operators.find_by_id(services.db, actor.id) if actor.kind == "operator" else None
    author = (operator and operator.name) or actor.name or f"uid {actor.id}"
    return await stored.add_note(services.db, caller.scope.accounts, conversation, author, text, services.clock())


async def assign(services: Services, caller: Caller, *, conversation: str, email: str) -> AssignedConversation:
    """Assign a conversation to the operator `email`, or to nobody if the text is empty. Raise `operator_not_found`."""
    account = (await resolve(services, caller, conversation))[1].account
    operator = await operators.find(services.db, email.strip().lower()) if email.strip() else None
    role = operator.scope.role(account.id) if operator else None
    if email.strip() and role is None:
        raise refusals.operator_not_found(email=email)
    if role is not None and role < Role.EDITOR:
        raise refusals.operator_without_role(email=email, role="editor")
    assigned = await stored.change(services.db, caller.scope.accounts, conversation, {"assignee": operator.id if operator else None})
    return AssignedConversation(assigned, operator.email if operator else None)


async def snooze(services: Services, caller: Caller, *, conversation: str, until: int) -> Conversation:
    """Set a conversation aside until a time (Unix milliseconds), unless a message comes before. Raises `snooze_out_of_range`."""
    now = services.clock()
    if not now < until <= now + MOST_DAYS * DAY_MS:
        raise refusals.snooze_out_of_range(days=MOST_DAYS)
    return await stored.set_aside(services.db, caller.scope.accounts, conversation, now, until)


async def reopen(services: Services, caller: Caller, *, conversation: str) -> Conversation:
    """End the snooze of a conversation."""
    return await stored.change(services.db, caller.scope.accounts, conversation, {"set_aside_at": None, "set_aside_until": None})


async def label(services: Services, caller: Caller, *, conversation: str, add: str = "", remove: str = "") -> Conversation:
    """Add a label to a conversation, or remove one. Raises Refused for an unfit label and for more than MOST_LABELS."""
    added = accounts.plain_text(add, "label", MOST_LABEL) if add.strip() or not remove else ""

    def change(labels: list[str]) -> list[str]:
        changed = [label for label in labels if label not in (added, remove)] + ([added] if added else [])
        if len(changed) > MOST_LABELS:
            raise refusals.labels_exhausted(most=MOST_LABELS)
        return sorted(changed)

    return await stored.put_labels(services.db, caller.scope.accounts, conversation, change)


async def list_labels(services: Services, caller: Caller, *, account: str | None = None) -> list[str]:
    """List the labels that an account's conversations have."""
    state = await accounts.resolve(services, caller, account)
    return await stored.labels(services.db, state.account.id)


async def see(services: Services, caller: Caller, *, conversation: str, message: int) -> None:
    """Store that the operator has seen a conversation up to the message with the row number `message`."""
    await stored.see(services.db, caller.scope.accounts, conversation, caller.actor.id, message)


MOST_SAVED = 200  # of an account
MOST_NAME = 60
MOST_SAVED_TEXT = 4000


async def list_saved_replies(services: Services, caller: Caller, *, account: str | None = None) -> list[SavedReply]:
    """List the saved replies of an account by name."""
    state = await accounts.resolve(services, caller, account)
    return await stored.saved_replies(services.db, state.account.id)


async def put_saved_reply(services: Services, caller: Caller, *, name: str, text: str, account: str | None = None) -> SavedReply:
    """Save a reply, in place of one of the same name. Raise Refused for unfit texts and for more than MOST_SAVED replies."""
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
    """Replace `{name}` in a text. Without a name, remove the placeholder and the white space before it."""
    if visitor_name:
        return text.replace("{name}", visitor_name)
    return re.sub(r"[ \t]*\{name\}", "", text).lstrip(" \t,")


MOST_PEOPLES_CONVERSATIONS = 2000  # of a page of people
MOST_NOTE_ON_PERSON = 2000


class KnownVisitor(NamedTuple):
    """A visitor with all conversations of visitors who have the same e-mail address or telephone number, newest first."""

    person: Person
    conversations: list[Conversation]


async def list_people(
    services: Services,
    caller: Caller,
    *,
    q: str | None = None,
    bot: Bot | None = None,
    limit: int = paging.DEFAULT,
    after: str | None = None,
) -> ResultPage[KnownVisitor]:
    """List visitors whose name or contact data are known, last seen first. Each person is listed once. A page may be short."""
    bot_id = bot.id if bot else None
    terms = terms_of(q) if q else []
    if q and q.strip() and not terms:
        return ResultPage([], None)
    wanted = ConversationFilter(bot_id, None, terms, KNOWN)
    page = await search_queries.conversations(services.db, caller.scope.accounts, wanted, paging.clamped(limit), after)
    rows, listed = page.items, {conversation.id for conversation, _ in page.items}
    if not terms:
        same = await stored.of_people(services.db, [number for _, number in rows], bot_id, MOST_PEOPLES_CONVERSATIONS)
        by_number = {number: (conversation, number) for conversation, number in [*rows, *same]}
        rows = sorted(by_number.values(), key=lambda row: (row[0].last_message_at, row[1]), reverse=True)
    people = await stored.people_of(services.db, [number for _, number in rows])
    merged = _merged([KnownVisitor(people[number], [conversation]) for conversation, number in rows if number in people])
    # Whoever has a newer conversation is on an earlier page.
    shown = [visitor for visitor in merged if visitor.conversations[0].id in listed]
    return ResultPage(shown, page.next)


def _merged(visitors: list[KnownVisitor]) -> list[KnownVisitor]:
    """Merge visitors of one account with the same e-mail address or telephone number. If data differ, the newest are used."""
    merged: list[KnownVisitor] = []
    index_of: dict[tuple[str, str], int] = {}  # by account and address or number
    for visitor in visitors:
        more = visitor.person
        contacts = [(more.account_id, contact.lower()) for contact in (more.email, more.phone) if contact]
        index = next((index_of[contact] for contact in contacts if contact in index_of), len(merged))
        index_of.update((contact, index) for contact in contacts if contact not in index_of)
        if index == len(merged):
            merged.append(visitor)
            continue
        known, listed = merged[index]
        missing = {name: getattr(more, name) for name in ("name", "email", "phone", "note") if not getattr(known, name)}
        sums = {name: getattr(known, name) + getattr(more, name) for name in ("requests", "appointments")}
        merged[index] = KnownVisitor(known._replace(**missing, **sums), [*listed, *visitor.conversations])
    return merged


async def put_person(
    services: Services, caller: Caller, *, conversation: str, name: str = "", email: str = "", phone: str = "", note: str = ""
) -> Conversation:
    """Set name, contact data and note of a visitor; an empty text removes the value. Raise Refused for unfit values."""
    country = (await resolve(services, caller, conversation))[2].country
    faults, values = Faults(), dict[str, str | None]()
    with faults:
        values["visitor_name"] = accounts.plain_text(name, "name", contacts.MAX_NAME) if name.strip() else None
    with faults:
        values["visitor_email"] = normalised_email(email) if email.strip() else None
    with faults:
        values["visitor_phone"] = appointments.phone_of(phone, country) if phone.strip() else None
    with faults:
        values["visitor_note"] = accounts.long_text(note, "note", MOST_NOTE_ON_PERSON) if note.strip() else None
    faults.refuse()
    return await stored.change(services.db, caller.scope.accounts, conversation, values)
