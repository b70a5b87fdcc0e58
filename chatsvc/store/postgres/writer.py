"""The writing session of a process: its row in the list of processes, its transactions, and commits in doubt.

Each transaction checks the row and the schema, and writes its own number into the row. If the answer to a commit is lost, this number shows
whether the commit took place. A process that the others have removed as dead drops the work that it had begun, and adds itself again.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

from chatsvc.domain.models import ServiceNode
from chatsvc.store import nodes
from chatsvc.store.batches import MAX_BATCH, Work, run_units
from chatsvc.store.database import StoreUnavailable
from chatsvc.store.master_key import MasterKey
from chatsvc.store.postgres.connection import STATEMENT_S, PostgresConnection, PostgresTarget, connect, connected
from chatsvc.store.postgres.migrations import VERSION, WAIT_TURN, migrate, schema_version
from chatsvc.store.postgres.thread import PostgresThread
from chatsvc.store.sqlite.migrations import newest

# Requests under way are refused within 10 s: these follow one after the other where the server is reached and does not answer.
PROBE_S = 2  # the least that libpq takes
RESOLVE_S = 2.0
_NUMBER = f"UPDATE nodes SET written = ? WHERE id = ? RETURNING (SELECT version FROM {VERSION})"


class _TakenForDead(StoreUnavailable):
    """The other processes took this process for dead, and deleted its row in `nodes`."""


class _Doubt(Exception):
    """The connection broke during a commit. `results` are the results of the units if the commit took place."""

    def __init__(self, results: list[Any], cause: BaseException) -> None:
        super().__init__()
        self.results, self.cause = results, cause


class Writer(PostgresThread):
    """The session that writes. `replaced` is set when a newer version uses the store, so that this process has to end."""

    def __init__(self, address: PostgresTarget, key: MasterKey | None, node: ServiceNode) -> None:
        super().__init__(self._open)
        self.address, self.node, self._key = address, node, key
        self._has_entered = False
        self._written = 0  # the number of the latest transaction
        self.leaves = False  # a process that ends does not enter anew
        self.replaced = asyncio.Event()
        self.queue: deque[Work] = deque()  # that of its BatchThread
        self._loop = asyncio.get_running_loop()

    def _open(self) -> PostgresConnection:
        """Open the session, at the start and again after it broke."""
        connection = connect(self.address, writes=True, statement_s=STATEMENT_S)
        try:
            if self._has_entered:
                self._check_version(schema_version(connection))
            else:
                migrate(connection, self.address, self._key)
                self._enter(connection)
                self._has_entered = True
        except BaseException:
            connection.close()
            raise
        return connection

    def _enter(self, connection: PostgresConnection) -> None:
        """Add the process to the list of processes. The number in its row remains that of its latest transaction."""
        with connection.driver.transaction():
            connection.execute(WAIT_TURN)
            nodes.note(connection, self.node)

    def _check_version(self, version: int) -> None:
        if version != newest():
            self._loop.call_soon_threadsafe(self.replaced.set)
            raise StoreUnavailable(f"a newer version has taken over {self.address.name}")

    def write(self, connection: PostgresConnection, batch: list[Work]) -> list[Any]:
        """Run `batch` and the units queued while it waited in one transaction. Return a result or Failed for each unit, in their order."""

        def run(connection: PostgresConnection) -> list[Any]:
            batch.extend(self.queue.popleft() for _ in range(min(len(self.queue), MAX_BATCH - len(batch))))
            return run_units(connection, batch)

        try:
            try:
                return self._in_transaction(connection, run)
            except (_Doubt, StoreUnavailable):
                raise
            except Exception:
                if not connection.is_usable:
                    raise
                # Nothing of the batch was written.
                with_savepoints = partial(run_units, batch=batch, is_open=lambda: connection.is_usable)
                return self._in_transaction(connection, with_savepoints, pipelined=False)
        except _TakenForDead:
            if not self.leaves:
                self._enter(connection)
            raise
        except _Doubt as doubt:
            if self._took_place():
                return doubt.results
            raise doubt.cause from None

    def _in_transaction(self, connection: PostgresConnection, run: Callable[[Any], list[Any]], *, pipelined: bool = True) -> list[Any]:
        """Wait for the turn of this process, and run units in a transaction. Raises _Doubt if its outcome is unknown.

        If `pipelined` is true, there is a round trip only when the result of a statement is needed. An error may then be raised in another
        unit than the one that caused it.
        """
        commits = False
        results: list[Any] = []
        self._written += 1
        try:
            with connection.pipeline() if pipelined else nullcontext():
                connection.execute("BEGIN")
                connection.execute(WAIT_TURN)
                row = connection.execute(_NUMBER, (self._written, self.node.id)).fetchone()
                if row is None:
                    raise _TakenForDead(f"{self.address.name}: the other processes had taken this one for dead")
                self._check_version(*row)
                results = run(connection)
                commits = True
                connection.execute("COMMIT")
        except BaseException as fault:
            if connection.is_usable:
                connection.driver.execute("ROLLBACK")
            elif commits:
                raise _Doubt(results, fault) from fault
            raise
        return results

    def _took_place(self) -> bool:
        """Report whether a commit in doubt took place. Return False if the server does not answer in time."""
        deadline = time.monotonic() + RESOLVE_S
        while time.monotonic() < deadline:
            with suppress(StoreUnavailable), connected(self.address, within_s=PROBE_S, statement_s=PROBE_S) as connection:
                connection.execute(WAIT_TURN)  # the commit has ended then
                row = connection.execute("SELECT written FROM nodes WHERE id = ?", (self.node.id,)).fetchone()
                return bool(row == (self._written,))
            time.sleep(0.2)
        return False
