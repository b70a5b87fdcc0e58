"""Lists requests and appointments with filters, and operators who may be put in charge.

services/conversations/captures.py changes requests.
"""

from typing import NamedTuple

from chatsvc.domain import paging, refusals, search_words
from chatsvc.domain.actors import Caller
from chatsvc.domain.captures import APPOINTMENT_STATUSES, REQUEST_STATUSES
from chatsvc.domain.inbox import KINDS, UNASSIGNED, InboxItem
from chatsvc.domain.paging import ResultPage
from chatsvc.services.accounts import accounts, bots
from chatsvc.services.conversations import search
from chatsvc.services.services import Services
from chatsvc.store import inbox as stored
from chatsvc.store import operators, today
from chatsvc.store.inbox import InboxFilter
from chatsvc.store.today import BotAppointment

STATUSES = tuple(dict.fromkeys((*REQUEST_STATUSES, *APPOINTMENT_STATUSES)))
MOST_ASSIGNEES = 100
MOST_APPOINTMENTS = 500


class Assignee(NamedTuple):
    """An operator who may be put in charge of a request."""

    email: str
    name: str | None


async def list_all(
    services: Services,
    caller: Caller,
    *,
    bot: str | None = None,
    status: str | None = None,
    kind: str | None = None,
    assignee: str | None = None,
    q: str | None = None,
    limit: int = paging.DEFAULT,
    after: str | None = None,
) -> ResultPage[InboxItem]:
    """List requests with their appointments, newest first, of one bot or of the caller's scope.

    status: of the request or of its appointment. kind: "request" for those without an appointment, or "appointment". assignee: an
    e-mail address, or "none". q: words of the captured data, by their beginnings. Such a page may be short although more follow.
    """
    limit, place = paging.clamped(limit), paging.parsed(after, paging.number)
    if status is not None and status not in STATUSES:
        raise refusals.status_unknown(status=status, known=list(STATUSES))
    chosen = (await bots.resolve(services, caller, bot))[1].id if bot is not None else None
    terms = search_words.terms(q, search_words.IN_CAPTURE) if q and q.strip() else []
    charged = await _operator_id(services, assignee)
    if (q and q.strip() and not terms) or (assignee and charged is None) or (kind is not None and kind not in KINDS):
        return ResultPage([], None)
    if terms:
        await search.catch_up(services)
    wanted = InboxFilter(chosen, status, kind, charged, terms)
    found = await stored.page(services.db, caller.scope.accounts, wanted, limit, *(place or ()))
    return ResultPage(found.items, None if found.next is None else paging.position(found.next))


async def _operator_id(services: Services, assignee: str | None) -> str | None:
    """Return the filter of the store. An operator's id, "" for UNASSIGNED, None for no filter or an unknown operator."""
    if not assignee:
        return None
    if assignee == UNASSIGNED:
        return ""
    operator = await operators.find(services.db, assignee.strip().lower())
    return operator.id if operator else None


async def assignees(services: Services, caller: Caller, *, account: str | None = None) -> list[Assignee]:
    """List the operators who may be put in charge of an account's requests."""
    state = await accounts.resolve(services, caller, account)
    found = await operators.page(services.db, [state.account.id], MOST_ASSIGNEES)
    return [Assignee(operator.email, operator.name) for operator in found]


async def appointments(services: Services, caller: Caller, *, first: int, end: int, account: str | None = None) -> list[BotAppointment]:
    """List an account's appointments between two instants, in the order of their times; at most MOST_APPOINTMENTS."""
    state = await accounts.resolve(services, caller, account)
    return await today.appointments(services.db, state.account.id, first, end, MOST_APPOINTMENTS)
