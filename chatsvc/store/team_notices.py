"""Queries of notices to the team's group about waiting visitors: due, note, and find.

An answer leads to its conversation by the digest of the notice's message.
"""

from collections.abc import Sequence
from typing import NamedTuple

from chatsvc.domain.hand_off import WAITING
from chatsvc.store.database import Connection, reads, writes


class TeamNotice(NamedTuple):
    """A visitor who waits and of whom the team was not told. `said` are the last words."""

    conversation: int
    since: int
    conversation_id: str
    bot_id: str
    account_id: str
    channel: str
    said: str


@reads
def due(connection: Connection, limit: int) -> list[TeamNotice]:
    """List visitors who wait and of whom the team was not told. Oldest first."""
    rows = connection.execute(
        f"""
        SELECT c.number, c.handling_since, c.id, c.bot_id, c.account_id, c.channel, coalesce((SELECT m.content FROM messages m
            WHERE m.conversation = c.number AND m.role = 'user' ORDER BY m.number DESC LIMIT 1), '')
        FROM conversations c INDEXED BY conversations_handed_off
        WHERE c.handling <> 'bot' AND c.handling = '{WAITING}' AND c.handling_since IS NOT NULL AND NOT EXISTS
            (SELECT 1 FROM team_notices n WHERE n.conversation = c.number AND n.since = c.handling_since)
        ORDER BY c.handling_since LIMIT ?
        """,
        (limit,),
    )
    return [TeamNotice(*row) for row in rows]


@writes
def note(connection: Connection, notices: Sequence[TeamNotice], digest: bytes | None) -> None:
    """Write that the team was told by one message. Nothing for visitors who were erased meanwhile."""
    for notice in notices:
        connection.execute(
            """
            INSERT INTO team_notices (conversation, since, digest) SELECT number, ?, ? FROM conversations WHERE number = ?
            ON CONFLICT DO NOTHING
            """,
            (notice.since, digest, notice.conversation),
        )


@reads
def find(connection: Connection, digest: bytes) -> list[tuple[str, str, str]]:
    """Find account, bot and conversation of each visitor of a notice by its message's digest."""
    rows = connection.execute(
        """
        SELECT c.account_id, c.bot_id, c.id FROM team_notices n JOIN conversations c ON c.number = n.conversation WHERE n.digest = ?
        ORDER BY n.conversation
        """,
        (digest,),
    )
    return [(account_id, bot_id, conversation) for account_id, bot_id, conversation in rows]
