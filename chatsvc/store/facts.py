"""Named values of the whole installation, such as the check value of its master key.

`belongs_to` puts the store's master key in force, and `answers` checks that the store can be read. A fault of the team's group is stored
here too.
"""

from chatsvc.store.database import Connection, Database, StoreUnavailable, reads, writes
from chatsvc.store.master_key import MasterKey

CHECK = "master_key_check"
TEAM_FAULT = "team_fault"


def find_check(connection: Connection) -> bytes | None:
    """Read the check value of the master key within a unit. Return None if no service has opened the database yet."""
    row = connection.execute("SELECT value FROM store_facts WHERE name = ?", (CHECK,)).fetchone()
    return row[0] if row else None


def check_in(connection: Connection) -> bytes:
    """Read the check value of the master key within a unit. Raise RuntimeError if the database has none."""
    value = find_check(connection)
    if value is None:
        raise RuntimeError("the database has no master key yet")
    return value


async def belongs_to(db: Database, key: MasterKey) -> None:
    """Make the store's master key the key in force; a new store takes `key`. Raises StoreUnavailable for the key of another store."""

    def unit(connection: Connection) -> bytes:
        connection.execute("INSERT INTO store_facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", (CHECK, key.check))
        return check_in(connection)

    value = await db.write(unit)
    try:
        key.settle(value)
    except OSError as fault:
        raise StoreUnavailable(f"the master key {key.file} cannot be put in its place: {fault.strerror or fault}") from fault


check = reads(check_in)


@writes
def put(connection: Connection, name: str, value: str | None) -> None:
    """Write a fact, or delete it if `value` is None."""
    if value is None:
        connection.execute("DELETE FROM store_facts WHERE name = ?", (name,))
        return
    connection.execute(
        "INSERT INTO store_facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, value.encode()),
    )


@reads
def answers(connection: Connection) -> None:
    """Check that the store can be read; raises StoreUnavailable."""
    connection.execute("SELECT name FROM store_facts LIMIT 1").fetchone()
