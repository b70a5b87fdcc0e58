"""Read queries for mails: pages, the number queued, and states by conversation message."""

from __future__ import annotations

from chatsvc.domain.mails import Mail, MailState
from chatsvc.store.database import LAST, Connection, reads

_COLUMNS = """
    m.number, m.kind, m.account_id, m.recipient, m.causes, m.state, m.created_at, m.due_at, m.attempts, m.settled_at, m.status_code,
    m.error, m.answer
"""


@reads
def page(connection: Connection, limit: int, after: int = LAST, *, state: str | None = None) -> list[Mail]:
    """Read mails, newest first, behind the one numbered `after`."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM mails m WHERE m.number < ?1 AND (?2 IS NULL OR m.state = ?2) ORDER BY m.number DESC LIMIT ?3",
        (after, state, limit),
    )
    return [Mail(*row) for row in rows]


@reads
def queued(connection: Connection) -> int:
    """Count the mails that wait."""
    return int(connection.execute("SELECT count(*) FROM mails WHERE state = 'queued'").fetchone()[0])


@reads
def of_messages(connection: Connection, conversation_id: str) -> dict[int, MailState]:
    """Read the states of mails that carried messages of a conversation, by the messages' numbers."""
    rows = connection.execute(
        """
        SELECT m.number, coalesce(s.state, 'sent'), s.error FROM conversations c CROSS JOIN messages m ON m.conversation = c.number
        LEFT JOIN mails s ON s.number = m.mail WHERE c.id = ? AND m.mail IS NOT NULL
        """,
        (conversation_id,),
    )
    return {number: MailState(*state) for number, *state in rows}
