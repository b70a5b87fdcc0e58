"""Read queries for the rows of the team's list, and for one conversation's page: a window of its messages, requests, and others.

The other conversations are those of the same visitor.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from chatsvc.domain import hand_off
from chatsvc.domain.captures import InboxItem
from chatsvc.domain.models import CHANNELS, Conversation, Message, Person
from chatsvc.store import conversation_team, inbox
from chatsvc.store.conversation_team import TeamRecords
from chatsvc.store.conversations import FIND, MESSAGE_COLUMNS, OF_A_PAGE
from chatsvc.store.database import LAST, Connection, reads
from chatsvc.store.owners import Accounts, listed
from chatsvc.store.search_queries import UNREAD_MESSAGES

MOST_OTHERS = 10
_CHANNELS = ", ".join(map(repr, CHANNELS))


class ConversationView(NamedTuple):
    """A conversation with some messages, oldest first; `older` and `newer` tell whether there are more.

    others: conversations with the same e-mail address, telephone number or user_id in the account. seen: number of the last message
        that the operator has seen.
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
def read(
    connection: Connection,
    accounts: Accounts,
    conversation_id: str,
    limit: int,
    operator_id: str,
    around: str | None = None,
    before: str | None = None,
) -> ConversationView | None:
    """Read a conversation for an operator, around a message or before one (their ids), by default with the newest messages.

    `accounts` is the scope, None for all; returns None where there is none.
    """
    row = connection.execute(FIND, (listed(accounts), conversation_id)).fetchone()
    if row is None:
        return None
    number, below = row[-1], LAST
    of_id = "SELECT number FROM messages WHERE conversation = ? AND id = ?"
    message = connection.execute(of_id, (number, around or before)).fetchone()
    if message is not None and around is not None:
        behind = "SELECT number FROM messages WHERE conversation = ? AND number > ? ORDER BY number LIMIT 1 OFFSET ?"
        message = connection.execute(behind, (number, *message, limit // 2)).fetchone()
    if message is not None:
        (below,) = message
    rows = connection.execute(
        f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE conversation = ? AND number < ? ORDER BY number DESC LIMIT ?",
        (number, below, limit + 1),
    ).fetchall()
    newer = connection.execute("SELECT 1 FROM messages WHERE conversation = ? AND number >= ? LIMIT 1", (number, below)).fetchone()
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
        Conversation(*row[:-1]),
        [Message(*message_row) for message_row in reversed(rows[:limit])],
        len(rows) > limit,
        newer is not None,
        inbox.of_conversation(connection, number),
        [Conversation(*other) for other in others],
        conversation_team.of_conversation(connection, number),
        conversation_team.seen(connection, number, operator_id),
        conversation_team.people_in(connection, [number])[number],
    )


@reads
def contents(connection: Connection, accounts: Accounts, conversation_id: str, limit: int) -> list[tuple[str, str]]:
    """Read ids and texts of a conversation's newest messages, newest first. `accounts` is None for all."""
    row = connection.execute(FIND, (listed(accounts), conversation_id)).fetchone()
    if row is None:
        return []
    return connection.execute(
        "SELECT id, content FROM messages WHERE conversation = ? ORDER BY number DESC LIMIT ?", (row[-1], limit)
    ).fetchall()


MOST_UNREAD = 100  # counted of a conversation
_UNREAD = UNREAD_MESSAGES.format("?2")
_PREVIEW = 160  # characters
_SEARCHED_MESSAGES, _SEARCHED_LETTERS = 30, 1_000


class RowDetails(NamedTuple):
    """Details of a row. `role` and `words` are those of the last message, empty without one; `unread` is at most MOST_UNREAD.

    labels, aside, until: see TeamRecords.
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
    """Read the details of conversations (numbers) as an operator sees them."""
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
        labelled = conversation_team.labels_of(labels)
        details_by_number[number] = RowDetails(assignee, unread, role, words, labelled, hand_off.set_aside(*aside), aside[1])
    return details_by_number


@reads
def recent_texts(connection: Connection, numbers: Sequence[int]) -> list[tuple[int, str]]:
    """Read the newest messages of conversations (numbers), each with its conversation, newest first."""
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
