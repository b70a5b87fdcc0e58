"""Advisory locks in PostgreSQL: that of all transactions which write, one at a time, and that of a copy."""

from chatsvc.store.postgres.connection import PostgresConnection

_COPY, _TRANSACTIONS = 0x63686174, 0x63686175  # "chat"
_SCHEMA = "hashtext(coalesce(current_schema(), ''))"
# The first statement of a transaction: it waits for those of the other processes, so that units find the store as with one process.
WAIT_TURN = f"SELECT pg_advisory_xact_lock({_TRANSACTIONS}, {_SCHEMA})"
BEGIN_IN_TURN = f"BEGIN; {WAIT_TURN}"


def try_copy_lock(connection: PostgresConnection) -> bool:
    """Take the lock of a copy until the session ends, if it is free."""
    (locked,) = connection.execute(f"SELECT pg_try_advisory_lock({_COPY}, {_SCHEMA})").fetchone()
    return bool(locked)
