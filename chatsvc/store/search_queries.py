"""Lists conversations: the newest, those of a search, those that wait or are in hand, and an operator's own or unread ones.

The work of a search is bounded, however many conversations there are; a page may then be short although more follow. Its order is that
of the conversations' beginnings, by which the index is kept, the newest first; the order of the other lists is that of the last messages.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from chatsvc.domain.hand_off import BACK, KNOWN, MINE, MISSED, OPERATOR, RESOLVED, SNOOZED, WAITING
from chatsvc.domain.hand_off import UNREAD as UNREAD_BY_ME
from chatsvc.domain.models import CHANNELS, Conversation
from chatsvc.domain.search_words import Term
from chatsvc.store.conversations import OF_A_PAGE
from chatsvc.store.database import LAST, Connection, Database
from chatsvc.store.owners import ACCOUNT_IN_SCOPE, ALL_ACCOUNTS, ONE_BOT, SOME_ACCOUNTS, Accounts
from chatsvc.store.search_terms import MATCHES, Owners, candidates, patterns

CHUNKS = (300, 700, 1_500)  # conversations that are compared with a search, step by step
WALKED = (100, 400, 1_000)  # newest conversations among which open, unread or labelled ones are looked for, step by step
# FROM clause of the owners, and the owner's column, by Owners.kind.
_WALKS = {"one": (ONE_BOT, "bot_id = b.id"), "some": (SOME_ACCOUNTS, "account_id = o.id"), "all": (ALL_ACCOUNTS, "account_id = o.id")}
# SELECT of a visitor's messages in conversation `c` that an operator has not seen; `{}` is the operator's id.
UNREAD = """
    SELECT 1 FROM messages m WHERE m.conversation = c.number AND m.role = 'user' AND m.number > coalesce(
        (SELECT v.message FROM conversation_views v WHERE v.operator_id = {} AND v.conversation = c.number), 0)
"""
_UNREAD_BY_2, _UNREAD_BY_5 = UNREAD.format("?2"), UNREAD.format("?5")
# Conditions on a conversation `c`: see domain.hand_off.set_aside. `{}` is the label, or NULL.
_OPEN = "coalesce(c.set_aside_at, 0) < c.last_message_at"
_BACK = "c.set_aside_at IS NULL AND coalesce(c.set_aside_until, 0) > c.last_message_at"
_RESOLVED = f"c.set_aside_until IS NULL AND NOT ({_OPEN})"
_IS_KNOWN = "(c.visitor_name IS NOT NULL OR c.visitor_email IS NOT NULL OR c.visitor_phone IS NOT NULL)"
_ASIDE = {KNOWN: _IS_KNOWN, RESOLVED: _RESOLVED, SNOOZED: f"c.set_aside_until IS NOT NULL AND NOT ({_OPEN})", None: "true"}
_HAS_LABEL = "({0} IS NULL OR EXISTS (SELECT 1 FROM json_each(c.labels) label WHERE label.value = {0}))"
_HAS_LABEL_3, _HAS_LABEL_8 = _HAS_LABEL.format("?3"), _HAS_LABEL.format("?8")
_ORDERS = {False: {"beyond": "<", "order": "DESC"}, True: {"beyond": ">", "order": "ASC"}}


class ConversationFilter(NamedTuple):
    """Filters of a list. `bot_id` is one that the caller has looked up in its scope, `status` is one of domain.hand_off.STATUSES.

    operator_id: whose conversations are "mine" or "unread". open_only: leave out those that are set aside. without_first: leave out
    those that wait for a person or are back from a while. oldest_first: not for a search.
    """

    bot_id: str | None = None
    channel: str | None = None
    terms: Sequence[Term] = ()
    status: str | None = None
    operator_id: str = ""
    label: str | None = None
    open_only: bool = False
    without_first: bool = False
    oldest_first: bool = False


class FoundConversations(NamedTuple):
    """Conversations with their numbers, in order. `next` is the keyset position from which to search on, None at the end."""

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
    search = _TermQuery(Owners(accounts, chosen.bot_id), chosen, limit, after or ((-1, -1) if chosen.oldest_first else (LAST, LAST)))
    return await db.read(lambda connection: _find(connection, search))


def _find(connection: Connection, search: _TermQuery) -> FoundConversations:
    chosen = search.filter
    if chosen.status in _FEW or (chosen.status == MINE and not chosen.terms):
        positions, following = _of_the_team(connection, search)
    elif not chosen.terms and (chosen.status in (SNOOZED, BACK, RESOLVED, KNOWN) or (chosen.label and chosen.status is None)):
        positions, following = _of_accounts(connection, search)
    elif chosen.terms:
        positions, following = _with_terms(connection, search)
    elif chosen.status == UNREAD_BY_ME or chosen.open_only or chosen.without_first:
        positions, following = _walk(connection, search)
    else:
        positions, following = _newest(connection, search)
    return FoundConversations(_records(connection, [number for _, number in positions]), following)


_Position = tuple[int, int]


def _with_terms(connection: Connection, search: _TermQuery) -> tuple[list[_Position], _Position | None]:
    """Compare candidates until the page is full or enough were read. Where each term is frequent, these are the newest conversations."""
    likely = candidates(connection, search.owners, search.filter.terms)
    behind, positions = search.after[1], list[_Position]()
    for chunk in CHUNKS:
        numbers = (
            _numbers(connection, behind, chunk) if likely is None else [candidate for candidate in likely if candidate < behind][:chunk]
        )
        for last_at, number in _matching(connection, search, numbers):
            if len(positions) == search.limit:
                return positions, (0, positions[-1][1])
            positions.append((last_at, number))
        if len(numbers) < chunk:
            # On a single page they stand by their last messages.
            return (sorted(positions, reverse=True) if search.after == (LAST, LAST) else positions), None
        behind = numbers[-1]
    return positions, (0, behind)


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
            AND {_HAS_LABEL_8} AND {_ASIDE[chosen.status if chosen.status in _ASIDE else None]}
        """,
        (*search.owners.values, json.dumps(numbers), chosen.channel, reader, owner, patterns(chosen.terms), chosen.label),
    ).fetchone()
    return sorted((tuple(row) for row in json.loads(text)), key=lambda row: -row[1])


# SELECT of the conversations of an index that pass the filters; ?3 is the handling or the operator.
_INDEXED = f"""
    SELECT c.last_message_at, c.number FROM conversations c INDEXED BY {{index}}
    LEFT JOIN search_documents d ON d.conversation = c.number
    WHERE {{condition}} AND {ACCOUNT_IN_SCOPE} AND (?2 IS NULL OR c.bot_id = ?2) AND (?10 = 0 OR {_OPEN})
        AND (c.last_message_at, c.number) {{beyond}} (?5, ?6) AND (?8 IS NULL OR c.channel = ?8) AND {_HAS_LABEL.format("?9")} AND {MATCHES}
    ORDER BY c.last_message_at {{order}}, c.number {{order}} LIMIT ?4
"""
_HANDED_OFF = {"index": "conversations_handed_off", "condition": "c.handling <> 'bot' AND c.handling = ?3"}
_MISSED = {"index": "conversations_missed", "condition": "c.missed_at IS NOT NULL AND ?3 IS NOT NULL"}
_MINE = (
    {"index": "conversations_assigned", "condition": "c.assignee IS NOT NULL AND c.assignee = ?3"},
    {"index": "conversations_handed_off", "condition": "c.handling <> 'bot' AND c.handling = 'operator' AND c.operator_id = ?3"},
)
_FEW = (WAITING, OPERATOR, MISSED)  # a search is among them
# Statements by status and by whether the oldest come first.
_OF_THE_TEAM = {
    (status, oldest): _INDEXED.format(**source, **order)
    for status, source in ((WAITING, _HANDED_OFF), (OPERATOR, _HANDED_OFF), (MISSED, _MISSED))
    for oldest, order in _ORDERS.items()
} | {
    (MINE, oldest): "SELECT last_message_at, number FROM ({pages}) page ORDER BY last_message_at {order}, number {order} LIMIT ?4".format(
        pages=" UNION ".join(f"SELECT * FROM ({_INDEXED.format(**source, **order)}) page" for source in _MINE), **order
    )
    for oldest, order in _ORDERS.items()
}
# SELECT of the conversations of an index that begins with the account; ?3 is the label.
_OF_ACCOUNTS = f"""
    SELECT page.last_message_at, page.number FROM {{owners}} CROSS JOIN conversations page ON page.number IN (
        SELECT c.number FROM conversations c INDEXED BY {{index}}
        WHERE {{condition}} AND c.account_id = o.id AND (?2 IS NULL OR c.bot_id = ?2) AND (?7 IS NULL OR c.channel = ?7)
            AND (c.last_message_at, c.number) {{beyond}} (?5, ?6) AND {_HAS_LABEL_3}
        ORDER BY c.last_message_at {{order}}, c.number {{order}} LIMIT ?4)
    ORDER BY page.last_message_at {{order}}, page.number {{order}} LIMIT ?4
"""
_INDEXES = {
    SNOOZED: {"index": "conversations_snoozed", "condition": _ASIDE[SNOOZED]},
    BACK: {"index": "conversations_snoozed", "condition": f"c.set_aside_until IS NOT NULL AND {_BACK} AND c.handling <> 'waiting'"},
    RESOLVED: {"index": "conversations_set_aside", "condition": f"c.set_aside_at IS NOT NULL AND {_RESOLVED}"},
    KNOWN: {"index": "conversations_known", "condition": _IS_KNOWN},
    None: {"index": "conversations_labelled", "condition": "c.labels IS NOT NULL"},
}
# Statements by status, by whether the oldest come first, and by whether they are of all accounts.
_SET_ASIDE = {
    (status, oldest, is_all): _OF_ACCOUNTS.format(owners=ALL_ACCOUNTS if is_all else SOME_ACCOUNTS, **source, **order)
    for status, source in _INDEXES.items()
    for oldest, order in _ORDERS.items()
    for is_all in (False, True)
}


def _of_the_team(connection: Connection, search: _TermQuery) -> tuple[list[_Position], _Position | None]:
    """Read the conversations that wait for a person, have one, are missed, or are one operator's."""
    chosen = search.filter
    who = chosen.operator_id if chosen.status == MINE else chosen.status
    values = (who, search.limit + 1, *search.after, patterns(chosen.terms), chosen.channel, chosen.label, int(chosen.open_only))
    key = (chosen.status or "", chosen.oldest_first)
    return _cut(connection.execute(_OF_THE_TEAM[key], (*search.owners.values, *values)).fetchall(), search.limit)


def _of_accounts(connection: Connection, search: _TermQuery) -> tuple[list[_Position], _Position | None]:
    """Read the conversations that are set aside, back from a while, or labelled."""
    chosen = search.filter
    values = (chosen.label, search.limit + 1, *search.after, chosen.channel)
    key = (chosen.status, chosen.oldest_first, search.owners.accounts is None)
    return _cut(connection.execute(_SET_ASIDE[key], (*search.owners.values, *values)).fetchall(), search.limit)


def _cut(rows: list[_Position], limit: int) -> tuple[list[_Position], _Position | None]:
    return rows[:limit], rows[limit - 1] if len(rows) > limit else None


def _walk(connection: Connection, search: _TermQuery) -> tuple[list[_Position], _Position | None]:
    """Walk the newest conversations and keep those that pass the filters. Ends when the page is full or enough were read."""
    chosen = search.filter
    unread = f"EXISTS ({_UNREAD_BY_2})" if chosen.status == UNREAD_BY_ME else "?2 IS NOT NULL"
    is_open = f"({_OPEN})" if chosen.open_only else "true"
    is_other = f"c.handling <> 'waiting' AND NOT ({_BACK})" if chosen.without_first else "true"
    statement = f"""
        SELECT c.number FROM json_each(?1) page CROSS JOIN conversations c ON c.number = CAST(page.value AS BIGINT)
        WHERE {_HAS_LABEL_3} AND {unread} AND {is_open} AND {is_other}
    """
    positions, after = list[_Position](), search.after
    for chunk in WALKED:
        rows, following = _newest(connection, search._replace(limit=chunk, after=after))
        numbers = json.dumps([number for _, number in rows])
        wanted_numbers = {number for (number,) in connection.execute(statement, (numbers, chosen.operator_id, chosen.label))}
        for row in rows:
            if row[1] not in wanted_numbers:
                continue
            if len(positions) == search.limit:
                return positions, positions[-1]
            positions.append(row)
        if following is None:
            return positions, None
        after = rows[-1]
    return positions, after


def _newest(connection: Connection, search: _TermQuery) -> tuple[list[_Position], _Position | None]:
    """Read the newest conversations by their last messages, or the oldest."""
    chosen = search.filter
    beyond, direction = (">", "ASC") if chosen.oldest_first else ("<", "DESC")
    channels = json.dumps(CHANNELS if chosen.channel is None else [chosen.channel])
    kind = search.owners.kind
    rows = connection.execute(
        f"""
        SELECT c.last_message_at, c.number FROM {_WALKS[kind][0]} CROSS JOIN json_each(?6) channel
        CROSS JOIN conversations c ON c.number IN (
            SELECT n.number FROM conversations n WHERE n.{_WALKS[kind][1]} AND n.channel = channel.value
                AND (n.last_message_at, n.number) {beyond} (?3, ?4)
                ORDER BY n.last_message_at {direction}, n.number {direction} LIMIT ?5)
        ORDER BY c.last_message_at {direction}, c.number {direction} LIMIT ?5
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
