"""Reads what a row of the team's list shows of each conversation: its last words, unread messages and assignee."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from chatsvc.store.database import Connection, reads
from chatsvc.store.search_queries import UNREAD

MOST_UNREAD = 100  # counted of a conversation
_PREVIEW = 160  # characters

_ROWS = f"""
    SELECT c.number, (SELECT coalesce(o.name, o.email) FROM operators o WHERE o.id = c.assignee),
        (SELECT count(*) FROM ({UNREAD.format("?2")} LIMIT {MOST_UNREAD}) page),
        (SELECT json_array(m.role, substr(m.content, 1, {_PREVIEW})) FROM messages m WHERE m.conversation = c.number
            ORDER BY m.number DESC LIMIT 1)
    FROM json_each(?1) page CROSS JOIN conversations c ON c.number = CAST(page.value AS BIGINT)
"""


class RowDetails(NamedTuple):
    """Details of a row. `role` and `words` are those of the last message, empty without one; `unread` is at most MOST_UNREAD."""

    assignee: str | None
    unread: int
    role: str
    words: str


@reads
def details(connection: Connection, numbers: Sequence[int], operator_id: str) -> dict[int, RowDetails]:
    """Read the details of conversations (numbers) as an operator sees them."""
    rows = connection.execute(_ROWS, (json.dumps(list(numbers)), operator_id)).fetchall()
    return {number: RowDetails(assignee, unread, *_said(last)) for number, assignee, unread, last in rows}


def _said(last: object) -> tuple[str, str]:
    """Return role and words of the last message. The drivers give JSON as text or as a list."""
    role, words = json.loads(last) if isinstance(last, str) else last or ("", "")  # type: ignore[misc]
    return role, words
