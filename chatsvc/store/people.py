"""Visitors as the team knows them: contact data and a note by conversation, with counts of what they asked for."""

import json
from collections.abc import Sequence

from chatsvc.domain.models import Person
from chatsvc.store.database import Connection, reads, writes
from chatsvc.store.owners import ACCOUNT_IN_SCOPE, Accounts, listed

_PEOPLE = """
    SELECT c.number, c.visitor_name, c.visitor_email, c.visitor_phone, c.visitor_note,
        (SELECT count(*) FROM requests r WHERE r.conversation = c.number AND r.follows IS NULL),
        (SELECT count(*) FROM requests r CROSS JOIN appointments a ON a.request = r.number
            WHERE r.conversation = c.number AND r.follows IS NULL), c.account_id
    FROM json_each(?) page CROSS JOIN conversations c ON c.number = CAST(page.value AS BIGINT)
"""


def of_conversations(connection: Connection, numbers: Sequence[int]) -> dict[int, Person]:
    """Read the visitors of conversations (numbers) within a unit."""
    return {number: Person(*row) for number, *row in connection.execute(_PEOPLE, (json.dumps(list(numbers)),)).fetchall()}


read = reads(of_conversations)


@writes
def put(connection: Connection, accounts: Accounts, conversation_id: str, values: Sequence[str | None]) -> Person | None:
    """Set name, e-mail, phone and note of a conversation's visitor. `accounts` is the scope, None for all; None where there is none."""
    row = connection.execute(
        f"""
        UPDATE conversations SET visitor_name = ?3, visitor_email = ?4, visitor_phone = ?5, visitor_note = ?6
        WHERE id = ?2 AND {ACCOUNT_IN_SCOPE} RETURNING number
        """,
        (listed(accounts), conversation_id, *values),
    ).fetchone()
    if row is None:
        return None
    return of_conversations(connection, [row[0]])[row[0]]
