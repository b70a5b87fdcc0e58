"""Named leases of processes over one store: work of which an installation does one piece at a time.

A lease lasts as long as its process; see store/nodes.py.
"""

from __future__ import annotations

from chatsvc.store.database import Connection, Database


async def hold(db: Database, name: str, node: str) -> bool:
    """Take a lease that is free, or keep one's own. False where another process holds it."""

    def holder(connection: Connection) -> str | None:
        row = connection.execute("SELECT node FROM leases WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def take(connection: Connection) -> bool:
        if holder(connection) is None:
            connection.execute("INSERT INTO leases (name, node) VALUES (?, ?)", (name, node))
        return holder(connection) == node

    held_by = await db.read(holder)
    return held_by == node if held_by is not None else await db.write(take)
