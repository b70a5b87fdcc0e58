"""Queries for the team's own records of conversations and visitors, and its saved replies.

Those of a conversation are notes, assignee, labels, what is set aside and seen; those of a visitor contact data and a note.
"""

import json
import uuid
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from chatsvc.domain import hand_off
from chatsvc.domain.models import Conversation, Note, Person, SavedReply
from chatsvc.store.conversations import COLUMNS, FIND
from chatsvc.store.database import Connection, Database, change_any, reads, writes
from chatsvc.store.owners import ACCOUNT_IN_SCOPE, Accounts, listed

NOTES = ", ".join(f"n.{name}" for name in Note._fields)


class TeamRecords(NamedTuple):
    """The assignee's e-mail address, the notes, oldest first, and the labels.

    aside: SNOOZED, RESOLVED or BACK, None for an open conversation. until: when a while ends or has ended.
    """

    assignee: str | None
    notes: list[Note]
    labels: Sequence[str] = ()
    aside: str | None = None
    until: int | None = None


@writes
def add_note(connection: Connection, accounts: Accounts, conversation_id: str, author: str, text: str, created_at: int) -> Note | None:
    """Store a note on a conversation. `accounts` is the scope, None for all; returns None where there is none."""
    row = connection.execute(FIND, (listed(accounts), conversation_id)).fetchone()
    if row is None:
        return None
    note = Note(str(uuid.uuid4()), author, text, created_at)
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
def set_aside(connection: Connection, accounts: Accounts, conversation_id: str, now: int | None, until: int | None) -> Conversation | None:
    """Set a conversation aside: until a time, without one as done, and without `now` not any more. `accounts` is None for all."""
    row = connection.execute(
        f"""
        UPDATE conversations SET set_aside_at = CASE WHEN CAST(?3 AS BIGINT) IS NOT NULL THEN max(CAST(?3 AS BIGINT), last_message_at) END,
            set_aside_until = CAST(?4 AS BIGINT)
        WHERE id = ?2 AND {ACCOUNT_IN_SCOPE} RETURNING {COLUMNS}
        """,
        (listed(accounts), conversation_id, now, until),
    ).fetchone()
    return Conversation(*row) if row else None


async def wake(db: Database, now: int) -> None:
    """Open the conversations whose while has ended. Those that a message has opened before lose the mark."""
    due = "set_aside_until <= ? AND (set_aside_at IS NOT NULL OR set_aside_until < last_message_at)"
    change = f"""
        UPDATE conversations INDEXED BY conversations_snoozed SET set_aside_at = NULL,
            set_aside_until = CASE WHEN coalesce(set_aside_at, set_aside_until) >= last_message_at THEN set_aside_until END
        WHERE {due}
    """
    await change_any(db, f"SELECT 1 FROM conversations INDEXED BY conversations_snoozed WHERE {due} LIMIT 1", (now,), change)


@writes
def put_labels(
    connection: Connection, accounts: Accounts, conversation_id: str, change: Callable[[list[str]], list[str]]
) -> Conversation | None:
    """Give a conversation the labels that `change` makes of its present ones. `accounts` is None for all."""
    find = f"SELECT labels FROM conversations WHERE id = ?2 AND {ACCOUNT_IN_SCOPE}"
    row = connection.execute(find, (listed(accounts), conversation_id)).fetchone()
    if row is None:
        return None
    labels = change(labels_of(row[0]))
    changed = connection.execute(
        f"UPDATE conversations SET labels = ? WHERE id = ? RETURNING {COLUMNS}",
        (json.dumps(labels, ensure_ascii=False) if labels else None, conversation_id),
    ).fetchone()
    return Conversation(*changed)


@reads
def labels(connection: Connection, account_id: str) -> list[str]:
    """List the labels of an account's newest labelled conversations."""
    rows = connection.execute(
        """
        SELECT DISTINCT label.value FROM (
            SELECT labels FROM conversations WHERE account_id = ? AND labels IS NOT NULL
            ORDER BY last_message_at DESC, number DESC LIMIT 500
        ) page CROSS JOIN json_each(page.labels) label
        """,
        (account_id,),
    )
    return sorted(label for (label,) in rows)


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
    assignee, labels, *aside = connection.execute(
        """
        SELECT o.email, c.labels, c.set_aside_at, c.set_aside_until, c.last_message_at
        FROM conversations c LEFT JOIN operators o ON o.id = c.assignee WHERE c.number = ?
        """,
        (conversation,),
    ).fetchone()
    notes = connection.execute(f"SELECT {NOTES} FROM conversation_notes n WHERE n.conversation = ? ORDER BY n.number", (conversation,))
    return TeamRecords(assignee, [Note(*note) for note in notes], labels_of(labels), hand_off.set_aside(*aside), aside[1])


def labels_of(text: str | None) -> list[str]:
    return json.loads(text) if text else []


@reads
def read(connection: Connection, accounts: Accounts, conversation_id: str) -> TeamRecords:
    """Read assignee and notes of a conversation of these accounts (None for all)."""
    row = connection.execute(FIND, (listed(accounts), conversation_id)).fetchone()
    return of_conversation(connection, row[-1]) if row else TeamRecords(None, [])


@reads
def notes_of(connection: Connection, conversation_ids: Sequence[str]) -> dict[str, list[Note]]:
    """Read the notes of conversations, by the conversations' ids. Conversations without a note are left out."""
    notes_by_id: dict[str, list[Note]] = {}
    rows = connection.execute(
        f"""
        SELECT n.number, c.id, {NOTES} FROM json_each(?) page CROSS JOIN conversations c ON c.id = page.value
        CROSS JOIN conversation_notes n ON n.conversation = c.number
        """,
        (json.dumps(list(conversation_ids)),),
    )
    for _, conversation_id, *note in sorted(rows):
        notes_by_id.setdefault(conversation_id, []).append(Note(*note))
    return notes_by_id


@reads
def saved_replies(connection: Connection, account_id: str) -> list[SavedReply]:
    """List an account's saved replies by name."""
    rows = connection.execute("SELECT name, text FROM saved_replies WHERE account_id = ? ORDER BY name", (account_id,))
    return [SavedReply(*row) for row in rows]


@writes
def put_reply(connection: Connection, account_id: str, reply: SavedReply, updated_at: int, most: int) -> bool:
    """Write a saved reply, in place of one of the same name. Return False if the account has `most` already."""
    (others,) = connection.execute(
        "SELECT count(*) FROM saved_replies WHERE account_id = ? AND name <> ?", (account_id, reply.name)
    ).fetchone()
    if others >= most:
        return False
    connection.execute(
        """
        INSERT INTO saved_replies (account_id, name, text, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?4)
        ON CONFLICT (account_id, name) DO UPDATE SET text = excluded.text, updated_at = excluded.updated_at
        """,
        (account_id, *reply, updated_at),
    )
    return True


@writes
def remove_reply(connection: Connection, account_id: str, name: str) -> SavedReply | None:
    """Delete a saved reply; return None if there is none."""
    row = connection.execute(
        "DELETE FROM saved_replies WHERE account_id = ? AND name = ? RETURNING name, text", (account_id, name)
    ).fetchone()
    return SavedReply(*row) if row else None


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


def people_in(connection: Connection, numbers: Sequence[int]) -> dict[int, Person]:
    """Read the visitors of conversations (numbers) within a unit."""
    return {number: Person(*row) for number, *row in connection.execute(_PEOPLE, (json.dumps(list(numbers)),)).fetchall()}


people_of = reads(people_in)


@reads
def of_people(connection: Connection, people: Sequence[Person], bot_id: str | None, limit: int) -> list[tuple[Conversation, int]]:
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
def put_person(connection: Connection, accounts: Accounts, conversation_id: str, values: Sequence[str | None]) -> Person | None:
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
    return people_in(connection, [row[0]])[row[0]]
