"""Lists requests with their appointments by status, assignee, kind and words, in bounded work.

The newest come first. store/captures.py writes them.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from chatsvc.domain.captures import Delivery, InboxItem, Request
from chatsvc.domain.search_words import Term
from chatsvc.store.captures import APPOINTMENT, REQUEST, appointments_of
from chatsvc.store.database import LAST, Connection, reads
from chatsvc.store.owners import BOT_IN_SCOPE, Accounts, listed
from chatsvc.store.search_terms import BOTS, MATCHES, Owners, candidates, patterns
from chatsvc.store.webhooks import KEPT, PENDING

CHUNKS = (100, 400, 1_000)  # requests read along the way, step by step
FEW = 2_000  # conversations whose requests are all read
MAX_OF_CONVERSATION = 50


class InboxFilter(NamedTuple):
    """Filters of the inbox. assignee: an operator's id, "" for requests without one, None for all.

    kind: "request", "appointment", None for both, or "all" for changes that follow a request as well. urgent_first: whether the first page
    begins with the urgent ones that nobody has dealt with.
    """

    bot_id: str | None = None
    status: str | None = None
    kind: str | None = None
    assignee: str | None = None
    terms: Sequence[Term] = ()
    urgent_first: bool = False


class FoundItems(NamedTuple):
    """Items, newest first. `next` is the number of the request behind which to search on, None at the end."""

    items: list[InboxItem]
    next: int | None


class _InboxQuery(NamedTuple):
    owners: Owners
    filter: InboxFilter
    limit: int
    after: int


# The first requests of a bot `b` behind number ?3, by an index; ?4 is how many, ?5 the status and ?6 the assignee.
_BY_STATUS = "SELECT n.number FROM requests n WHERE n.bot_id = b.id AND n.status = ?5 AND n.number < ?3 ORDER BY n.number DESC LIMIT ?4"
_BY_APPOINTMENT = (
    "SELECT n.request FROM appointments n WHERE n.bot_id = b.id AND n.status = ?5 AND n.request < ?3 ORDER BY n.request DESC LIMIT ?4"
)
_SOURCES = {
    "all": "SELECT n.number FROM requests n WHERE n.bot_id = b.id AND n.number < ?3 ORDER BY n.number DESC LIMIT ?4",
    "assignee": (
        "SELECT n.number FROM requests n WHERE n.bot_id = b.id AND n.assignee = ?6 AND n.number < ?3 ORDER BY n.number DESC LIMIT ?4"
    ),
    "status": f"SELECT * FROM ({_BY_STATUS}) page UNION SELECT * FROM ({_BY_APPOINTMENT}) page",
}
_CHOSEN = f"""
    (?5 IS NULL OR a.status = ?5 OR (r.status = ?5 AND (?5 <> 'new' OR coalesce(a.status, 'pending') = 'pending')))
    AND (?6 IS NULL OR coalesce(r.assignee, '') = ?6)
    AND (?8 = 'all' OR r.follows IS NULL AND (?8 IS NULL OR (a.number IS NOT NULL) = (?8 = 'appointment'))) AND {MATCHES}
"""


@reads
def page(connection: Connection, accounts: Accounts, chosen: InboxFilter, limit: int, after: int | None = None) -> FoundItems:
    """Read requests of these accounts (None for all) that pass the filters. Those behind the request numbered `after`."""
    search = _InboxQuery(Owners(accounts, chosen.bot_id), chosen, limit, LAST if after is None else after)
    likely = candidates(connection, search.owners, chosen.terms)
    rare = likely if likely is not None and len(likely) <= FEW else None
    numbers, following = _of_candidates(connection, search, rare) if rare is not None else _along(connection, search)
    urgent = _urgent(connection, search) if chosen.urgent_first and after is None and not chosen.terms else []
    return FoundItems(_items(connection, [*urgent, *(number for number in numbers if number not in urgent)]), following)


def _urgent(connection: Connection, search: _InboxQuery) -> list[int]:
    """Read the numbers of urgent requests that match and that nobody has dealt with, newest first."""
    chosen = search.filter
    rows = connection.execute(
        f"""
        SELECT r.number FROM {BOTS[search.owners.kind]} CROSS JOIN requests r ON r.bot_id = b.id AND r.urgent = 1
        LEFT JOIN appointments a ON a.request = r.number LEFT JOIN search_documents d ON d.conversation = r.conversation
        WHERE r.number < ?3 AND r.status IN ('new', 'in_progress') AND {_CHOSEN} ORDER BY r.number DESC LIMIT ?4
        """,
        (*search.owners.values, search.after, search.limit, chosen.status, chosen.assignee, patterns(chosen.terms), chosen.kind),
    ).fetchall()
    return [number for (number,) in rows]


def _of_candidates(connection: Connection, search: _InboxQuery, conversations: list[int]) -> tuple[list[int], int | None]:
    """Read the requests of these conversations, and keep those that match."""
    chosen = search.filter
    rows = connection.execute(
        f"""
        SELECT r.number FROM json_each(?3) page CROSS JOIN requests r ON r.conversation = CAST(page.value AS BIGINT)
        LEFT JOIN appointments a ON a.request = r.number LEFT JOIN search_documents d ON d.conversation = r.conversation
        WHERE r.number < ?9 AND {_CHOSEN} ORDER BY r.number DESC LIMIT ?10
        """,
        (
            *(*search.owners.values, json.dumps(conversations), None, chosen.status, chosen.assignee),
            *(patterns(chosen.terms), chosen.kind, search.after, search.limit + 1),
        ),
    ).fetchall()
    numbers = [number for (number,) in rows[: search.limit]]
    return numbers, numbers[-1] if len(rows) > search.limit else None


def _along(connection: Connection, search: _InboxQuery) -> tuple[list[int], int | None]:
    """Walk the newest requests and keep those that match. Ends when the page is full or enough were read."""
    numbers: list[int] = []
    after = search.after
    for chunk in CHUNKS:
        rows = _walk(connection, search, after, chunk)
        for number, matches in rows:
            if not matches:
                continue
            if len(numbers) == search.limit:
                return numbers, numbers[-1]
            numbers.append(number)
        if len(rows) < chunk:
            return numbers, None
        after = rows[-1][0]
    return numbers, after


def _walk(connection: Connection, search: _InboxQuery, after: int, limit: int) -> list[tuple[int, int]]:
    """Read the next requests, each with whether it matches."""
    chosen = search.filter
    source = "assignee" if chosen.assignee else "status" if chosen.status else "all"
    # As one text: fetching a row releases the interpreter lock and acquires it again.
    (text,) = connection.execute(
        f"""
        SELECT json_group_array(json_array(page.number, {_CHOSEN})) FROM (
            SELECT r.number FROM {BOTS[search.owners.kind]} CROSS JOIN requests r ON r.number IN ({_SOURCES[source]})
            ORDER BY r.number DESC LIMIT ?4
        ) page CROSS JOIN requests r ON r.number = page.number
        LEFT JOIN appointments a ON a.request = r.number LEFT JOIN search_documents d ON d.conversation = r.conversation
        """,
        (*search.owners.values, after, limit, chosen.status, chosen.assignee, patterns(chosen.terms), chosen.kind),
    ).fetchone()
    # They come in the order of the subquery, which SQL does not promise.
    return sorted((tuple(row) for row in json.loads(text)), reverse=True)


_DELIVERIES = """
    (SELECT json_group_array(json_array(e.event, e.state, t.number IS NOT NULL, t.success, t.status_code, t.error))
    FROM webhook_events e LEFT JOIN webhook_attempts t
        ON t.number = (SELECT number FROM webhook_attempts WHERE event_number = e.number ORDER BY number DESC LIMIT 1)
    WHERE e.bot_id = r.bot_id AND e.created_at = r.created_at AND e.record_id IN (r.id, a.id))
"""
_ITEMS = f"""
    SELECT r.number, {APPOINTMENT}, {REQUEST}, r.bot_id, c.id, c.channel, {_DELIVERIES}, c.user_id FROM requests r
    CROSS JOIN conversations c ON c.number = r.conversation LEFT JOIN appointments a ON a.request = r.number
    WHERE r.number IN (SELECT CAST(value AS BIGINT) FROM json_each(?))
"""


_CHANGES = f"""
    SELECT {REQUEST} FROM json_each(?) page CROSS JOIN requests r ON r.follows = page.value ORDER BY r.number
"""


def _items(connection: Connection, numbers: list[int]) -> list[InboxItem]:
    """Read these requests, in this order, with the changes that follow them."""
    rows = {number: _item(row) for number, *row in connection.execute(_ITEMS, (json.dumps(numbers),)).fetchall()}
    items = [rows[number] for number in numbers if number in rows]
    changes = [Request(*row) for row in connection.execute(_CHANGES, (json.dumps([item.request.id for item in items]),)).fetchall()]
    return [item._replace(changes=tuple(change for change in changes if change.follows == item.request.id)) for item in items]


def _item(row: Sequence[Any]) -> InboxItem:
    *record, bot_id, conversation_id, channel, deliveries, user_id = row
    appointment = appointments_of([tuple(record)])[0] if record[0] is not None else None
    sent = tuple(_delivery(*values) for values in json.loads(deliveries))
    return InboxItem(Request(*record[6:]), appointment, bot_id, conversation_id, channel, sent, user_id)


def _delivery(event: str, state: int, attempted: int, success: int | None, status_code: int | None, error: str | None) -> Delivery:
    if not attempted:
        return Delivery(event, "kept" if state == KEPT else "pending" if state == PENDING else "in_flight", None, None)
    return Delivery(event, "in_flight" if success is None else "delivered" if success else "failed", status_code, error)


@reads
def find(connection: Connection, accounts: Accounts, record_id: str) -> InboxItem | None:
    """Find a request by its id or that of its appointment; None where there is none in the scope."""
    row = connection.execute(
        f"""
        SELECT number FROM requests WHERE (id = ?2 OR number = (SELECT request FROM appointments WHERE id = ?2)) AND {BOT_IN_SCOPE}
        """,
        (listed(accounts), record_id),
    ).fetchone()
    return _items(connection, [row[0]])[0] if row else None


def of_conversation(connection: Connection, conversation: int) -> list[InboxItem]:
    """Read the newest requests of a conversation (its number) within a unit, newest first."""
    rows = connection.execute(
        "SELECT number FROM requests WHERE conversation = ? AND follows IS NULL ORDER BY created_at DESC LIMIT ?",
        (conversation, MAX_OF_CONVERSATION),
    )
    return _items(connection, [number for (number,) in rows.fetchall()])
