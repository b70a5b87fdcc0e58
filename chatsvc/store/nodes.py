"""Heartbeats of processes over one store: write, list and remove them by the store's clock.

Among several working processes one leads, and those not seen for a while are removed with their turns.
"""

from __future__ import annotations

from typing import NamedTuple

from chatsvc.domain.nodes import WORKING, ServiceNode
from chatsvc.store import open_turns
from chatsvc.store.database import Connection, Transactions

BEAT_S = 2.0
DEAD_AFTER_MS = 8_000
_FORGOTTEN_AFTER_MS = 3_600_000


class SharedBeat(NamedTuple):
    """State of a process among several. `leads`: it is the one that does the work that one of them does; `dead`: those it removed."""

    leads: bool
    dead: list[str]


async def beat(db: Transactions, node: ServiceNode, *, alone: bool = False) -> None:
    """Note that a process lives, and since when it is in its state. `alone`: no other one works."""

    def unit(connection: Connection) -> None:
        note(connection, node)
        connection.execute("DELETE FROM nodes WHERE seen_at < clock_ms() - ?", (_FORGOTTEN_AFTER_MS,))
        if alone:
            connection.execute("DELETE FROM nodes WHERE state = ? AND id <> ?", (WORKING, node.id))

    await db.write(unit)


def note(connection: Connection, node: ServiceNode) -> None:
    """Note within a unit that a process lives."""
    connection.execute(
        """
        INSERT INTO nodes (id, state, since, listen, version, seen_at) VALUES (?, ?, clock_ms(), ?, ?, clock_ms())
        ON CONFLICT (id) DO UPDATE SET state = excluded.state, listen = excluded.listen, seen_at = excluded.seen_at,
            since = CASE WHEN nodes.state = excluded.state THEN nodes.since ELSE excluded.since END
        """,
        (node.id, node.state, node.listen, node.version),
    )


async def beat_among(db: Transactions, node: ServiceNode, *, removes: bool) -> SharedBeat:
    """Note that one of several working processes lives. `removes`: with their turns, those that have not been seen for too long.

    The turns and queues of a process that was removed are free for the others; it can write no more.
    """

    def unit(connection: Connection) -> SharedBeat:
        note(connection, node)
        dead: list[str] = []
        if removes:
            rows = connection.execute("DELETE FROM nodes WHERE seen_at < clock_ms() - ? RETURNING id", (DEAD_AFTER_MS,))
            dead = [one for (one,) in rows.fetchall()]
            open_turns.delete_of(connection, dead)
        first = connection.execute("SELECT id FROM nodes WHERE state = ? ORDER BY since, id LIMIT 1", (WORKING,)).fetchone()
        return SharedBeat(first == (node.id,), dead)

    return await db.write(unit)


async def remove(db: Transactions, node_id: str) -> None:
    """Remove a process that ends."""

    def unit(connection: Connection) -> None:
        connection.execute("DELETE FROM nodes WHERE id = ?", (node_id,))

    await db.write(unit)


async def leave(db: Transactions, node_id: str) -> None:
    """Remove one of several processes, which ends, with its turns."""

    def unit(connection: Connection) -> None:
        connection.execute("DELETE FROM nodes WHERE id = ?", (node_id,))
        open_turns.delete_of(connection, [node_id])

    await db.write(unit)


async def living(db: Transactions) -> list[ServiceNode]:
    """List the processes that live, those that work first."""

    def unit(connection: Connection) -> list[ServiceNode]:
        rows = connection.execute(
            "SELECT id, state, since, listen, version FROM nodes WHERE seen_at > clock_ms() - ? ORDER BY state DESC, since, id",
            (DEAD_AFTER_MS,),
        )
        return [ServiceNode(*row) for row in rows]

    return await db.write(unit)
