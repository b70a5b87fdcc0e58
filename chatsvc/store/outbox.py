"""Outbox of the messaging platforms: lists stored messages to send, marks them, and writes outcomes.

Each bot and channel has a queue. services/messages/outbox.py sends the messages.

A message is marked as in flight before its request is written, and unmarked with its outcome. A message that is still marked when a process
starts may have been sent, so its delivery is unknown and it is not sent again.
"""

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from chatsvc.domain.times import DAY_MS
from chatsvc.store.database import Connection, Database, change_any, writes
from chatsvc.store.nodes import orphaned

GIVE_UP_MS = 600_000
_CUT_OFF = "outbox IS NOT NULL AND in_flight = 1 AND " + orphaned("messages")


class OutgoingMessage(NamedTuple):
    """A message to send, or a part of a message. Only the last part has the choices. `parts_sent` parts were sent before."""

    number: int
    id: str
    conversation: int
    conversation_id: str
    bot_id: str
    channel: str
    user_id: str
    text: str
    choices: tuple[str, ...]
    parts_sent: int
    is_last: bool = True


async def interrupt(db: Database) -> int:
    """Give up the messages that were in flight when their process ended. Return how many messages these were.

    It is unknown whether they were sent.
    """
    change = f"UPDATE messages SET delivery = 'unknown', error = 'interrupted', outbox = NULL, in_flight = NULL WHERE {_CUT_OFF}"
    return await change_any(db, f"SELECT 1 FROM messages WHERE {_CUT_OFF} LIMIT 1", (), change)


# What was never tried waited for a channel that was paused, for instance.
_OVERDUE = "outbox IS NOT NULL AND in_flight IS NULL AND (first_attempt_at <= ?1 OR created_at <= ?2)"


async def waiting(db: Database, now: int) -> list[str]:
    """List the queues that have messages.

    Before that, mark messages as failed that were tried in vain for ten minutes or are older than a day.
    """
    expire = f"UPDATE messages SET delivery = 'failed', error = coalesce(error, 'expired'), outbox = NULL WHERE {_OVERDUE}"
    await change_any(db, f"SELECT 1 FROM messages WHERE {_OVERDUE} LIMIT 1", (now - GIVE_UP_MS, now - DAY_MS), expire)
    rows = await db.read(lambda connection: connection.execute("SELECT DISTINCT outbox FROM messages WHERE outbox IS NOT NULL").fetchall())
    return [name for (name,) in rows]


def upcoming(connection: Connection, queue: str, limit: int, held: Iterable[int]) -> list[OutgoingMessage]:
    """List the next messages of a queue, one for each conversation. Conversations in `held`, or with a message in flight, are left out."""
    rows = connection.execute(
        """
        SELECT m.number, m.id, m.conversation, c.id, c.bot_id, c.channel, c.user_id, m.content, m.choices, coalesce(m.parts_sent, 0)
        FROM (SELECT min(f.number) AS number FROM messages f WHERE f.outbox = ?1
            AND f.conversation NOT IN (SELECT CAST(value AS BIGINT) FROM json_each(?3)
                UNION ALL SELECT n.conversation FROM messages n WHERE n.outbox = ?1 AND n.in_flight = 1)
            GROUP BY f.conversation ORDER BY 1 LIMIT ?2) page
        JOIN messages m ON m.number = page.number JOIN conversations c ON c.number = m.conversation ORDER BY m.number
        """,
        (queue, limit, json.dumps(list(held))),
    ).fetchall()
    return [OutgoingMessage(*row)._replace(choices=tuple(json.loads(row[8] or "[]"))) for row in rows]


def mark(connection: Connection, numbers: Sequence[int], node: str | None) -> None:
    """Mark messages as in flight, by the process `node`."""
    connection.executemany("UPDATE messages SET in_flight = 1, node = ? WHERE number = ?", [(node, number) for number in numbers])


@writes
def note_part(connection: Connection, number: int, parts: int) -> None:
    """Write how many parts of a message in flight were sent."""
    connection.execute("UPDATE messages SET parts_sent = ? WHERE number = ?", (parts, number))


def settle(connection: Connection, number: int, delivery: str, error: str | None = None, platform_id: bytes | None = None) -> None:
    """Write the outcome of a message in flight. If the platform has reported a delivery status before, that status is not changed."""
    connection.execute(
        """
        UPDATE messages SET delivery = CASE delivery WHEN 'queued' THEN ?2 ELSE delivery END,
            error = CASE delivery WHEN 'queued' THEN ?3 ELSE error END, platform_id = coalesce(?4, platform_id),
            outbox = NULL, in_flight = NULL WHERE number = ?1
        """,
        (number, delivery, error, platform_id),
    )


def put_back(connection: Connection, number: int, now: int, error: str | None = None, *, blocked: str | None = None) -> None:
    """Queue again a message that was certainly not sent. `error` is the reason; without it, the attempt does not count.

    If the platform accepts nothing at the moment, `blocked` is the queue. Its messages then fail if they are not sent within ten minutes.
    """
    connection.execute(
        """
        UPDATE messages SET in_flight = NULL, error = ?2, first_attempt_at = CASE WHEN ?2 IS NULL THEN first_attempt_at
            ELSE coalesce(first_attempt_at, ?3) END WHERE number = ?1
        """,
        (number, error, now),
    )
    if blocked is not None:
        connection.execute(
            "UPDATE messages SET first_attempt_at = ?, error = ? WHERE outbox = ? AND first_attempt_at IS NULL", (now, error, blocked)
        )


@writes
def fail_all(connection: Connection, queue: str, error: str) -> None:
    """Mark all messages of a queue as failed, except messages in flight."""
    connection.execute(
        "UPDATE messages SET delivery = 'failed', error = ?, outbox = NULL WHERE outbox = ? AND in_flight IS NULL", (error, queue)
    )
