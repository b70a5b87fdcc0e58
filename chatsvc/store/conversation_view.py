"""Read queries for one conversation's page: a window of its messages, requests, and other conversations.

The other conversations are those of the same visitor.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from chatsvc.domain.inbox import InboxItem
from chatsvc.domain.models import Conversation, Message
from chatsvc.domain.search_words import EMAIL, PHONE, USER
from chatsvc.store import conversation_team, inbox
from chatsvc.store.conversation_team import TeamRecords
from chatsvc.store.conversations import FIND, LAST, MESSAGE_COLUMNS, OF_A_PAGE
from chatsvc.store.database import Connection, reads
from chatsvc.store.owners import SOME_BOTS, Accounts, listed

MOST_OTHERS = 10
_MOST_READ = 200  # entries of the visitor's addresses


class Window(NamedTuple):
    """Position in a conversation by ids of messages. Around one, before one, or by default the newest."""

    around: str | None = None
    before: str | None = None


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


@reads
def read(
    connection: Connection, accounts: Accounts, conversation_id: str, window: Window, limit: int, operator_id: str
) -> ConversationView | None:
    """Read a conversation for an operator. `accounts` is the scope, None for all; returns None where there is none."""
    row = connection.execute(FIND, (listed(accounts), conversation_id)).fetchone()
    if row is None:
        return None
    number = row[-1]
    below = _below(connection, number, window, limit)
    rows = connection.execute(
        f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE conversation = ? AND number < ? ORDER BY number DESC LIMIT ?",
        (number, below, limit + 1),
    ).fetchall()
    shown = rows[:limit]
    newer = connection.execute("SELECT 1 FROM messages WHERE conversation = ? AND number >= ? LIMIT 1", (number, below)).fetchone()
    return ConversationView(
        Conversation(*row[:-1]),
        [Message(*one) for one in reversed(shown)],
        len(rows) > limit,
        newer is not None,
        inbox.of_conversation(connection, number),
        _others(connection, number),
        conversation_team.of_conversation(connection, number),
        conversation_team.seen(connection, number, operator_id),
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


def _below(connection: Connection, conversation: int, window: Window, limit: int) -> int:
    """Return the number below which the messages of a window lie."""
    wanted = window.around or window.before
    if wanted is None:
        return LAST
    found = connection.execute("SELECT number FROM messages WHERE conversation = ? AND id = ?", (conversation, wanted)).fetchone()
    if found is None:
        return LAST
    if window.around is None:
        return int(found[0])
    after = connection.execute(
        "SELECT number FROM messages WHERE conversation = ? AND number > ? ORDER BY number LIMIT 1 OFFSET ?",
        (conversation, found[0], limit // 2),
    ).fetchone()
    return int(after[0]) if after else LAST


def _others(connection: Connection, conversation: int) -> list[Conversation]:
    """Read the visitor's other conversations by the whole addresses in the search index, newest first."""
    row = connection.execute(
        "SELECT d.words, c.account_id FROM search_documents d JOIN conversations c ON c.number = d.conversation WHERE d.conversation = ?",
        (conversation,),
    ).fetchone()
    if row is None:
        return []
    addresses = [word for word in json.loads(row[0]) if word.startswith((EMAIL, PHONE, USER))]
    rows = connection.execute(
        f"""
        SELECT {OF_A_PAGE} FROM (
            SELECT DISTINCT w.conversation FROM {SOME_BOTS} CROSS JOIN json_each(?2) channel
            CROSS JOIN search_words w ON w.bot = +b.number AND w.word = channel.value WHERE w.conversation <> ?3 LIMIT ?4
        ) page CROSS JOIN conversations c ON c.number = +page.conversation ORDER BY c.last_message_at DESC, c.number DESC LIMIT ?5
        """,
        (json.dumps([row[1]]), json.dumps(addresses), conversation, _MOST_READ, MOST_OTHERS),
    )
    return [Conversation(*one) for one in rows]
