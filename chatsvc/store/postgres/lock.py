"""Advisory locks of processes over one database: the worker's, and that of a shared transaction.

The second serves where several processes work. A process that has lost its session cannot commit, since the lock is that of the session
that writes. The table of the schema's version names the process that took it last: one whose session broke goes on only if no other has
worked meanwhile.
"""

from __future__ import annotations

import time

from chatsvc.store.database import StoreUnavailable
from chatsvc.store.postgres.connection import PostgresConnection, PostgresTarget
from chatsvc.store.postgres.migrations import VERSION

_KEY = 0x63686174  # "chat"
_TRANSACTIONS = 0x63686175
_LOCK = f"({_KEY}, hashtext(coalesce(current_schema(), '')))"
# Begins a transaction that waits for those of the other processes.
BEGIN_IN_TURN = f"BEGIN; SELECT pg_advisory_xact_lock({_TRANSACTIONS}, hashtext(coalesce(current_schema(), '')))"
RETAKE_S = 12.0
_PAUSE_S = 0.2


class Replaced(StoreUnavailable):
    """Another process has worked on the store since this one lost its connection."""


def try_lock(connection: PostgresConnection) -> bool:
    """Take the lock if it is free."""
    (locked,) = connection.execute(f"SELECT pg_try_advisory_lock{_LOCK}").fetchone()
    return bool(locked)


def try_shared_lock(connection: PostgresConnection) -> bool:
    """Take the lock of the worker together with others, unless one works alone."""
    (locked,) = connection.execute(f"SELECT pg_try_advisory_lock_shared{_LOCK}").fetchone()
    return bool(locked)


def leave_to_several(connection: PostgresConnection) -> None:
    """Share the lock of the worker, which this session holds alone."""
    connection.execute(f"SELECT pg_advisory_lock_shared{_LOCK}, pg_advisory_unlock{_LOCK}")


def is_free(connection: PostgresConnection) -> bool:
    """Report whether nobody holds the lock."""
    (held,) = connection.execute(
        f"""
        SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = {_KEY} AND granted
            AND objid::bigint = hashtext(coalesce(current_schema(), ''))::bigint & 4294967295
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
        """
    ).fetchone()
    return not held


def note_worker(connection: PostgresConnection, token: bytes) -> None:
    """Note who works from now on."""
    connection.execute(f"UPDATE {VERSION} SET worker = ?", (token,))


def retake(connection: PostgresConnection, token: bytes, before: int, place: PostgresTarget) -> None:
    """Take the lock again after the session with the backend `before` broke.

    Raises Replaced and StoreUnavailable.
    """
    deadline = time.monotonic() + RETAKE_S
    while not try_lock(connection):
        # The server may not have noticed yet that the session is over.
        connection.execute(
            f"""
            SELECT pg_terminate_backend(pid) FROM pg_locks WHERE pid = ? AND locktype = 'advisory' AND classid = {_KEY} AND granted
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """,
            (before,),
        )
        if _worker(connection) != token:
            raise Replaced(f"another process has taken over {place.name}")
        if time.monotonic() > deadline:
            raise StoreUnavailable(f"{place.name}: another session holds the lock of this process")
        time.sleep(_PAUSE_S)
    if _worker(connection) != token:
        raise Replaced(f"another process has taken over {place.name}")


def _worker(connection: PostgresConnection) -> bytes | None:
    row = connection.execute(f"SELECT worker FROM {VERSION}").fetchone()
    return row[0] if row else None
