"""Searches in the index of conversations. By the rarest term where it is rare, else along the newest conversations.

Either way the work is bounded, however many conversations there are; a page may then be short although more follow.
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
from chatsvc.store.search_terms import BOTS, ENTRIES, MATCHES, Owners, bounds, patterns, rarest

CHUNKS = (100, 400, 1_000, 1_500)  # conversations read along the way, step by step
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
    else:
        rare = rarest(connection, search.owners, search.terms)
        found, following = _by_term(connection, search, rare) if rare else _along(connection, search)
    return FoundConversations(_records(connection, [number for _, number in found]), following)


_Position = tuple[int, int]


def _by_term(connection: Connection, search: _TermQuery, rare: Term) -> tuple[list[_Position], _Position | None]:
    """Read all conversations with a rare term, and sort those that match."""
    rows = connection.execute(
        f"""
        SELECT c.last_message_at, c.number
        FROM (SELECT DISTINCT w.conversation FROM {BOTS[search.owners.kind]} {ENTRIES}) page
        CROSS JOIN conversations c ON c.number = +page.conversation
        CROSS JOIN search_documents d ON d.conversation = c.number
        WHERE (c.last_message_at, c.number) < (?5, ?6) AND (?8 IS NULL OR c.channel = ?8) AND {MATCHES}
        ORDER BY c.last_message_at DESC, c.number DESC LIMIT ?9
        """,
        (
            *(*search.owners.values, *bounds(rare), *search.after, patterns(search.terms)),
            *(search.channel, search.limit + 1),
        ),
    ).fetchall()
    return rows[: search.limit], rows[search.limit - 1] if len(rows) > search.limit else None


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


def _along(connection: Connection, search: _TermQuery) -> tuple[list[_Position], _Position | None]:
    """Walk the newest conversations and keep those that match. Ends when the page is full or enough were read."""
    found: list[_Position] = []
    after = search.after
    for chunk in CHUNKS:
        room = chunk if search.terms else search.limit + 1
        rows = _walk(connection, search, after, room)
        for at, number, matches in rows:
            if not matches:
                continue
            if len(found) == search.limit:
                return found, found[-1]
            found.append((at, number))
        if len(rows) < room:
            return found, None
        after = rows[-1][0], rows[-1][1]
    return found, after


def _walk(connection: Connection, search: _TermQuery, after: _Position, limit: int) -> list[tuple[int, int, int]]:
    """Read the next conversations by time, each with whether it matches."""
    channels = json.dumps(CHANNELS if search.channel is None else [search.channel])
    # As one text: fetching a row releases the interpreter lock and acquires it again.
    (text,) = connection.execute(
        f"""
        SELECT json_group_array(json_array(page.last_message_at, page.number, {MATCHES})) FROM (
            SELECT c.last_message_at, c.number FROM {_WALKS[search.owners.kind][0]} CROSS JOIN json_each(?6) channel
            CROSS JOIN conversations c ON c.number IN ({_WALKS[search.owners.kind][1]})
            ORDER BY c.last_message_at DESC, c.number DESC LIMIT ?5
        ) page LEFT JOIN search_documents d ON d.conversation = page.number
        """,
        (*search.owners.values, *after, limit, channels, patterns(search.terms)),
    ).fetchone()
    # They come in the order of the subquery, which SQL does not promise.
    return sorted((tuple(row) for row in json.loads(text)), reverse=True)


def _records(connection: Connection, numbers: list[int]) -> list[tuple[Conversation, int]]:
    rows = connection.execute(
        f"SELECT {OF_A_PAGE}, c.number FROM conversations c WHERE c.number IN (SELECT value FROM json_each(?))",
        (json.dumps(numbers),),
    )
    by_number: dict[int, Any] = {row[-1]: row for row in rows}
    return [(Conversation(*by_number[number][:-1]), number) for number in numbers]
