"""Processes that share one store. The row of a process is its lease on its turns and messages, by the store's clock.

A process renews its row while it lives. A process that has not renewed it for some time is removed with its turns and its named leases; its
messages in flight then count as interrupted. With SQLite there is a single process, so records belong to no process.
"""

from chatsvc.domain.models import ServiceNode
from chatsvc.store.database import Connection, Database, reads, writes

BEAT_S = 2.0
DEAD_AFTER_MS = 8_000


def orphaned(table: str) -> str:
    """Return the SQL condition that selects the rows of a table whose process has ended."""
    return f"({table}.node IS NULL OR NOT EXISTS (SELECT 1 FROM nodes n WHERE n.id = {table}.node))"


@writes
def beat(connection: Connection, node: ServiceNode, *, removes: bool) -> list[str]:
    """Renew the row of a process. If `removes` is true, remove the processes that were not seen for too long, and return their ids."""
    note(connection, node)
    return remove_dead(connection) if removes else []


def note(connection: Connection, node: ServiceNode) -> None:
    """Renew the row of a process within a unit."""
    connection.execute(
        """
        INSERT INTO nodes (id, since, listen, version, seen_at) VALUES (?, clock_ms(), ?, ?, clock_ms())
        ON CONFLICT (id) DO UPDATE SET listen = excluded.listen, seen_at = excluded.seen_at
        """,
        (node.id, node.listen, node.version),
    )


def remove_dead(connection: Connection) -> list[str]:
    """Remove the processes whose rows were not renewed in time, within a unit. Return their ids."""
    rows = connection.execute("DELETE FROM nodes WHERE seen_at < clock_ms() - ? RETURNING id", (DEAD_AFTER_MS,)).fetchall()
    for (node_id,) in rows:
        _free(connection, node_id)
    return [node_id for (node_id,) in rows]


@writes
def remove(connection: Connection, node_id: str) -> None:
    """Remove the row of a process that ends, with its turns and leases."""
    connection.execute("DELETE FROM nodes WHERE id = ?", (node_id,))
    _free(connection, node_id)


def _free(connection: Connection, node_id: str) -> None:
    for table in ("open_turns", "leases"):
        connection.execute(f"DELETE FROM {table} WHERE node = ?", (node_id,))


@reads
def living(connection: Connection) -> list[ServiceNode]:
    """List the processes that answer requests, oldest first."""
    rows = connection.execute(
        "SELECT id, since, listen, version FROM nodes WHERE listen <> '' AND seen_at > clock_ms() - ? ORDER BY since, id", (DEAD_AFTER_MS,)
    )
    return [ServiceNode(*row) for row in rows]


async def hold_lease(db: Database, name: str, node: str) -> bool:
    """Take the lease `name` for the process `node` if it is free. Return whether this process holds it now."""

    def holder(connection: Connection) -> tuple[str] | None:
        row: tuple[str] | None = connection.execute("SELECT node FROM leases WHERE name = ?", (name,)).fetchone()
        return row

    def take(connection: Connection) -> tuple[str] | None:
        connection.execute("INSERT INTO leases (name, node) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", (name, node))
        return holder(connection)

    return (await db.read(holder) or await db.write(take)) == (node,)
