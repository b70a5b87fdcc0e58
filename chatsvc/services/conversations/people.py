"""Visitors as people: listed with what they asked for, their contact data corrected, a note kept."""

from typing import NamedTuple

from chatsvc.domain import contacts, paging
from chatsvc.domain.actors import Caller
from chatsvc.domain.hand_off import KNOWN
from chatsvc.domain.models import Conversation, Person
from chatsvc.domain.operators import normalised_email
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.refusals import Faults
from chatsvc.services.accounts import accounts, bots
from chatsvc.services.conversations import appointments
from chatsvc.services.conversations.conversations import existing, terms_of
from chatsvc.services.services import Services
from chatsvc.store import conversation_team as stored
from chatsvc.store import conversations, search_queries
from chatsvc.store.search_queries import ConversationFilter

MOST_NOTE = 2000
MOST_CONVERSATIONS = 2000  # of the people on a page


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

    The same person is one, on the page of his or her newest conversation; a page may be short although more follow. With words the same
    person on one page is one.
    """
    limit, position = paging.clamped(limit), paging.parsed(after, paging.number, paging.number)
    bot_id = (await bots.resolve(services, caller, bot))[1].id if bot is not None else None
    terms = terms_of(q) if q else []
    if q and q.strip() and not terms:
        return ResultPage([], None)
    wanted = ConversationFilter(bot_id, None, terms, KNOWN)
    page = await search_queries.conversations(services.db, caller.scope.accounts, wanted, limit, position)
    people = await stored.people_of(services.db, [number for _, number in page.rows])
    rows, listed = page.rows, {conversation.id for conversation, number in page.rows if number in people}
    if not terms:
        same = await stored.of_people(services.db, list(people.values()), bot_id, MOST_CONVERSATIONS)
        every = {number: conversation for conversation, number in [*rows, *same]}
        rows = sorted(
            ((conversation, number) for number, conversation in every.items()), key=lambda row: (-row[0].last_message_at, -row[1])
        )
        people = await stored.people_of(services.db, [number for _, number in rows])
    merged = _merged([KnownVisitor(people[number], [conversation]) for conversation, number in rows if number in people])
    # Whoever has a newer conversation is on an earlier page.
    shown = [visitor for visitor in merged if visitor.conversations[0].id in listed]
    return ResultPage(shown, paging.position(*page.next) if page.next else None)


def _merged(visitors: list[KnownVisitor]) -> list[KnownVisitor]:
    """Put visitors of one account with the same e-mail address or telephone number together. The newest one's data count first."""
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
        person = Person(
            known.name or more.name,
            known.email or more.email,
            known.phone or more.phone,
            known.note or more.note,
            known.requests + more.requests,
            known.appointments + more.appointments,
            known.account_id,
        )
        merged[index] = KnownVisitor(person, [*listed, *visitor.conversations])
    return merged


async def put(
    services: Services, caller: Caller, *, conversation: str, name: str = "", email: str = "", phone: str = "", note: str = ""
) -> Person:
    """Set name, contact data and note of a conversation's visitor; an empty text is none. Raises Refused for unfit ones."""
    thread = existing(await conversations.find(services.db, caller.scope.accounts, conversation, 1), conversation)
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
    return existing(await stored.put_person(services.db, caller.scope.accounts, conversation, list(values.values())), conversation)
