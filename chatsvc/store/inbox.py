"""Lists requests with their appointments by status, assignee, kind and words; store/captures.py writes them."""

import json
from collections.abc import Sequence
from itertools import repeat, starmap
from typing import NamedTuple

from chatsvc.domain import paging
from chatsvc.domain.captures import Delivery, InboxItem, Request
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.search_words import Matcher, Term
from chatsvc.store.captures import APPOINTMENT, REQUEST, record_of
from chatsvc.store.database import LAST, Connection, reads
from chatsvc.store.owners import ALL_BOTS, BOT_IN_SCOPE, ONE_BOT, SOME_BOTS, Accounts, listed
from chatsvc.store.webhooks import KEPT, PENDING

STEPS = (100, 400, *repeat(1_000, 10))  # requests that are read and filtered, step by step
MAX_OF_CONVERSATION = 50


class InboxFilter(NamedTuple):
    """Filters of the inbox. `assignee` is an operator's id, "" for requests without an assignee, or None for all.

    `kind` is "request", "appointment", None for requests and appointments, or "all" to include visitors' changes of earlier requests.
    If `urgent_first` is true, the first page begins with the urgent requests that nobody has dealt with.
    """

    bot_id: str | None = None
    status: str | None = None
    kind: str | None = None
    assignee: str | None = None
    terms: Sequence[Term] = ()
    urgent_first: bool = False


# The first requests of a bot `b` behind number ?3, by an index; ?4 is how many, ?5 the status and ?6 the assignee.
_OF_REQUESTS = "SELECT n.number FROM requests n WHERE n.bot_id = b.id AND n.number < ?3 AND {} ORDER BY n.number DESC LIMIT ?4"
_OF_APPOINTMENTS = (
    "SELECT n.request FROM appointments n WHERE n.bot_id = b.id AND n.status = ?5 AND n.request < ?3 ORDER BY n.request DESC LIMIT ?4"
)
_BY_STATUS = f"SELECT * FROM ({_OF_REQUESTS.format('n.status = ?5')}) page UNION SELECT * FROM ({_OF_APPOINTMENTS}) page"
_SOURCES = {"all": _OF_REQUESTS.format("true"), "assignee": _OF_REQUESTS.format("n.assignee = ?6"), "status": _BY_STATUS}
_CHOSEN = """
    (?5 IS NULL OR a.status = ?5 OR (r.status = ?5 AND (?5 <> 'new' OR coalesce(a.status, 'pending') = 'pending')))
    AND (?6 IS NULL OR coalesce(r.assignee, '') = ?6)
    AND (?7 = 'all' OR r.follows IS NULL AND (?7 IS NULL OR (a.number IS NOT NULL) = (?7 = 'appointment')))
"""


_TEXT = (
    "r.message || '\n' || coalesce(r.visitor_name, '') || '\n' || coalesce(r.visitor_email, '') || '\n' || coalesce(r.visitor_phone, '')"
)


@reads
def page(connection: Connection, accounts: Accounts, chosen: InboxFilter, limit: int, after: str | None = None) -> ResultPage[InboxItem]:
    """Read a page of requests of these accounts (None for all) that pass the filters, newest first.

    `after` is the position of the previous page. The work is bounded, so a page may be short although more follow.
    """
    bots = ONE_BOT if chosen.bot_id is not None else ALL_BOTS if accounts is None else SOME_BOTS
    source = _SOURCES["assignee" if chosen.assignee else "status" if chosen.status else "all"]
    owner, filters = (listed(accounts), chosen.bot_id), (chosen.status, chosen.assignee, chosen.kind)
    urgent: list[int] = []
    if chosen.urgent_first and after is None and not chosen.terms:
        statement = f"""
            SELECT r.number FROM {bots} CROSS JOIN requests r ON r.bot_id = b.id AND r.urgent = 1
            LEFT JOIN appointments a ON a.request = r.number
            WHERE r.number < ?3 AND r.status IN ('new', 'in_progress') AND {_CHOSEN} ORDER BY r.number DESC LIMIT ?4
        """
        urgent = [number for (number,) in connection.execute(statement, (*owner, LAST, limit, *filters))]
    statement = f"""
        SELECT page.number, {_CHOSEN}, {_TEXT if chosen.terms else "''"} FROM (
            SELECT r.number FROM {bots} CROSS JOIN requests r ON r.number IN ({source}) ORDER BY r.number DESC LIMIT ?4
        ) page CROSS JOIN requests r ON r.number = page.number LEFT JOIN appointments a ON a.request = r.number
    """
    matcher, numbers = Matcher(chosen.terms), list[int]()
    (last,) = paging.parsed(after, paging.number) or (LAST,)
    for step in STEPS:
        # They come in the order of the subquery, which SQL does not promise.
        rows = sorted(connection.execute(statement, (*owner, last, step, *filters)).fetchall(), reverse=True)
        matches = [number for number, is_chosen, text in rows if is_chosen and matcher.matches(text)]
        numbers += matches[: limit - len(numbers) + 1]
        if len(numbers) > limit:
            numbers, last = numbers[:limit], numbers[limit - 1]
            break
        if len(rows) < step:
            last = -1
            break
        last = rows[-1][0]
    items = items_of(connection, [*urgent, *(number for number in numbers if number not in urgent)])
    return ResultPage(items, None if last == -1 else paging.position(last))


def items_of(connection: Connection, numbers: list[int]) -> list[InboxItem]:
    """Read the requests with these row numbers within a unit, in the given order, with visitors' later changes of them."""
    rows = connection.execute(
        f"""
        SELECT r.number, {APPOINTMENT}, {REQUEST}, r.bot_id, c.id, c.channel, c.user_id,
            (SELECT json_group_array(json_array(e.event, e.state, t.success, t.status_code, t.error, t.number IS NOT NULL))
            FROM webhook_events e LEFT JOIN webhook_attempts t
                ON t.number = (SELECT number FROM webhook_attempts WHERE event_number = e.number ORDER BY number DESC LIMIT 1)
            WHERE e.bot_id = r.bot_id AND e.created_at = r.created_at AND e.record_id IN (r.id, a.id))
        FROM requests r CROSS JOIN conversations c ON c.number = r.conversation LEFT JOIN appointments a ON a.request = r.number
        WHERE r.number IN (SELECT CAST(value AS BIGINT) FROM json_each(?))
        """,
        (json.dumps(numbers),),
    )
    items: dict[int, InboxItem] = {}
    for number, *record, bot_id, conversation_id, channel, user_id, sent in rows.fetchall():
        deliveries = tuple(_delivery(*values) for values in json.loads(sent))
        items[number] = InboxItem(*record_of(record), bot_id, conversation_id, channel, deliveries, user_id)
    of_ids = json.dumps([item.request.id for item in items.values()])
    following = f"SELECT {REQUEST} FROM json_each(?) page CROSS JOIN requests r ON r.follows = page.value ORDER BY r.number"
    changes: dict[str | None, tuple[Request, ...]] = {}
    for change in starmap(Request, connection.execute(following, (of_ids,)).fetchall()):
        changes[change.follows] = (*changes.get(change.follows, ()), change)
    ordered = (items[number] for number in numbers if number in items)
    return [item._replace(changes=changes.get(item.request.id, ())) for item in ordered]


def _delivery(event: str, state: int, success: int | None, status_code: int | None, error: str | None, attempted: int) -> Delivery:
    if not attempted:
        return Delivery(event, "kept" if state == KEPT else "pending" if state == PENDING else "in_flight", None, None)
    return Delivery(event, "in_flight" if success is None else "delivered" if success else "failed", status_code, error)


@reads
def find(connection: Connection, accounts: Accounts, record_id: str) -> InboxItem | None:
    """Find a request by its id or that of its appointment; return None if the scope has no such request."""
    row = connection.execute(
        f"""
        SELECT number FROM requests WHERE (id = ?2 OR number = (SELECT request FROM appointments WHERE id = ?2)) AND {BOT_IN_SCOPE}
        """,
        (listed(accounts), record_id),
    ).fetchone()
    return items_of(connection, [row[0]])[0] if row else None


def of_conversation(connection: Connection, conversation: int) -> list[InboxItem]:
    """Read the newest requests of a conversation (its row number) within a unit, newest first."""
    rows = connection.execute(
        "SELECT number FROM requests WHERE conversation = ? AND follows IS NULL ORDER BY created_at DESC LIMIT ?",
        (conversation, MAX_OF_CONVERSATION),
    )
    return items_of(connection, [number for (number,) in rows.fetchall()])
