"""Searches in the index of conversations: by the rarest term where it is rare, else along the newest conversations.

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
from chatsvc.store.owners import ALL_ACCOUNTS, ALL_BOTS, ONE_BOT, SOME_ACCOUNTS, SOME_BOTS, Accounts, listed

RARE = 2_000  # entries of a term that are all read
CHUNKS = (100, 400, 1_000, 1_500)  # conversations read along the way, step by step
_HIGHEST = "\U0010ffff"
# Condition on a document `d`: it has all patterns of the JSON array ?7. Without a document nothing matches but an empty array.
_MATCHES = "NOT EXISTS (SELECT 1 FROM json_each(?7) s WHERE coalesce(instr(d.words, s.value), 0) = 0)"
_BOTS = {"one": ONE_BOT, "some": SOME_BOTS, "all": ALL_BOTS}
_WALKS = {"one": (ONE_BOT, OF_BOT), "some": (SOME_ACCOUNTS, OF_ACCOUNT), "all": (ALL_ACCOUNTS, OF_ACCOUNT)}


class ConversationFilter(NamedTuple):
    """Filters of a list; `bot_id` is one that the caller has looked up in its scope."""

    bot_id: str | None = None
    channel: str | None = None
    terms: Sequence[Term] = ()


class FoundConversations(NamedTuple):
    """Conversations with their numbers, newest first; `next` is the keyset position from which to search on, None at the end."""

    rows: list[tuple[Conversation, int]]
    next: tuple[int, int] | None


class _Search(NamedTuple):
    accounts: Accounts
    filter: ConversationFilter
    limit: int
    after: tuple[int, int]

    @property
    def owners(self) -> str:
        """Key of _BOTS and _WALKS."""
        return "one" if self.filter.bot_id is not None else "all" if self.accounts is None else "some"


async def conversations(
    db: Database, accounts: Accounts, chosen: ConversationFilter, limit: int, after: tuple[int, int] | None = None
) -> FoundConversations:
    """Find conversations of these accounts (None for all) that have all terms, behind the keyset position `after`."""
    search = _Search(accounts, chosen, limit, after or (LAST, LAST))
    return await db.read(lambda connection: _find(connection, search))


def _find(connection: Connection, search: _Search) -> FoundConversations:
    counted = [(_count(connection, search, term), term) for term in search.filter.terms]
    count, rarest = min(counted, key=lambda pair: pair[0], default=(RARE + 1, None))
    if rarest is not None and count <= RARE:
        found, following = _by_term(connection, search, rarest)
    else:
        found, following = _along(connection, search)
    return FoundConversations(_records(connection, [number for _, number in found]), following)


def _bounds(term: Term) -> tuple[str, str]:
    return term.word, term.word if term.exact else term.word + _HIGHEST


def _pattern(term: Term) -> str:
    """Text that a document with the term contains: a document is a JSON array of words."""
    quoted = json.dumps(term.word, ensure_ascii=False)
    return quoted if term.exact else quoted[:-1]


def _count(connection: Connection, search: _Search, term: Term) -> int:
    """Count the entries of a term, up to RARE + 1."""
    (count,) = connection.execute(
        f"""
        SELECT count(*) FROM (SELECT 1 FROM {_BOTS[search.owners]}
            CROSS JOIN search_words w ON w.bot = +b.number AND w.word BETWEEN ?3 AND ?4 LIMIT ?5)
        """,
        (listed(search.accounts), search.filter.bot_id, *_bounds(term), RARE + 1),
    ).fetchone()
    return int(count)


_Position = tuple[int, int]


def _by_term(connection: Connection, search: _Search, rarest: Term) -> tuple[list[_Position], _Position | None]:
    """Read all conversations with a rare term, and sort those that match."""
    rows = connection.execute(
        f"""
        SELECT c.last_message_at, c.number
        FROM (SELECT DISTINCT w.conversation FROM {_BOTS[search.owners]}
            CROSS JOIN search_words w ON w.bot = +b.number AND w.word BETWEEN ?3 AND ?4) page
        CROSS JOIN conversations c ON c.number = +page.conversation
        CROSS JOIN search_documents d ON d.conversation = c.number
        WHERE (c.last_message_at, c.number) < (?5, ?6) AND (?8 IS NULL OR c.channel = ?8) AND {_MATCHES}
        ORDER BY c.last_message_at DESC, c.number DESC LIMIT ?9
        """,
        (
            *(listed(search.accounts), search.filter.bot_id, *_bounds(rarest), *search.after, _patterns(search)),
            *(search.filter.channel, search.limit + 1),
        ),
    ).fetchall()
    return rows[: search.limit], rows[search.limit - 1] if len(rows) > search.limit else None


def _along(connection: Connection, search: _Search) -> tuple[list[_Position], _Position | None]:
    """Walk the newest conversations and keep those that match, until the page is full or enough were read."""
    found: list[_Position] = []
    after = search.after
    for chunk in CHUNKS:
        room = chunk if search.filter.terms else search.limit + 1
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


def _walk(connection: Connection, search: _Search, after: _Position, limit: int) -> list[tuple[int, int, int]]:
    """Read the next conversations by time, each with whether it matches."""
    channels = json.dumps(CHANNELS if search.filter.channel is None else [search.filter.channel])
    # As one text: fetching a row releases the interpreter lock and acquires it again.
    (text,) = connection.execute(
        f"""
        SELECT json_group_array(json_array(page.last_message_at, page.number, {_MATCHES})) FROM (
            SELECT c.last_message_at, c.number FROM {_WALKS[search.owners][0]} CROSS JOIN json_each(?6) channel
            CROSS JOIN conversations c ON c.number IN ({_WALKS[search.owners][1]})
            ORDER BY c.last_message_at DESC, c.number DESC LIMIT ?5
        ) page LEFT JOIN search_documents d ON d.conversation = page.number
        """,
        (listed(search.accounts), search.filter.bot_id, *after, limit, channels, _patterns(search)),
    ).fetchone()
    # They come in the order of the subquery, which SQL does not promise.
    return sorted((tuple(row) for row in json.loads(text)), reverse=True)


def _patterns(search: _Search) -> str:
    return json.dumps([_pattern(term) for term in search.filter.terms])


def _records(connection: Connection, numbers: list[int]) -> list[tuple[Conversation, int]]:
    rows = connection.execute(
        f"SELECT {OF_A_PAGE}, c.message_count, c.number FROM conversations c WHERE c.number IN (SELECT value FROM json_each(?))",
        (json.dumps(numbers),),
    )
    by_number: dict[int, Any] = {row[-1]: row for row in rows}
    return [(Conversation(*by_number[number][:-1]), number) for number in numbers]
