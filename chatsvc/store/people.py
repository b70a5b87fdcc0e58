"""Visitors as the team knows them: contact data and a note by conversation, with counts of what they asked for."""

import json
from collections.abc import Sequence
from typing import Any

from chatsvc.domain.models import Conversation, Person
from chatsvc.store.conversations import COLUMNS
from chatsvc.store.database import Connection, reads, writes
from chatsvc.store.owners import ACCOUNT_IN_SCOPE, Accounts, listed

_PEOPLE = """
    SELECT c.number, c.visitor_name, c.visitor_email, c.visitor_phone, c.visitor_note,
        (SELECT count(*) FROM requests r WHERE r.conversation = c.number AND r.follows IS NULL),
        (SELECT count(*) FROM requests r CROSS JOIN appointments a ON a.request = r.number
            WHERE r.conversation = c.number AND r.follows IS NULL), c.account_id
    FROM json_each(?) page CROSS JOIN conversations c ON c.number = CAST(page.value AS BIGINT)
"""
_OF_CONTACTS = """
    SELECT c.number FROM json_each(?4) page CROSS JOIN conversations c ON c.account_id = ?1 AND lower(c.visitor_email) = page.value
    WHERE c.visitor_email IS NOT NULL AND (?2 IS NULL OR c.bot_id = ?2)
    UNION
    SELECT c.number FROM json_each(?5) page CROSS JOIN conversations c ON c.account_id = ?1 AND c.visitor_phone = page.value
    WHERE c.visitor_phone IS NOT NULL AND (?2 IS NULL OR c.bot_id = ?2)
"""


def of_conversations(connection: Connection, numbers: Sequence[int]) -> dict[int, Person]:
    """Read the visitors of conversations (numbers) within a unit."""
    return {number: Person(*row) for number, *row in connection.execute(_PEOPLE, (json.dumps(list(numbers)),)).fetchall()}


read = reads(of_conversations)


@reads
def conversations_of(connection: Connection, people: Sequence[Person], bot_id: str | None, limit: int) -> list[tuple[Conversation, int]]:
    """Read the conversations, with their numbers, that have an e-mail address or telephone number of these people."""
    rows: list[tuple[Any, ...]] = []
    for account_id in {person.account_id for person in people}:
        of_account = [person for person in people if person.account_id == account_id]
        emails = [person.email.lower() for person in of_account if person.email]
        phones = [person.phone for person in of_account if person.phone]
        rows += connection.execute(
            f"SELECT {COLUMNS}, number FROM conversations WHERE number IN ({_OF_CONTACTS}) LIMIT ?3",
            (account_id, bot_id, limit, json.dumps(emails), json.dumps(phones)),
        )
    return [(Conversation(*row[:-1]), row[-1]) for row in rows]


@writes
def put(connection: Connection, accounts: Accounts, conversation_id: str, values: Sequence[str | None]) -> Person | None:
    """Set name, e-mail, phone and note of a conversation's visitor. `accounts` is the scope, None for all; return None if there is none."""
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
