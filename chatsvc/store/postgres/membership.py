"""Ways in which a process works on a store: alone, or as one of several.

Alone, it holds the lock of the worker. Several share that lock, which keeps one that works alone out. Their transactions run one at a
time, each under a lock of its own, so that units find the store as with one process. And each checks that the other processes have not
removed this one from the list, since then its turns and queues are theirs.
"""

from __future__ import annotations

import os
from typing import Protocol

from chatsvc.domain.nodes import ServiceNode
from chatsvc.store import nodes
from chatsvc.store.database import StoreInUse, StoreUnavailable
from chatsvc.store.postgres.connection import PostgresConnection, PostgresTarget
from chatsvc.store.postgres.lock import BEGIN_IN_TURN, Replaced, leave_to_several, note_worker, retake, try_lock, try_shared_lock
from chatsvc.store.postgres.migrations import is_current, migrate

_TRANSACTION = "pg_current_xact_id()::text"


class Membership(Protocol):
    """Part of a process in the work on a store.

    begin: statements that begin a transaction; the last one returns its number, and whether the process may still write.
    """

    begin: str

    def enter(self, connection: PostgresConnection, place: PostgresTarget) -> None:
        """Take up the work, once; raises StoreInUse, and what migrations raise."""
        ...

    def enter_again(self, connection: PostgresConnection, place: PostgresTarget, before: int) -> None:
        """Go on after the session with the backend `before` broke. Raises Replaced and StoreUnavailable."""
        ...


class SoleWorker:
    """Membership of a process that works alone."""

    begin = f"BEGIN; SELECT {_TRANSACTION}, true"

    def __init__(self) -> None:
        self._token = os.urandom(16)

    def enter(self, connection: PostgresConnection, place: PostgresTarget) -> None:
        """See Membership.enter."""
        if not try_lock(connection):
            raise StoreInUse(f"another process works on {place.name}")
        migrate(connection, place)
        note_worker(connection, self._token)

    def enter_again(self, connection: PostgresConnection, place: PostgresTarget, before: int) -> None:
        """See Membership.enter_again."""
        retake(connection, self._token, before, place)


class SharedWorker:
    """Membership of one of several processes. It is in the list of processes before its first transaction."""

    begin = f"{BEGIN_IN_TURN}; SELECT {_TRANSACTION}, EXISTS (SELECT 1 FROM nodes WHERE id = current_setting('chatsvc.node'))"

    def __init__(self, node: ServiceNode) -> None:
        self._node = node

    def enter(self, connection: PostgresConnection, place: PostgresTarget) -> None:
        """See Membership.enter. The first of a newer version migrates, once those of the older one have ended."""
        if not is_current(connection, place):
            if not try_lock(connection):
                raise StoreInUse(f"another process works on {place.name}")
            migrate(connection, place)
            leave_to_several(connection)
        elif not try_shared_lock(connection):
            raise StoreInUse(f"a process without coordination works on {place.name}")
        self._name(connection)
        connection.run_script(BEGIN_IN_TURN)
        nodes.note(connection, self._node)
        connection.driver.execute("COMMIT")

    def enter_again(self, connection: PostgresConnection, place: PostgresTarget, before: int) -> None:
        """See Membership.enter_again. Whether the process is still in the list, each transaction checks."""
        del before
        if not is_current(connection, place):
            raise Replaced(f"a newer version has taken over {place.name}")
        if not try_shared_lock(connection):
            raise StoreUnavailable(f"{place.name}: a process without coordination holds the lock")
        self._name(connection)

    def _name(self, connection: PostgresConnection) -> None:
        """Name the process of a session, for its transactions."""
        connection.execute("SELECT set_config('chatsvc.node', ?, false)", (self._node.id,))
