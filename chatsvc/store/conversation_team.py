"""Queries for the team's own records of conversations and visitors, its saved replies, and a conversation's page.

The records of a conversation are its notes, assignee and labels, when it was set aside, and what each operator has seen. Those of a visitor
are contact data and a note. A scope (`accounts`) is None for all accounts. A conversation outside of the scope raises
`conversation_not_found`.
"""

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from chatsvc.domain import models
from chatsvc.domain.captures import InboxItem
from chatsvc.domain.models import CHANNELS, Conversation, Message, Note, Person, SavedReply
from chatsvc.store import inbox
from chatsvc.store.conversations import COLUMNS, MESSAGE_COLUMNS, OF_A_PAGE, owned, update
from chatsvc.store.database import LAST, Connection, Database, change_any, reads, writes
from chatsvc.store.owners import Accounts
from chatsvc.store.search_queries import UNREAD_MESSAGES

NOTES = ", ".join(f"n.{name}" for name in Note._fields)


class TeamRecords(NamedTuple):
    """The team's records of a conversation: the assignee's e-mail address, notes and labels.

    `aside` is SNOOZED, RESOLVED, BACK or None, and `until` is the end of a snooze in milliseconds.
    """

    assignee: str | None
    notes: list[Note]
    labels: Sequence[str] = ()
    aside: str | None = None
    until: int | None = None


@writes
def add_note(connection: Connection, accounts: Accounts, conversation_id: str, author: str, text: str, created_at: int) -> Note:
    """Store a note on a conversation."""
    _, number = owned(connection, accounts, conversation_id)
    note = Note(str(uuid.uuid4()), author, text, created_at)
    insert = "INSERT INTO conversation_notes (conversation, id, author, text, created_at) VALUES (?, ?, ?, ?, ?)"
    connection.execute(insert, (number, *note))
    return note


@writes
def change(connection: Connection, accounts: Accounts, conversation_id: str, changes: Mapping[str, object]) -> Conversation:
    """Write columns of a conversation, as `changes` names them: the assignee's id, the visitor's data, or a snooze's times."""
    return update(connection, owned(connection, accounts, conversation_id)[1], **changes)


@writes
def set_aside(connection: Connection, accounts: Accounts, conversation_id: str, now: int, until: int | None) -> Conversation:
    """Set a conversation aside until the time `until`, or as done if `until` is None."""
    conversation, number = owned(connection, accounts, conversation_id)
    return update(connection, number, set_aside_at=max(now, conversation.last_message_at), set_aside_until=until)


async def wake(db: Database, now: int) -> None:
    """Open the conversations whose snooze is over (`set_aside_until`). Clear this time for those that a message has opened before."""
    due = "set_aside_until <= ? AND (set_aside_at IS NOT NULL OR set_aside_until < last_message_at)"
    change = f"""
        UPDATE conversations INDEXED BY conversations_snoozed SET set_aside_at = NULL,
            set_aside_until = CASE WHEN coalesce(set_aside_at, set_aside_until) >= last_message_at THEN set_aside_until END
        WHERE {due}
    """
    await change_any(db, f"SELECT 1 FROM conversations INDEXED BY conversations_snoozed WHERE {due} LIMIT 1", (now,), change)


@writes
def put_labels(connection: Connection, accounts: Accounts, conversation_id: str, change: Callable[[list[str]], list[str]]) -> Conversation:
    """Replace the labels of a conversation by the result of `change`, which gets the present labels."""
    _, number = owned(connection, accounts, conversation_id)
    (text,) = connection.execute("SELECT labels FROM conversations WHERE number = ?", (number,)).fetchone()
    labels = change(labels_of(text))
    return update(connection, number, labels=json.dumps(labels, ensure_ascii=False) if labels else None)


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
    """Store that an operator has seen a conversation up to a message (its row number)."""
    connection.execute(
        """
        INSERT INTO conversation_views (operator_id, conversation, message) VALUES (?, ?, ?)
        ON CONFLICT (operator_id, conversation) DO UPDATE SET message = max(conversation_views.message, excluded.message)
        """,
        (operator_id, owned(connection, accounts, conversation_id)[1], message),
    )


def of_conversation(connection: Connection, conversation: int) -> TeamRecords:
    """Read the team's records of a conversation within a unit. `conversation` is its row number."""
    assignee, labels, *aside = connection.execute(
        """
        SELECT o.email, c.labels, c.set_aside_at, c.set_aside_until, c.last_message_at
        FROM conversations c LEFT JOIN operators o ON o.id = c.assignee WHERE c.number = ?
        """,
        (conversation,),
    ).fetchone()
    notes = connection.execute(f"SELECT {NOTES} FROM conversation_notes n WHERE n.conversation = ? ORDER BY n.number", (conversation,))
    return TeamRecords(assignee, [Note(*note) for note in notes], labels_of(labels), models.set_aside(*aside), aside[1])


def labels_of(text: str | None) -> list[str]:
    return json.loads(text) if text else []


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
    """Write a saved reply, or replace the saved reply of this name. Return False if the account already has `most` others."""
    written = connection.execute(
        """
        INSERT INTO saved_replies (account_id, name, text, created_at, updated_at) SELECT ?1, ?2, ?3, ?4, ?4
        WHERE (SELECT count(*) FROM saved_replies WHERE account_id = ?1 AND name <> ?2) < ?5
        ON CONFLICT (account_id, name) DO UPDATE SET text = excluded.text, updated_at = excluded.updated_at
        """,
        (account_id, *reply, updated_at, most),
    )
    return written.rowcount == 1


@writes
def remove_reply(connection: Connection, account_id: str, name: str) -> SavedReply | None:
    """Delete a saved reply and return it. Return None if the account has none of this name."""
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


def people_in(connection: Connection, numbers: Sequence[int]) -> dict[int, Person]:
    """Read the visitors of conversations within a unit, by the row numbers of the conversations."""
    return {number: Person(*row) for number, *row in connection.execute(_PEOPLE, (json.dumps(list(numbers)),)).fetchall()}


people_of = reads(people_in)


@reads
def of_people(connection: Connection, numbers: Sequence[int], bot_id: str | None, limit: int) -> list[tuple[Conversation, int]]:
    """Read conversations that share an e-mail address or telephone number with one of the conversations `numbers`.

    Each conversation is returned with its row number.
    """
    rows = connection.execute(
        f"""
        SELECT {COLUMNS}, number FROM conversations WHERE number IN (
            SELECT c.number FROM json_each(?1) page CROSS JOIN conversations v ON v.number = CAST(page.value AS BIGINT)
            CROSS JOIN conversations c ON c.account_id = v.account_id AND lower(c.visitor_email) = lower(v.visitor_email)
            WHERE c.visitor_email IS NOT NULL AND (?2 IS NULL OR c.bot_id = ?2)
            UNION
            SELECT c.number FROM json_each(?1) page CROSS JOIN conversations v ON v.number = CAST(page.value AS BIGINT)
            CROSS JOIN conversations c ON c.account_id = v.account_id AND c.visitor_phone = v.visitor_phone
            WHERE c.visitor_phone IS NOT NULL AND (?2 IS NULL OR c.bot_id = ?2)
        ) LIMIT ?3
        """,
        (json.dumps(list(numbers)), bot_id, limit),
    )
    return [(Conversation(*conversation), number) for *conversation, number in rows]


MOST_OTHERS = 10
_CHANNELS = ", ".join(map(repr, CHANNELS))


class ConversationView(NamedTuple):
    """A conversation with some messages, oldest first; `older` and `newer` tell whether there are more.

    `others` are conversations of the same visitor by e-mail address, telephone number or user_id. `seen` is the row number of the last
    message that the operator has seen.
    """

    conversation: Conversation
    messages: list[Message]
    older: bool
    newer: bool
    items: list[InboxItem]
    others: list[Conversation]
    team: TeamRecords
    seen: int
    person: Person


@reads
def view(
    connection: Connection,
    accounts: Accounts,
    conversation_id: str,
    limit: int,
    operator_id: str,
    around: str | None = None,
    before: str | None = None,
) -> ConversationView:
    """Read a conversation for an operator, with its newest messages. `around` or `before` (a message's id) selects others."""
    conversation, number = owned(connection, accounts, conversation_id)
    end = """
        SELECT n.number FROM messages m CROSS JOIN messages n ON n.conversation = m.conversation AND n.number >= m.number
        WHERE m.conversation = ? AND m.id = ? ORDER BY n.number LIMIT 1 OFFSET ?
    """
    message = connection.execute(end, (number, around or before, limit // 2 + 1 if around else 0)).fetchone()
    below = message[0] if message else LAST
    rows = connection.execute(
        f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE conversation = ? AND number < ? ORDER BY number DESC LIMIT ?",
        (number, below, limit + 1),
    ).fetchall()
    newer = connection.execute("SELECT 1 FROM messages WHERE conversation = ? AND number >= ? LIMIT 1", (number, below)).fetchone()
    last_seen = "SELECT message FROM conversation_views WHERE operator_id = ? AND conversation = ?"
    message_seen = connection.execute(last_seen, (operator_id, number)).fetchone()
    others = connection.execute(
        f"""
        SELECT {OF_A_PAGE} FROM conversations v CROSS JOIN conversations c ON c.number IN (
            SELECT o.number FROM bots b CROSS JOIN conversations o
                ON o.bot_id = b.id AND o.channel IN ({_CHANNELS}) AND o.user_id = v.user_id
                WHERE b.account_id = v.account_id
            UNION SELECT o.number FROM conversations o
                WHERE o.account_id = v.account_id AND o.visitor_email IS NOT NULL AND lower(o.visitor_email) = lower(v.visitor_email)
            UNION SELECT o.number FROM conversations o
                WHERE o.account_id = v.account_id AND o.visitor_phone IS NOT NULL AND o.visitor_phone = v.visitor_phone)
        WHERE v.number = ?1 AND c.number <> v.number ORDER BY c.last_message_at DESC, c.number DESC LIMIT ?2
        """,
        (number, MOST_OTHERS),
    ).fetchall()
    return ConversationView(
        conversation,
        [Message(*message_row) for message_row in reversed(rows[:limit])],
        len(rows) > limit,
        newer is not None,
        inbox.of_conversation(connection, number),
        [Conversation(*other) for other in others],
        of_conversation(connection, number),
        message_seen[0] if message_seen else 0,
        people_in(connection, [number])[number],
    )


MOST_UNREAD = 100  # counted of a conversation
_UNREAD = UNREAD_MESSAGES.format("?2")
_PREVIEW = 160  # characters
_SEARCHED_MESSAGES, _SEARCHED_LETTERS = 30, 1_000


class RowDetails(NamedTuple):
    """Details of a row in the list of conversations. `role` and `words` are sender and beginning of the last message.

    `unread` is at most MOST_UNREAD. See TeamRecords for the other fields.
    """

    assignee: str | None
    unread: int
    role: str
    words: str
    labels: Sequence[str]
    aside: str | None
    until: int | None


@reads
def details(connection: Connection, numbers: Sequence[int], operator_id: str) -> dict[int, RowDetails]:
    """Read the details of conversations for an operator, by the row numbers of the conversations."""
    rows = connection.execute(
        f"""
        SELECT c.number, (SELECT coalesce(o.name, o.email) FROM operators o WHERE o.id = c.assignee),
            (SELECT count(*) FROM ({_UNREAD} LIMIT {MOST_UNREAD}) page),
            (SELECT json_array(m.role, substr(m.content, 1, {_PREVIEW})) FROM messages m WHERE m.conversation = c.number
                ORDER BY m.number DESC LIMIT 1),
            c.labels, c.set_aside_at, c.set_aside_until, c.last_message_at
        FROM json_each(?1) page CROSS JOIN conversations c ON c.number = CAST(page.value AS BIGINT)
        """,
        (json.dumps(list(numbers)), operator_id),
    ).fetchall()
    details_by_number = {}
    for number, assignee, unread, last, labels, *aside in rows:
        # The drivers give JSON as text or as a list.
        role, words = json.loads(last) if isinstance(last, str) else last or ("", "")
        labelled = labels_of(labels)
        details_by_number[number] = RowDetails(assignee, unread, role, words, labelled, models.set_aside(*aside), aside[1])
    return details_by_number


@reads
def recent_texts(connection: Connection, numbers: Sequence[int]) -> list[tuple[int, str]]:
    """Read the texts of the newest messages in conversations, newest first. Each comes with the row number of its conversation."""
    rows = connection.execute(
        f"""
        SELECT m.number, m.conversation, substr(m.content, 1, {_SEARCHED_LETTERS}) FROM json_each(?1) page
        CROSS JOIN messages m ON m.number IN (
            SELECT n.number FROM messages n WHERE n.conversation = CAST(page.value AS BIGINT)
            ORDER BY n.number DESC LIMIT {_SEARCHED_MESSAGES})
        """,
        (json.dumps(list(numbers)),),
    )
    return [(conversation, text) for _, conversation, text in sorted(rows, reverse=True)]
