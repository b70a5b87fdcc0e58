"""Database of a process over PostgreSQL: one session writes in batches, and several read.

It reconnects after a break, finds out whether the last commit took place, and sees every second whether the server answers.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from functools import partial
from typing import Any

from chatsvc import background
from chatsvc.domain.limiter import AccountVersion
from chatsvc.domain.models import ServiceNode
from chatsvc.store import nodes
from chatsvc.store.batches import READERS, BatchThread, Failed, Work, run_units
from chatsvc.store.database import Connection, Database, StoreUnavailable, Unit, Versioned
from chatsvc.store.master_key import MasterKey
from chatsvc.store.postgres.connection import STATEMENT_S, PostgresConnection, PostgresTarget, connect, connected, translated
from chatsvc.store.postgres.notices import PostgresNotices
from chatsvc.store.postgres.thread import AsideConnection, PostgresThread
from chatsvc.store.postgres.writer import PROBE_S, Writer

BEAT_S = 1.0
FOR_OTHERS = 3  # connections beside those that read: the one that writes, the one aside, and the one that hears notices
HUNG_S = 5.0  # after this, a session that does nothing for this process is taken for cut off
BLOCKS_S = 8.0  # after this, another process whose transaction waits for it, and for which this one waits, is taken for hung
SLOW_S = 3.0  # after this, a server that does not answer a new connection either is taken for gone
CLOSE_S = 5.0  # the longest that one piece of work holds up the end of a process


_WAITING_SESSIONS = """
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND usename = current_user
        AND (state <> 'active' OR wait_event_type = 'Client') AND state_change < clock_timestamp() - make_interval(secs => ?)
"""


# Ends sessions that hold up another one while they wait for their process, which hangs.
_END_BLOCKING = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE usename = current_user AND pid = ANY (pg_blocking_pids(?::int))
        AND wait_event_type = 'Client' AND state_change < clock_timestamp() - make_interval(secs => ?)
"""


def _read_batch(connection: PostgresConnection, batch: list[Work]) -> list[Any]:
    try:
        with connection.pipeline():
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            results = run_units(connection, batch)
            connection.execute("COMMIT")
    except Exception as fault:  # noqa: BLE001  # reported to the caller of the unit
        if connection.is_usable:
            connection.driver.execute("ROLLBACK")
        if len(batch) == 1 or not connection.is_usable:
            return [Failed(fault)] * len(batch)
        return [result for work in batch for result in _read_batch(connection, [work])]
    return results


def _vacuum(connection: PostgresConnection) -> None:
    for statement in ("SET statement_timeout = 0", "VACUUM", "RESET statement_timeout"):
        connection.execute(statement)


class PostgresDatabase(Database):
    """The Database of one of several processes, made by `open`. `fault` is the reason why the store cannot be used, or None.

    `aside` is a connection for statements outside of transactions. `notices` sends notices to the other processes and receives theirs.
    """

    def __init__(self, writer: Writer, readers: list[PostgresThread], batches: list[BatchThread]) -> None:
        super().__init__(batches[0], batches[1:])
        self._address, self.node = writer.address, writer.node.id
        self.aside = AsideConnection(writer.address)
        self.aside.fault = lambda: self.fault
        self.notices = PostgresNotices(writer.address, self.aside, writer.node.id)
        self._writer, self.replaced = writer, writer.replaced
        self._threads = [writer, *readers, self.aside]
        self._beating = background.run("connection to PostgreSQL", self._beat, BEAT_S)

    @classmethod
    async def open(
        cls, address: PostgresTarget, key: MasterKey | None = None, *, readers: int = READERS, node: ServiceNode
    ) -> PostgresDatabase:
        """Migrate, add this process to the list of processes and start the threads; raises StoreUnavailable and SchemaTooNew.

        `key` must be the master key of the store if the store has one already.
        `node` is this process, whose row has to be renewed within DEAD_AFTER_MS.
        """
        writer = Writer(address, key, node)
        reading = [PostgresThread(partial(connect, address, writes=False, statement_s=STATEMENT_S)) for _ in range(readers)]
        translate = partial(translated, address=address)
        try:
            for thread in (writer, *reading):
                await thread.run(lambda _: None)
        except BaseException as fault:  # noqa: BLE001  # raised again
            for thread in (*reversed(reading), writer):
                await thread.close()
            raise translate(fault) from None
        batches = [BatchThread("writer", writer, writer.write, translate)]
        writer.queue = batches[0].queue
        batches += [BatchThread("reader", thread, _read_batch, translate) for thread in reading]
        return cls(writer, reading, batches)

    async def _beat(self) -> None:
        """Keep the writer's session alive, and find out whether the server answers."""
        now = time.monotonic()
        late = [thread for thread in self._threads if thread.busy_since is not None and now - thread.busy_since > SLOW_S]
        if late:
            try:
                hung = await asyncio.to_thread(self._hung, late)
            except StoreUnavailable as fault:
                hung, self.fault = late, str(fault)
                for batches in (self.writer, *self.readers):
                    batches.refuse_waiting(self.fault)
            else:
                if self._writer in hung:
                    self.fault = f"{self._address.name}: the session that writes does not answer"
            for thread in hung:
                thread.interrupt()
            return
        if not self.writer.load:
            await asyncio.wait([background.start("sign of life of PostgreSQL", self._ask())], timeout=BEAT_S)

    async def _ask(self) -> None:
        """Check that the server answers, and set or clear `fault`. If the server hangs, the next beat finds the writer late."""
        try:
            await self.writer.run(lambda connection: connection.execute("SELECT 1").fetchone())
        except StoreUnavailable as fault:
            self.fault = str(fault)
        else:
            self.fault = None

    def _hung(self, late: list[PostgresThread]) -> list[PostgresThread]:
        """Return the threads in `late` whose sessions hang in the server. Raise StoreUnavailable if the server does not answer."""
        with connected(self._address, within_s=PROBE_S) as connection:
            connection.execute(_END_BLOCKING, (self._writer.backend, BLOCKS_S))
            waiting = connection.execute(_WAITING_SESSIONS, (HUNG_S,)).fetchall()
            return [thread for thread in late if (thread.backend,) in waiting]

    def check_usable(self, *, writes: bool = True) -> None:
        """Raise StoreUnavailable if the store cannot be used. If it cannot be written, it cannot be read either. `_beat` sets `fault`."""
        del writes
        if self.replaced.is_set() and not self.is_closed:
            raise StoreUnavailable(f"{self._address.name}: a newer version or another master key is in force")
        super().check_usable()

    async def versioned(self, account_id: str, unit: Unit[Any]) -> Versioned:
        """Run a reading unit. Return its result with the version of an account, read on the same snapshot."""

        def both(connection: Connection) -> Versioned:
            row = connection.execute("SELECT settings, activity FROM chatsvc_versions WHERE account_id = ?", (account_id,)).fetchone()
            return Versioned(unit(connection), AccountVersion(*row) if row else AccountVersion(0, 0))

        return await self.read(both)

    async def size(self) -> int:
        """Return the size of the database in bytes, without the server's logs; raises StoreUnavailable."""
        row: tuple[int] = await self.read(lambda connection: connection.execute("SELECT pg_database_size(current_database())").fetchone())
        return row[0]

    def fill_backup(self, file: Any) -> None:
        """Copy a snapshot of the store into a new SQLite database, like Database.fill_backup."""
        from chatsvc.store.postgres.copying import write_to
        from chatsvc.store.sqlite.backup import copy_rows

        copy_rows(partial(write_to, self._address), file)

    async def purge(self) -> None:
        """Remove all traces of deleted rows, like Database.purge."""
        self.check_usable()
        await self.writer.apart(_vacuum)

    async def close(self) -> None:
        """Close the database, and remove the process from the list of processes. Work that takes longer than CLOSE_S is cut off."""
        if self.is_closed:
            return
        cutting = background.run("sessions that end late", self._cut_late, CLOSE_S / 2)
        self._writer.leaves = True
        with suppress(StoreUnavailable):
            await nodes.remove(self, self._writer.node.id)
        self.is_closed = True
        await background.cancel(self._beating)
        await self.notices.close()
        await asyncio.gather(*(thread.close() for thread in (*self.readers, self.writer)))
        await self.aside.close()
        await background.cancel(cutting)

    async def _cut_late(self) -> None:
        """Close the sessions whose work has taken longer than CLOSE_S. Most of them wait for a server that does not answer."""
        for thread in self._threads:
            if thread.busy_since is not None and time.monotonic() - thread.busy_since > CLOSE_S:
                thread.interrupt()
