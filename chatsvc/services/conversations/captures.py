"""Requests and appointments: make records of an engine's captures, list them with filters, and change status, note and assignee."""

import json
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from chatsvc import timezones
from chatsvc.domain import captures, paging, refusals, search_words, times
from chatsvc.domain.actors import Caller, Role
from chatsvc.domain.captures import KINDS, UNASSIGNED, Appointment, Captured, InboxItem, Request
from chatsvc.domain.models import APPOINTMENT_STATUSES, REQUEST_STATUSES, Bot
from chatsvc.domain.operators import Operator
from chatsvc.domain.paging import ResultPage
from chatsvc.services.accounts import accounts
from chatsvc.services.services import Services
from chatsvc.store import inbox, operators, owners, today
from chatsvc.store.captures import CaptureChange
from chatsvc.store.inbox import InboxFilter


def records(
    bot: Bot, captured: Captured, spoken: list[str], accepted_at: int, *, page_host: str = ""
) -> tuple[Request, Appointment | None]:
    """Make a request, and an appointment if any, from the verified data of a capture. `spoken` are the visitor's own messages."""
    wish, follows, change = captures.checked(captured, spoken, times.local(accepted_at, bot.timezone), bot.country), None, None
    zone = timezones.zone(bot.timezone) or UTC
    # The visitor's words, and a line for each field of the owner's form.
    message = "\n".join([wish.message, *(f"{name}: {value}" for name, value in wish.details)])[: captures.MAX_MESSAGE]
    if wish.change:
        message, follows = captures.change_message(wish, wish.change, bot.language), wish.change.appointment.request_id
        instant = {"at": captures.instant(wish.date, wish.time, zone)} if wish.date and wish.time else {}
        change = json.dumps({**captures.change_of(wish, wish.change), **instant}, ensure_ascii=False)
    request = Request(
        id=str(uuid.uuid4()),
        status=REQUEST_STATUSES[0],
        message=message,
        source_page_host=page_host,
        created_at=accepted_at,
        end_date=captures.as_text(wish.end_date),
        end_time=captures.as_text(wish.end_time),
        follows=follows,
        change=change,
        **{name: getattr(wish, name) for name in ("request_type", *captures.CONTACT, "urgent", "item")},
    )
    if wish.change or wish.date is None or wish.time is None:
        return request, None
    # Where the clocks skip an hour: day, time and instant name the same moment.
    moment = times.existing(datetime.combine(wish.date, wish.time), zone)
    begins_at = captures.instant(moment.date(), moment.time(), zone)
    day, clock = moment.date().isoformat(), f"{moment:%H:%M}"
    return request, Appointment(str(uuid.uuid4()), request, APPOINTMENT_STATUSES[0], day, clock, begins_at, accepted_at)


async def checked(
    services: Services,
    caller: Caller,
    kind: str,
    record_id: str,
    status: str | None = None,
    note: str | None = None,
    assignee: str | None = None,
) -> CaptureChange:
    """Check new values for a request or an appointment (`kind`), and return them as a change. Raises Refused."""
    known = REQUEST_STATUSES if kind == "request" else APPOINTMENT_STATUSES
    if status is not None and status not in known:
        raise refusals.status_unknown(status=status, known=list(known))
    if status is None and note is None and assignee is None:
        raise refusals.nothing_to_change()
    if note is not None:
        note = accounts.long_text(note, "note", captures.MAX_NOTE, optional=True)
    if assignee:
        account_id = await owners.account_of(services.db, kind, record_id, caller.scope.accounts)
        operator = await operators.find(services.db, assignee.strip().lower())
        if account_id is not None and (operator is None or operator.scope.role(account_id) is None):
            raise refusals.operator_not_found(email=assignee)
        assignee = operator.id if operator else ""
    return CaptureChange(status, note, assignee)


STATUSES = tuple(dict.fromkeys((*REQUEST_STATUSES, *APPOINTMENT_STATUSES)))
MOST_ASSIGNEES = 100
MOST_APPOINTMENTS = 500


async def list_inbox(
    services: Services,
    caller: Caller,
    *,
    bot: Bot | None = None,
    status: str | None = None,
    kind: str | None = None,
    assignee: str | None = None,
    q: str | None = None,
    limit: int = paging.DEFAULT,
    after: str | None = None,
    urgent_first: bool = False,
) -> ResultPage[InboxItem]:
    """List requests with their appointments, newest first, of one bot or of the caller's scope.

    `status` is the status of the request or its appointment. `kind` is "appointment", or "request" if it has none. `assignee` is an
    e-mail address, or "none". `q` has beginnings of words in the captured data. A short page need not be the last.
    """
    if status is not None and status not in STATUSES:
        raise refusals.status_unknown(status=status, known=list(STATUSES))
    chosen = bot.id if bot else None
    terms = search_words.terms(q) if q and q.strip() else []
    charged = None  # the filter of the store: an operator's id, "" for nobody's, None for all
    if assignee:
        operator = await operators.find(services.db, assignee.strip().lower()) if assignee != UNASSIGNED else None
        charged = "" if assignee == UNASSIGNED else operator and operator.id
    if (q and q.strip() and not terms) or (assignee and charged is None) or (kind is not None and kind not in (*KINDS, "all")):
        return ResultPage([], None)
    wanted = InboxFilter(chosen, status, kind, charged, terms, urgent_first)
    return await inbox.page(services.db, caller.scope.accounts, wanted, paging.clamped(limit), after)


async def export_inbox(services: Services, caller: Caller, **filters: Any) -> AsyncIterator[list[InboxItem]]:
    """Iterate over the pages of all items that `list_inbox` lists with these filters. Raises Refused before the first page."""
    first = await list_inbox(services, caller, **filters)
    return paging.following(first, lambda after: list_inbox(services, caller, **filters, after=after))


async def list_requests(
    services: Services, caller: Caller, *, bot: Bot | None = None, limit: int = paging.DEFAULT, after: str | None = None
) -> ResultPage[InboxItem]:
    """List the requests of one bot, or of the caller's scope, with the changes that customers asked for later."""
    return await list_inbox(services, caller, bot=bot, kind="all", limit=limit, after=after)


async def list_appointments(
    services: Services, caller: Caller, *, bot: Bot | None = None, limit: int = paging.DEFAULT, after: str | None = None
) -> ResultPage[InboxItem]:
    """List the appointments of one bot, or of the caller's scope, newest first. A short page need not be the last."""
    page = await list_inbox(services, caller, bot=bot, kind="appointment", limit=limit, after=after)
    return page._replace(items=[item for item in page.items if item.appointment])


async def assignees(services: Services, caller: Caller, *, account: str | None = None) -> list[Operator]:
    """List the operators to whom an account's requests and conversations may be assigned."""
    state = await accounts.resolve(services, caller, account)
    listed = await operators.page(services.db, [state.account.id], MOST_ASSIGNEES)
    return [operator for operator in listed if (operator.scope.role(state.account.id) or Role.READER) >= Role.EDITOR]


async def appointments(services: Services, caller: Caller, *, first: int, end: int, account: str | None = None) -> list[InboxItem]:
    """List an account's appointments between two instants, in the order of their times; at most MOST_APPOINTMENTS."""
    state = await accounts.resolve(services, caller, account)
    return await today.appointments(services.db, state.account.id, first, end, MOST_APPOINTMENTS)
