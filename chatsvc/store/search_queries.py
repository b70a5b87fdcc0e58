"""Lists conversations with filters and words, in the order of the last messages.

A search reads the conversations themselves. Its work is bounded: a page may be short although more follow.
"""

import json
from collections.abc import Sequence
from itertools import repeat
from typing import Any, NamedTuple

from chatsvc.domain import paging
from chatsvc.domain.models import BACK, CHANNELS, KNOWN, MINE, MISSED, OPERATOR, RESOLVED, SNOOZED, UNREAD, WAITING, Conversation
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.search_words import Matcher, Term
from chatsvc.store.conversations import OF_A_PAGE
from chatsvc.store.database import LAST, Connection, reads
from chatsvc.store.owners import ACCOUNT_IN_SCOPE, ALL_ACCOUNTS, ALL_BOTS, ONE_BOT, SOME_ACCOUNTS, SOME_BOTS, Accounts, listed

STEPS = (100, 150, *repeat(250, 51))  # conversations that are read and filtered, step by step
MOST_READ = 12_000_000  # characters that a search reads: more than 100,000 messages have
FOLDING = 10  # how much longer it takes to fold a text than to search it
MESSAGES, LETTERS = 500, 100_000  # of a conversation's newest messages, among which a search looks

# SELECT of a visitor's messages in conversation `c` that an operator has not seen; `{}` is the operator's id.
UNREAD_MESSAGES = """
    SELECT 1 FROM messages m WHERE m.conversation = c.number AND m.role = 'user' AND m.number > coalesce(
        (SELECT v.message FROM conversation_views v WHERE v.operator_id = {} AND v.conversation = c.number), 0)
"""
# In all statements ?1 is the scope, ?2 the bot, ?3 the operator, ?4 the label and ?5 the user_id. In those that list, ?6 are the channels,
# ?7 and ?8 the position, and ?9 is the limit. For _OPEN and _BACK see domain.models.set_aside.
_OPEN = "coalesce(c.set_aside_at, 0) < c.last_message_at"
_BACK = "c.set_aside_at IS NULL AND coalesce(c.set_aside_until, 0) > c.last_message_at"
_ASSIGNED = "c.assignee IS NOT NULL AND c.assignee = ?3"
_TAKEN = "c.handling <> 'bot' AND c.handling = 'operator' AND c.operator_id = ?3"
_CONDITIONS: dict[str | None, str] = {
    None: "true",
    WAITING: "c.handling <> 'bot' AND c.handling = 'waiting'",
    OPERATOR: "c.handling <> 'bot' AND c.handling = 'operator'",
    MISSED: "c.missed_at IS NOT NULL",
    MINE: f"({_ASSIGNED} OR {_TAKEN})",
    UNREAD: f"EXISTS ({UNREAD_MESSAGES.format('?3')})",
    SNOOZED: f"c.set_aside_until IS NOT NULL AND NOT ({_OPEN})",
    BACK: f"c.set_aside_until IS NOT NULL AND {_BACK} AND c.handling <> 'waiting'",
    RESOLVED: f"c.set_aside_at IS NOT NULL AND c.set_aside_until IS NULL AND NOT ({_OPEN})",
    KNOWN: "(c.visitor_name IS NOT NULL OR c.visitor_email IS NOT NULL OR c.visitor_phone IS NOT NULL)",
}
_LABELLED = "c.labels IS NOT NULL AND EXISTS (SELECT 1 FROM json_each(c.labels) label WHERE label.value = ?4)"
_CHOSEN = "(?2 IS NULL OR c.bot_id = ?2) AND c.channel IN (SELECT value FROM json_each(?6))"
_IN_ORDER = "ORDER BY c.last_message_at {order}, c.number {order} LIMIT ?9"
_BEHIND = f"(c.last_message_at, c.number) {{beyond}} (?7, ?8) {_IN_ORDER}"
_CHANNELS = "CROSS JOIN json_each(?6) channel"


def _of_the_team(index: str, condition: str) -> str:
    """Make a query of conversations by an index that contains only a few conversations of each account."""
    return f"""
        SELECT c.last_message_at, c.number FROM conversations c INDEXED BY conversations_{index}
        WHERE {condition} AND {ACCOUNT_IN_SCOPE} AND {_CHOSEN} AND {_BEHIND}
    """


def _of_owners(owners: str, condition: str, index: str = "") -> str:
    """Make a query of the first conversations of each owner."""
    return f"""
        SELECT c.last_message_at, c.number FROM {owners} CROSS JOIN conversations c ON c.number IN (
            SELECT c.number FROM conversations c{index} WHERE {condition} AND {_BEHIND}) {_IN_ORDER}
    """


def _of_accounts(accounts: str, index: str, condition: str) -> str:
    """Make a query of the first conversations of each account by an index."""
    return _of_owners(accounts, f"{condition} AND c.account_id = o.id AND {_CHOSEN}", f" INDEXED BY conversations_{index}")


_ITS_ACCOUNT = "(SELECT account_id AS id FROM bots WHERE id = ?2) o"
_MINE = f"""
    SELECT * FROM (SELECT * FROM ({_of_the_team("assigned", _ASSIGNED)}) page UNION
        SELECT * FROM ({_of_the_team("handed_off", _TAKEN)}) page) page {_IN_ORDER.replace("c.", "page.")}
"""
# Statements by what they list (a status, those with a label, a user's, or all) and by the scope.
_USER, _LABEL, _ALL = "user", "label", "all"
_LISTS = {
    (kind, scope): statement
    for scope, accounts, bots in (("one", _ITS_ACCOUNT, ONE_BOT), ("some", SOME_ACCOUNTS, SOME_BOTS), ("all", ALL_ACCOUNTS, ALL_BOTS))
    for kind, statement in {
        WAITING: _of_the_team("handed_off", _CONDITIONS[WAITING]),
        OPERATOR: _of_the_team("handed_off", _CONDITIONS[OPERATOR]),
        MISSED: _of_the_team("missed", _CONDITIONS[MISSED]),
        MINE: _MINE,
        SNOOZED: _of_accounts(accounts, "snoozed", _CONDITIONS[SNOOZED]),
        BACK: _of_accounts(accounts, "snoozed", _CONDITIONS[BACK]),
        RESOLVED: _of_accounts(accounts, "set_aside", _CONDITIONS[RESOLVED]),
        KNOWN: _of_accounts(accounts, "known", _CONDITIONS[KNOWN]),
        _LABEL: _of_accounts(accounts, "labelled", _LABELLED),
        _USER: _of_owners(f"{bots} {_CHANNELS}", "c.bot_id = b.id AND c.channel = channel.value AND c.user_id = ?5"),
        _ALL: _of_owners(f"{bots} {_CHANNELS}", "c.bot_id = b.id AND c.channel = channel.value")
        if scope == "one"
        else _of_owners(f"{accounts} {_CHANNELS}", "c.account_id = o.id AND c.channel = channel.value"),
    }.items()
}
_STATEMENTS = {
    (*key, is_oldest): statement.format(beyond=beyond, order=order)
    for key, statement in _LISTS.items()
    for is_oldest, beyond, order in ((False, "<", "DESC"), (True, ">", "ASC"))
}
# What a search looks at in a conversation: the visitor, the newest messages, and what was captured.
_TEXT = f"""
    c.user_id || '\n' || coalesce(c.visitor_name, '') || '\n' || coalesce(c.visitor_email, '') || '\n' || coalesce(c.visitor_phone, '')
    || coalesce((SELECT '\n' || group_concat(a.value, '\n') FROM whatsapp_addresses a WHERE a.conversation = c.number), '')
    || coalesce((SELECT '\n' || group_concat(r.message || '\n' || coalesce(r.visitor_name, '') || '\n' || coalesce(r.visitor_email, '')
        || '\n' || coalesce(r.visitor_phone, ''), '\n') FROM requests r WHERE r.conversation = c.number), '')
    || coalesce((SELECT '\n' || substr(group_concat(page.content, '\n'), 1, {LETTERS}) FROM (
        SELECT content FROM messages WHERE conversation = c.number ORDER BY number DESC LIMIT {MESSAGES}) page), '')
"""


# Statements for the texts of those among some conversations that pass the filters, by status and by whether their texts are needed. ?6 are
# their numbers; ?7, ?8 and ?9 say whether they are open, are not first in the list, and have a request.
_ROWS = {
    (status, has_text): f"""
        SELECT c.number, {_TEXT if has_text else "''"} FROM json_each(?6) page
        CROSS JOIN conversations c ON c.number = CAST(page.value AS BIGINT)
        WHERE {condition} AND (?4 IS NULL OR {_LABELLED}) AND (?7 = 0 OR {_OPEN})
            AND (?8 = 0 OR c.handling <> 'waiting' AND NOT ({_BACK}))
            AND (?9 = 0 OR EXISTS (SELECT 1 FROM requests r WHERE r.conversation = c.number))
    """
    for status, condition in _CONDITIONS.items()
    for has_text in (False, True)
}


class ConversationFilter(NamedTuple):
    """Filters of a list of conversations. The caller has looked up `bot_id` in its scope; `status` is one of domain.models.STATUSES.

    `operator_id` is the operator for "mine" and "unread". `open_only` leaves out conversations that are set aside. `without_first` leaves
    out those that wait for a person or whose snooze has ended. `user_id` selects one visitor. `captured` selects those with a request.
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
    user_id: str | None = None
    captured: bool = False


@reads
def conversations(
    connection: Connection, accounts: Accounts, chosen: ConversationFilter, limit: int, after: str | None = None
) -> ResultPage[tuple[Conversation, int]]:
    """Find conversations of these accounts (None for all) that pass the filters. Return a page of them with their numbers.

    `after` is the position of the previous page.
    """
    by_index = chosen.user_id is None and chosen.status != UNREAD
    kind = (chosen.status or (_LABEL if chosen.label else _ALL)) if by_index else _ALL if chosen.user_id is None else _USER
    flags = chosen.open_only, chosen.without_first, chosen.captured
    is_filtered = any((chosen.terms, not by_index, chosen.label and kind != _LABEL, *flags))
    scope = "one" if chosen.bot_id is not None else "all" if accounts is None else "some"
    statement = _STATEMENTS[kind, scope, chosen.oldest_first]
    rows_statement = _ROWS[None if by_index else chosen.status, bool(chosen.terms)]
    values = listed(accounts), chosen.bot_id, chosen.operator_id, chosen.label, chosen.user_id
    channels = json.dumps(CHANNELS if chosen.channel is None else [chosen.channel])
    position = paging.parsed(after, paging.number, paging.number) or ((-1, -1) if chosen.oldest_first else (LAST, LAST))
    matcher, positions, room = Matcher(chosen.terms), list[tuple[int, int]](), MOST_READ
    for step in STEPS if is_filtered else (limit + 1,):
        rows = connection.execute(statement, (*values, channels, *position, step)).fetchall()
        texts: dict[int, str] = dict.fromkeys((number for _, number in rows), "")
        if is_filtered:
            texts = dict(connection.execute(rows_statement, (*values, json.dumps(list(texts)), *flags)).fetchall())
        for row in rows:
            text = texts.get(row[1], "")
            is_likely = row[1] in texts and matcher.may_match(text)
            room -= len(text) * (FOLDING if is_likely else 1)
            if not is_likely or not matcher.matches(text):
                continue
            if len(positions) == limit:
                return ResultPage(_records(connection, positions), paging.position(*positions[-1]))
            positions.append(row)
        if len(rows) < step:
            return ResultPage(_records(connection, positions), None)
        position = rows[-1]
        if room <= 0:
            break
    return ResultPage(_records(connection, positions), paging.position(*position))


def _records(connection: Connection, positions: list[tuple[int, int]]) -> list[tuple[Conversation, int]]:
    numbers = [number for _, number in positions]
    rows = connection.execute(
        f"SELECT {OF_A_PAGE}, c.number FROM conversations c WHERE c.number IN (SELECT CAST(value AS BIGINT) FROM json_each(?))",
        (json.dumps(numbers),),
    )
    by_number: dict[int, Any] = {row[-1]: row for row in rows}
    return [(Conversation(*by_number[number][:-1]), number) for number in numbers]
