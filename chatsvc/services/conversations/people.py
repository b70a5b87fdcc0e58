"""Visitors as people: listed with what they asked for, their contact data corrected, a note kept."""

from typing import NamedTuple

from chatsvc.domain import contacts, paging, refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.hand_off import KNOWN
from chatsvc.domain.models import Conversation, Person
from chatsvc.domain.operators import normalised_email
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.refusals import Faults
from chatsvc.services.accounts import accounts, bots
from chatsvc.services.conversations import appointments, search
from chatsvc.services.services import Services
from chatsvc.store import conversations, search_queries
from chatsvc.store import people as stored
from chatsvc.store.search_queries import ConversationFilter

MOST_NOTE = 2000


class KnownVisitor(NamedTuple):
    """A visitor with the conversations of those who have the same e-mail address or telephone number, the newest first."""

    person: Person
    conversations: list[Conversation]


async def list_all(
    services: Services,
    caller: Caller,
    *,
    q: str | None = None,
    bot: str | None = None,
    limit: int = paging.DEFAULT,
    after: str | None = None,
) -> ResultPage[KnownVisitor]:
    """List visitors whose name or contact data are known, those last seen first. q: words as in the list of conversations.

    The same person on one page is one; a page has `limit` conversations at most.
    """
    limit, place = paging.clamped(limit), paging.parsed(after, paging.number, paging.number)
    bot_id = (await bots.resolve(services, caller, bot))[1].id if bot is not None else None
    terms = search.terms_of(q) if q else []
    if q and q.strip() and not terms:
        return ResultPage([], None)
    if terms:
        await search.catch_up(services)
    wanted = ConversationFilter(bot_id, None, terms, KNOWN)
    found = await search_queries.conversations(services.db, caller.scope.accounts, wanted, limit, place)
    people = await stored.read(services.db, [number for _, number in found.rows])
    shown = _merged([KnownVisitor(people[number], [one]) for one, number in found.rows if number in people])
    return ResultPage(shown, paging.position(*found.next) if found.next else None)


def _merged(found: list[KnownVisitor]) -> list[KnownVisitor]:
    """Put those with the same e-mail address or telephone number together. What is known of the newest one counts first."""
    merged: list[KnownVisitor] = []
    for new in found:
        index = next((index for index, one in enumerate(merged) if _is_same(one.person, new.person)), None)
        if index is None:
            merged.append(new)
            continue
        known, more = merged[index].person, new.person
        person = Person(
            known.name or more.name,
            known.email or more.email,
            known.phone or more.phone,
            known.note or more.note,
            known.requests + more.requests,
            known.appointments + more.appointments,
            known.account_id,
        )
        merged[index] = KnownVisitor(person, [*merged[index].conversations, *new.conversations])
    return merged


def _is_same(one: Person, other: Person) -> bool:
    """Return whether two visitors of one account have the same e-mail address or telephone number."""
    if one.account_id != other.account_id:
        return False
    return bool((one.email and one.email == other.email) or (one.phone and one.phone == other.phone))


async def put(
    services: Services, caller: Caller, *, conversation: str, name: str = "", email: str = "", phone: str = "", note: str = ""
) -> Person:
    """Set name, contact data and note of a conversation's visitor; an empty text is none. Raises Refused for unfit ones."""
    thread = await conversations.find(services.db, caller.scope.accounts, conversation, 1)
    if thread is None:
        raise refusals.conversation_not_found(conversation=conversation)
    country = (await bots.resolve(services, caller, thread.conversation.chatbot_id))[1].country
    faults, values = Faults(), dict[str, str | None]()
    with faults:
        values["name"] = accounts.plain_text(name, "name", contacts.MAX_NAME) if name.strip() else None
    with faults:
        values["email"] = normalised_email(email) if email.strip() else None
    with faults:
        values["phone"] = appointments.phone_of(phone, country) if phone.strip() else None
    with faults:
        values["note"] = accounts.long_text(note, "note", MOST_NOTE) if note.strip() else None
    faults.refuse()
    person = await stored.put(services.db, caller.scope.accounts, conversation, list(values.values()))
    if person is None:
        raise refusals.conversation_not_found(conversation=conversation)
    return person
