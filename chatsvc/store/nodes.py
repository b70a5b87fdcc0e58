"""Processes over one store. Each notes its state every few seconds, by the clock of the store."""

from __future__ import annotations

from chatsvc.domain.nodes import WORKING, ServiceNode
from chatsvc.store.database import Connection, Transactions

BEAT_S = 2.0
DEAD_AFTER_MS = 8_000
_FORGOTTEN_AFTER_MS = 3_600_000


async def beat(db: Transactions, node: ServiceNode, *, alone: bool = False) -> None:
    """Note that a process lives, and since when it is in its state. `alone`: no other one works."""

    def unit(connection: Connection) -> None:
        connection.execute(
            """
            INSERT INTO nodes (id, state, since, listen, version, seen_at) VALUES (?, ?, clock_ms(), ?, ?, clock_ms())
            ON CONFLICT (id) DO UPDATE SET state = excluded.state, listen = excluded.listen, seen_at = excluded.seen_at,
                since = CASE WHEN nodes.state = excluded.state THEN nodes.since ELSE excluded.since END
            """,
            (node.id, node.state, node.listen, node.version),
        )
        connection.execute("DELETE FROM nodes WHERE seen_at < clock_ms() - ?", (_FORGOTTEN_AFTER_MS,))
        if alone:
            connection.execute("DELETE FROM nodes WHERE state = ? AND id <> ?", (WORKING, node.id))

    await db.write(unit)


async def remove(db: Transactions, node_id: str) -> None:
    """Remove a process that ends."""

    def unit(connection: Connection) -> None:
        connection.execute("DELETE FROM nodes WHERE id = ?", (node_id,))

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
