"""Queries for the team's own records of conversations: private notes, the assignee, and the last message each operator has seen."""

import json
import uuid
from collections.abc import Sequence
from typing import NamedTuple

from chatsvc.domain.models import Conversation, Note
from chatsvc.store.conversations import COLUMNS, FIND
from chatsvc.store.database import Connection, reads, writes
from chatsvc.store.owners import ACCOUNT_IN_SCOPE, Accounts, listed

NOTES = ", ".join(f"n.{name}" for name in Note._fields)


class TeamRecords(NamedTuple):
    """The assignee's e-mail address, and the notes, oldest first."""

    assignee: str | None
    notes: list[Note]


@writes
def add_note(connection: Connection, accounts: Accounts, conversation_id: str, author: str, text: str, at: int) -> Note | None:
    """Store a note on a conversation. `accounts` is the scope, None for all; returns None where there is none."""
    row = connection.execute(FIND, (listed(accounts), conversation_id)).fetchone()
    if row is None:
        return None
    note = Note(str(uuid.uuid4()), author, text, at)
    connection.execute(
        "INSERT INTO conversation_notes (conversation, id, author, text, created_at) VALUES (?, ?, ?, ?, ?)", (row[-1], *note)
    )
    return note


@writes
def assign(connection: Connection, accounts: Accounts, conversation_id: str, operator_id: str | None) -> Conversation | None:
    """Set the assignee of a conversation, None for nobody. `accounts` is the scope, None for all."""
    row = connection.execute(
        f"UPDATE conversations SET assignee = ?3 WHERE id = ?2 AND {ACCOUNT_IN_SCOPE} RETURNING {COLUMNS}",
        (listed(accounts), conversation_id, operator_id),
    ).fetchone()
    return Conversation(*row) if row else None


@writes
def see(connection: Connection, accounts: Accounts, conversation_id: str, operator_id: str, message: int) -> None:
    """Store that an operator has seen a conversation up to a message (its number)."""
    connection.execute(
        f"""
        INSERT INTO conversation_views (operator_id, conversation, message)
        SELECT CAST(?3 AS TEXT), number, CAST(?4 AS BIGINT) FROM conversations WHERE id = ?2 AND {ACCOUNT_IN_SCOPE}
        ON CONFLICT (operator_id, conversation) DO UPDATE SET message = max(conversation_views.message, excluded.message)
        """,
        (listed(accounts), conversation_id, operator_id, message),
    )


def seen(connection: Connection, conversation: int, operator_id: str) -> int:
    """Return the number of the last message that an operator has seen, within a unit."""
    row = connection.execute(
        "SELECT message FROM conversation_views WHERE operator_id = ? AND conversation = ?", (operator_id, conversation)
    ).fetchone()
    return int(row[0]) if row else 0


def of_conversation(connection: Connection, conversation: int) -> TeamRecords:
    """Read assignee and notes of a conversation (its number) within a unit."""
    row = connection.execute(
        "SELECT o.email FROM conversations c JOIN operators o ON o.id = c.assignee WHERE c.number = ?", (conversation,)
    ).fetchone()
    notes = connection.execute(f"SELECT {NOTES} FROM conversation_notes n WHERE n.conversation = ? ORDER BY n.number", (conversation,))
    return TeamRecords(row[0] if row else None, [Note(*one) for one in notes])


@reads
def read(connection: Connection, accounts: Accounts, conversation_id: str) -> TeamRecords:
    """Read assignee and notes of a conversation of these accounts (None for all)."""
    row = connection.execute(FIND, (listed(accounts), conversation_id)).fetchone()
    return of_conversation(connection, row[-1]) if row else TeamRecords(None, [])


@reads
def notes_of(connection: Connection, conversation_ids: Sequence[str]) -> dict[str, list[Note]]:
    """Read the notes of conversations, by the conversations' ids. Conversations without a note are left out."""
    found: dict[str, list[Note]] = {}
    rows = connection.execute(
        f"""
        SELECT n.number, c.id, {NOTES} FROM json_each(?) page CROSS JOIN conversations c ON c.id = page.value
        CROSS JOIN conversation_notes n ON n.conversation = c.number
        """,
        (json.dumps(list(conversation_ids)),),
    )
    for _, conversation_id, *note in sorted(rows):
        found.setdefault(conversation_id, []).append(Note(*note))
    return found
