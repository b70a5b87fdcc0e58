"""Lists conversations: the newest, those of a search, and those waiting for a person.

The last list has those that a person handles as well.

The work of a search is bounded, however many conversations there are; a page may then be short although more follow. Its order is that
of the conversations' beginnings, by which the index is kept, the newest first; the order of the other lists is that of the last messages.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from chatsvc.domain.models import CHANNELS, Conversation
from chatsvc.domain.search_words import Term
from chatsvc.store.conversations import LAST, OF_A_PAGE, OF_ACCOUNT, OF_BOT
from chatsvc.store.database import Connection, Database
from chatsvc.store.owners import ACCOUNT_IN_SCOPE, ALL_ACCOUNTS, ONE_BOT, SOME_ACCOUNTS, Accounts
from chatsvc.store.search_terms import MATCHES, Owners, candidates, patterns

CHUNKS = (300, 700, 1_500)  # conversations that are compared with a search, step by step
# FROM clause of the owners, and the first conversations of each, by Owners.kind.
_WALKS = {"one": (ONE_BOT, OF_BOT), "some": (SOME_ACCOUNTS, OF_ACCOUNT), "all": (ALL_ACCOUNTS, OF_ACCOUNT)}


class ConversationFilter(NamedTuple):
    """Filters of a list. `bot_id` is one that the caller has looked up in its scope, `handling` is "waiting" or "operator"."""

    bot_id: str | None = None
    channel: str | None = None
    terms: Sequence[Term] = ()
    handling: str | None = None


class FoundConversations(NamedTuple):
    """Conversations with their numbers, newest first. `next` is the keyset position from which to search on, None at the end."""

    rows: list[tuple[Conversation, int]]
    next: tuple[int, int] | None


class _TermQuery(NamedTuple):
    owners: Owners
    channel: str | None
    terms: Sequence[Term]
    handling: str | None
    limit: int
    after: tuple[int, int]


async def conversations(
    db: Database, accounts: Accounts, chosen: ConversationFilter, limit: int, after: tuple[int, int] | None = None
) -> FoundConversations:
    """Find conversations of these accounts (None for all) that have all terms. Those behind the keyset position `after`."""
    search = _TermQuery(Owners(accounts, chosen.bot_id), chosen.channel, chosen.terms, chosen.handling, limit, after or (LAST, LAST))
    return await db.read(lambda connection: _find(connection, search))


def _find(connection: Connection, search: _TermQuery) -> FoundConversations:
    if search.handling is not None:
        found, following = _handed_off(connection, search)
    elif search.terms:
        found, following = _with_terms(connection, search)
    else:
        found, following = _newest(connection, search)
    return FoundConversations(_records(connection, [number for _, number in found]), following)


_Position = tuple[int, int]


def _with_terms(connection: Connection, search: _TermQuery) -> tuple[list[_Position], _Position | None]:
    """Compare candidates until the page is full or enough were read. Where each term is frequent, these are the newest conversations."""
    likely = candidates(connection, search.owners, search.terms)
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
    (text,) = connection.execute(
        f"""
        SELECT json_group_array(json_array(c.last_message_at, c.number)) FROM json_each(?3) page
        CROSS JOIN search_documents d ON d.conversation = CAST(page.value AS BIGINT) CROSS JOIN conversations c ON c.number = d.conversation
        WHERE {MATCHES} AND (?4 IS NULL OR c.channel = ?4) AND (?2 IS NULL OR c.bot_id = ?2) AND {ACCOUNT_IN_SCOPE}
        """,
        (*search.owners.values, json.dumps(numbers), search.channel, None, None, patterns(search.terms)),
    ).fetchone()
    return sorted((tuple(row) for row in json.loads(text)), key=lambda row: -row[1])


def _handed_off(connection: Connection, search: _TermQuery) -> tuple[list[_Position], _Position | None]:
    """Read the conversations that wait for a person or have one. There are never many."""
    rows = connection.execute(
        f"""
        SELECT c.last_message_at, c.number FROM conversations c INDEXED BY conversations_handed_off
        LEFT JOIN search_documents d ON d.conversation = c.number
        WHERE c.handling <> 'bot' AND c.handling = ?3 AND {ACCOUNT_IN_SCOPE} AND (?2 IS NULL OR c.bot_id = ?2)
            AND (c.last_message_at, c.number) < (?5, ?6) AND (?8 IS NULL OR c.channel = ?8) AND {MATCHES}
        ORDER BY c.last_message_at DESC, c.number DESC LIMIT ?4
        """,
        (*search.owners.values, search.handling, search.limit + 1, *search.after, patterns(search.terms), search.channel),
    ).fetchall()
    return rows[: search.limit], rows[search.limit - 1] if len(rows) > search.limit else None


def _newest(connection: Connection, search: _TermQuery) -> tuple[list[_Position], _Position | None]:
    """Read the newest conversations by their last messages."""
    channels = json.dumps(CHANNELS if search.channel is None else [search.channel])
    rows = connection.execute(
        f"""
        SELECT c.last_message_at, c.number FROM {_WALKS[search.owners.kind][0]} CROSS JOIN json_each(?6) channel
        CROSS JOIN conversations c ON c.number IN ({_WALKS[search.owners.kind][1]})
        ORDER BY c.last_message_at DESC, c.number DESC LIMIT ?5
        """,
        (*search.owners.values, *search.after, search.limit + 1, channels),
    ).fetchall()
    return rows[: search.limit], rows[search.limit - 1] if len(rows) > search.limit else None


def _records(connection: Connection, numbers: list[int]) -> list[tuple[Conversation, int]]:
    rows = connection.execute(
        f"SELECT {OF_A_PAGE}, c.number FROM conversations c WHERE c.number IN (SELECT CAST(value AS BIGINT) FROM json_each(?))",
        (json.dumps(numbers),),
    )
    by_number: dict[int, Any] = {row[-1]: row for row in rows}
    return [(Conversation(*by_number[number][:-1]), number) for number in numbers]
