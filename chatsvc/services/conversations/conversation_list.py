"""The team's list of conversations: rows with last words and unread messages, those that wait for a person first."""

from typing import NamedTuple

from chatsvc.domain import paging
from chatsvc.domain.actors import Caller
from chatsvc.domain.hand_off import WAITING
from chatsvc.domain.models import Conversation
from chatsvc.domain.paging import ResultPage
from chatsvc.services.conversations import conversations
from chatsvc.services.services import Services
from chatsvc.store import conversation_view, search_queries
from chatsvc.store.conversation_view import RowDetails

MOST_WAITING = 20


class ConversationRow(NamedTuple):
    conversation: Conversation
    details: RowDetails


async def show(
    services: Services,
    caller: Caller,
    *,
    bot: str | None = None,
    channel: str | None = None,
    q: str | None = None,
    captured: bool = False,
    status: str | None = None,
    limit: int = paging.DEFAULT,
    after: str | None = None,
) -> ResultPage[ConversationRow]:
    """List conversations as conversations.list_all does, for the operator who asks. `status` is one of domain.hand_off.STATUSES.

    Without a status and words the first page begins with up to MOST_WAITING visitors who wait for a person, beside `limit` others, and
    no page has them among the others.
    """
    limit, place = paging.clamped(limit), paging.parsed(after, paging.number, paging.number)
    wanted = await conversations.chosen(services, caller, bot=bot, channel=channel, q=q, captured=captured, status=status)
    if wanted is None:
        return ResultPage([], None)
    accounts, first = caller.scope.accounts, list[tuple[Conversation, int]]()
    if status is None and not wanted.terms:
        wanted = wanted._replace(without_waiting=True)
        if place is None:
            waiting = wanted._replace(status=WAITING)
            first = (await search_queries.conversations(services.db, accounts, waiting, MOST_WAITING)).rows
    found = await search_queries.conversations(services.db, accounts, wanted, limit, place)
    rows = [*first, *found.rows]
    details = await conversation_view.details(services.db, [number for _, number in rows], caller.actor.id)
    shown = [ConversationRow(one, details[number]) for one, number in rows if number in details]
    return ResultPage(shown, paging.position(*found.next) if found.next else None)
