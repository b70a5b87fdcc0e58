"""Lists conversations: the newest, those of a search, those that wait or are in hand, and an operator's own or unread ones.

The work of a search is bounded, however many conversations there are; a page may then be short although more follow. Its order is that
of the conversations' beginnings, by which the index is kept, the newest first; the order of the other lists is that of the last messages.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from chatsvc.domain.hand_off import MINE, MISSED, OPERATOR, WAITING
from chatsvc.domain.hand_off import UNREAD as UNREAD_BY_ME
from chatsvc.domain.models import CHANNELS, Conversation
from chatsvc.domain.search_words import Term
from chatsvc.store.conversations import OF_A_PAGE
from chatsvc.store.database import LAST, Connection, Database
from chatsvc.store.owners import ACCOUNT_IN_SCOPE, ALL_ACCOUNTS, ONE_BOT, SOME_ACCOUNTS, Accounts
from chatsvc.store.search_terms import MATCHES, Owners, candidates, patterns

CHUNKS = (300, 700, 1_500)  # conversations that are compared with a search, step by step
UNREAD_CHUNKS = (100, 400, 1_000)  # conversations among which unread ones are looked for, step by step
# FROM clause of the owners, and the owner's column, by Owners.kind.
_WALKS = {"one": (ONE_BOT, "bot_id = b.id"), "some": (SOME_ACCOUNTS, "account_id = o.id"), "all": (ALL_ACCOUNTS, "account_id = o.id")}
# SELECT of a visitor's messages in conversation `c` that an operator has not seen; `{}` is the operator's id.
UNREAD = """
    SELECT 1 FROM messages m WHERE m.conversation = c.number AND m.role = 'user' AND m.number > coalesce(
        (SELECT v.message FROM conversation_views v WHERE v.operator_id = {} AND v.conversation = c.number), 0)
"""
_UNREAD_BY_2, _UNREAD_BY_5 = UNREAD.format("?2"), UNREAD.format("?5")


class ConversationFilter(NamedTuple):
    """Filters of a list. `bot_id` is one that the caller has looked up in its scope, `status` is one of domain.hand_off.STATUSES.

    operator_id: whose conversations are "mine" or "unread". without_waiting: leave out those that wait for a person.
    """

    bot_id: str | None = None
    channel: str | None = None
    terms: Sequence[Term] = ()
    status: str | None = None
    operator_id: str = ""
    without_waiting: bool = False


class FoundConversations(NamedTuple):
    """Conversations with their numbers, newest first. `next` is the keyset position from which to search on, None at the end."""

    rows: list[tuple[Conversation, int]]
    next: tuple[int, int] | None


class _TermQuery(NamedTuple):
    owners: Owners
    filter: ConversationFilter
    limit: int
    after: tuple[int, int]


async def conversations(
    db: Database, accounts: Accounts, chosen: ConversationFilter, limit: int, after: tuple[int, int] | None = None
) -> FoundConversations:
    """Find conversations of these accounts (None for all) that have all terms. Those behind the keyset position `after`."""
    search = _TermQuery(Owners(accounts, chosen.bot_id), chosen, limit, after or (LAST, LAST))
    return await db.read(lambda connection: _find(connection, search))


def _find(connection: Connection, search: _TermQuery) -> FoundConversations:
    status = search.filter.status
    if status in (WAITING, OPERATOR, MISSED) or (status == MINE and not search.filter.terms):
        found, following = _of_the_team(connection, search)
    elif search.filter.terms:
        found, following = _with_terms(connection, search)
    elif status == UNREAD_BY_ME:
        found, following = _unread(connection, search)
    else:
        found, following = _newest(connection, search)
    return FoundConversations(_records(connection, [number for _, number in found]), following)


_Position = tuple[int, int]


def _with_terms(connection: Connection, search: _TermQuery) -> tuple[list[_Position], _Position | None]:
    """Compare candidates until the page is full or enough were read. Where each term is frequent, these are the newest conversations."""
    likely = candidates(connection, search.owners, search.filter.terms)
    behind, found = search.after[1], list[_Position]()
    for chunk in CHUNKS:
        numbers = _numbers(connection, behind, chunk) if likely is None else [one for one in likely if one < behind][:chunk]
        for at, number in _matching(connection, search, numbers):
            if len(found) == search.limit:
                return found, (0, found[-1][1])
            found.append((at, number))
        if len(numbers) < chunk:
            # On a single page they stand by their last messages.
            return (sorted(found, reverse=True) if search.after == (LAST, LAST) else found), None
        behind = numbers[-1]
    return found, (0, behind)


def _numbers(connection: Connection, behind: int, limit: int) -> list[int]:
    (text,) = connection.execute(
        """
        SELECT json_group_array(page.conversation) FROM (
            SELECT conversation FROM search_documents WHERE conversation < ? ORDER BY conversation DESC LIMIT ?) page
        """,
        (behind, limit),
    ).fetchone()
    return sorted(json.loads(text), reverse=True)


def _matching(connection: Connection, search: _TermQuery, numbers: list[int]) -> list[_Position]:
    """Return the conversations that match, highest number first. Each comes with the time of its last message."""
    chosen = search.filter
    reader, owner = (chosen.operator_id if chosen.status == status else None for status in (UNREAD_BY_ME, MINE))
    (text,) = connection.execute(
        f"""
        SELECT json_group_array(json_array(c.last_message_at, c.number)) FROM json_each(?3) page
        CROSS JOIN search_documents d ON d.conversation = CAST(page.value AS BIGINT) CROSS JOIN conversations c ON c.number = d.conversation
        WHERE {MATCHES} AND (?4 IS NULL OR c.channel = ?4) AND (?2 IS NULL OR c.bot_id = ?2) AND {ACCOUNT_IN_SCOPE}
            AND (?5 IS NULL OR EXISTS ({_UNREAD_BY_5}))
            AND (?6 IS NULL OR c.assignee = ?6 OR (c.handling = 'operator' AND c.operator_id = ?6))
        """,
        (*search.owners.values, json.dumps(numbers), chosen.channel, reader, owner, patterns(chosen.terms)),
    ).fetchone()
    return sorted((tuple(row) for row in json.loads(text)), key=lambda row: -row[1])


# SELECT of the conversations of an index that pass the filters; ?3 is the handling or the operator.
_INDEXED = f"""
    SELECT c.last_message_at, c.number FROM conversations c INDEXED BY {{}}
    LEFT JOIN search_documents d ON d.conversation = c.number
    WHERE {{}} AND {ACCOUNT_IN_SCOPE} AND (?2 IS NULL OR c.bot_id = ?2)
        AND (c.last_message_at, c.number) < (?5, ?6) AND (?8 IS NULL OR c.channel = ?8) AND {MATCHES}
    ORDER BY c.last_message_at DESC, c.number DESC LIMIT ?4
"""
_HANDED_OFF = _INDEXED.format("conversations_handed_off", "c.handling <> 'bot' AND c.handling = ?3")
_MISSED = _INDEXED.format("conversations_missed", "c.missed_at IS NOT NULL AND ?3 IS NOT NULL")
_TAKEN = _INDEXED.format("conversations_handed_off", "c.handling <> 'bot' AND c.handling = 'operator' AND c.operator_id = ?3")
_ASSIGNED = _INDEXED.format("conversations_assigned", "c.assignee IS NOT NULL AND c.assignee = ?3")
_MINE = f"""
    SELECT last_message_at, number FROM (SELECT * FROM ({_ASSIGNED}) page UNION SELECT * FROM ({_TAKEN}) page) page
    ORDER BY last_message_at DESC, number DESC LIMIT ?4
"""


def _of_the_team(connection: Connection, search: _TermQuery) -> tuple[list[_Position], _Position | None]:
    """Read the conversations that wait for a person, have one, or are one operator's. A search is among the first two, which are few."""
    chosen = search.filter
    statement, who = (_MINE, chosen.operator_id) if chosen.status == MINE else (_HANDED_OFF, chosen.status)
    if chosen.status == MISSED:
        statement = _MISSED
    rows = connection.execute(
        statement, (*search.owners.values, who, search.limit + 1, *search.after, patterns(chosen.terms), chosen.channel)
    ).fetchall()
    return rows[: search.limit], rows[search.limit - 1] if len(rows) > search.limit else None


def _unread(connection: Connection, search: _TermQuery) -> tuple[list[_Position], _Position | None]:
    """Walk the newest conversations and keep the unread ones. Ends when the page is full or enough were read."""
    found, after = list[_Position](), search.after
    for chunk in UNREAD_CHUNKS:
        rows, following = _newest(connection, search._replace(limit=chunk, after=after))
        statement = f"""
            SELECT c.number FROM json_each(?1) page CROSS JOIN conversations c ON c.number = CAST(page.value AS BIGINT)
            WHERE EXISTS ({_UNREAD_BY_2})
        """
        numbers = json.dumps([number for _, number in rows])
        unread = {number for (number,) in connection.execute(statement, (numbers, search.filter.operator_id))}
        for row in rows:
            if row[1] not in unread:
                continue
            if len(found) == search.limit:
                return found, found[-1]
            found.append(row)
        if following is None:
            return found, None
        after = rows[-1]
    return found, after


def _newest(connection: Connection, search: _TermQuery) -> tuple[list[_Position], _Position | None]:
    """Read the newest conversations by their last messages."""
    chosen = search.filter
    channels = json.dumps(CHANNELS if chosen.channel is None else [chosen.channel])
    kind = search.owners.kind
    answered = "AND n.handling <> 'waiting'" if chosen.without_waiting else ""
    rows = connection.execute(
        f"""
        SELECT c.last_message_at, c.number FROM {_WALKS[kind][0]} CROSS JOIN json_each(?6) channel
        CROSS JOIN conversations c ON c.number IN (
            SELECT n.number FROM conversations n WHERE n.{_WALKS[kind][1]} AND n.channel = channel.value
                AND (n.last_message_at, n.number) < (?3, ?4) {answered} ORDER BY n.last_message_at DESC, n.number DESC LIMIT ?5)
        ORDER BY c.last_message_at DESC, c.number DESC LIMIT ?5
        """,
        (*search.owners.values, *search.after, search.limit + 1, channels),
    ).fetchall()
    return [tuple(row) for row in rows[: search.limit]], rows[search.limit - 1] if len(rows) > search.limit else None


def _records(connection: Connection, numbers: list[int]) -> list[tuple[Conversation, int]]:
    rows = connection.execute(
        f"SELECT {OF_A_PAGE}, c.number FROM conversations c WHERE c.number IN (SELECT CAST(value AS BIGINT) FROM json_each(?))",
        (json.dumps(numbers),),
    )
    by_number: dict[int, Any] = {row[-1]: row for row in rows}
    return [(Conversation(*by_number[number][:-1]), number) for number in numbers]
