"""Database of a process over PostgreSQL: one session writes in batches, and several read.

It reconnects after a break, finds out whether the last commit took place, and sees every second whether the server answers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import psycopg

from chatsvc import background
from chatsvc.domain.limiter import AccountVersion
from chatsvc.domain.nodes import ServiceNode
from chatsvc.store import nodes
from chatsvc.store.batches import READERS, BatchThread, Failed, Work, all_of_them, by_kind, least_busy, result_of, together
from chatsvc.store.database import Connection, StoreUnavailable, Unit, Versioned
from chatsvc.store.master_key import MasterKey
from chatsvc.store.postgres.aside import AsideConnection
from chatsvc.store.postgres.connection import STATEMENT_S, PostgresConnection, PostgresTarget, connect, outage, translated
from chatsvc.store.postgres.membership import Membership, Replaced
from chatsvc.store.postgres.migrations import check_key, check_schema
from chatsvc.store.postgres.notices import PostgresNotices
from chatsvc.store.postgres.thread import PostgresThread

T = TypeVar("T")
BEAT_S = 1.0
FOR_OTHERS = 3  # connections beside those that read: the one that writes, the one aside, and the one that hears notices
HUNG_S = 5.0  # after this, a session that does nothing for this process is taken for cut off
LOST_S = 10.0  # after this without a beat the others have taken this process for dead
SLOW_S = 3.0  # after this, a server that does not answer a new connection either is taken for gone
# Requests under way are refused within 10 s: these follow one after the other where the server is reached and does not answer.
PROBE_S = 2  # the least that libpq takes
RESOLVE_S = 2.0
CLOSE_S = 5.0  # the longest that one piece of work holds up the end of a process


_WAITING_SESSIONS = """
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND usename = current_user
        AND (state <> 'active' OR wait_event_type = 'Client') AND state_change < clock_timestamp() - make_interval(secs => ?)
"""


class _Doubt(Exception):
    """The connection broke during a commit: `transaction` tells whether it took place."""

    def __init__(self, transaction: str, results: list[Any], cause: psycopg.Error) -> None:
        super().__init__(transaction)
        self.transaction, self.results, self.cause = transaction, results, cause


def _in_transaction(connection: PostgresConnection, membership: Membership, run: Callable[[PostgresConnection], list[Any]]) -> list[Any]:
    """Run units in a transaction. Raises _Doubt if its outcome is unknown, and what Membership.begin raises."""
    transaction = membership.begin(connection)
    try:
        results = run(connection)
    except BaseException:
        if connection.is_usable:
            connection.driver.execute("ROLLBACK")
        raise
    try:
        connection.driver.execute("COMMIT")
    except psycopg.OperationalError as fault:
        raise _Doubt(transaction, results, fault) from fault
    return results


def _write_batch(connection: PostgresConnection, membership: Membership, batch: list[Work]) -> list[Any]:
    """Run all units in one transaction. Return results and Failed in the order of the units."""

    def each_by_itself(connection: PostgresConnection) -> list[Any]:
        results: list[Any] = []
        for work in batch:
            connection.driver.execute("SAVEPOINT unit")
            try:
                results.append(work.unit(connection))
            except Exception as fault:
                if not connection.is_usable:
                    raise
                connection.driver.execute("ROLLBACK TO unit")
                results.append(Failed(fault))
            connection.driver.execute("RELEASE unit")
        return results

    try:
        return _in_transaction(connection, membership, partial(all_of_them, batch=batch))
    except (_Doubt, StoreUnavailable):
        raise
    except Exception:
        if not connection.is_usable:
            raise
        # Nothing of the batch was written. Again, with a savepoint for each unit, so that a fault rolls back one unit only.
        return _in_transaction(connection, membership, each_by_itself)


def _on_one_snapshot(connection: PostgresConnection, units: list[Unit[Any]]) -> list[Any]:
    connection.driver.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    try:
        results = [result_of(connection, unit) for unit in units]
    finally:
        failed = not connection.is_usable or connection.in_failed_transaction
        if connection.is_usable:
            connection.driver.execute("ROLLBACK" if failed else "COMMIT")
    if failed and len(units) > 1 and connection.is_usable:
        # One of them failed, and with it all behind it.
        return [result for unit in units for result in _on_one_snapshot(connection, [unit])]
    return results


def _read_batch(connection: PostgresConnection, batch: list[Work]) -> list[Any]:
    """Run all units, each on one snapshot. Return results and Failed in the order of the units."""
    results: list[Any] = []
    for run, units in by_kind(batch):
        if run is None:
            results += _on_one_snapshot(connection, units)
            continue
        try:
            results += together(connection, run, units)
        except Exception:  # noqa: BLE001  # reported below, to the caller of the unit that raised it
            results += [result_of(connection, unit) for unit in units]
    return results


class _Writer(PostgresThread):
    """The session that writes. After it broke, it finds out what became of its last commit."""

    def __init__(self, place: PostgresTarget, key: MasterKey | None, name: str, membership: Membership) -> None:
        super().__init__(self._open)
        self._place, self._key, self._name = place, key, name
        self._membership = membership
        self._has_entered = False
        self._doubts: list[tuple[str, Callable[[], None]]] = []
        self.replaced = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def _open(self) -> PostgresConnection:
        connection = connect(self._place, writes=True, name=self._name)
        try:
            if not self._has_entered:
                check_schema(connection, self._place)
                if self._key is not None:
                    check_key(connection, self._key)
                self._membership.enter(connection)
                self._has_entered = True
            else:
                self._membership.enter_again(connection)
                while self._doubts:
                    transaction, settle = self._doubts[0]
                    if transaction_status(connection, transaction) == "committed":
                        self._loop.call_soon_threadsafe(settle)
                    self._doubts.pop(0)
        except BaseException as fault:
            connection.close()
            self._note(fault)
            raise
        return connection

    def _note(self, fault: BaseException) -> None:
        if isinstance(fault, Replaced):
            self._loop.call_soon_threadsafe(self.replaced.set)

    def write(self, connection: PostgresConnection, batch: list[Work]) -> list[Any]:
        """Run a batch. A commit in doubt is resolved as soon as the server answers again."""
        try:
            return _write_batch(connection, self._membership, batch)
        except Replaced as fault:
            self._note(fault)
            raise
        except _Doubt as doubt:
            results, deadline = doubt.results, time.monotonic() + RESOLVE_S
            self._doubts.append((doubt.transaction, partial(_apply, list(batch), results)))
            while time.monotonic() < deadline:
                try:
                    again = connect(self._place, writes=False, name=self._name, within_s=PROBE_S)
                except StoreUnavailable:
                    time.sleep(0.2)
                    continue
                try:
                    status = transaction_status(again, doubt.transaction)
                    if status != "in progress":
                        self._doubts.pop()
                        if status == "committed":
                            return results
                        break
                finally:
                    again.close()
                time.sleep(0.2)
            raise outage(doubt.cause, self._place) from None


def _apply(batch: list[Work], results: list[Any]) -> None:
    """Call `applied` for units whose commit was found late; their callers have been refused."""
    for work, result in zip(batch, results, strict=True):
        if work.applied and not isinstance(result, Failed):
            work.applied(result)


def transaction_status(connection: PostgresConnection, transaction: str) -> str | None:
    """Return `committed`, `aborted` or `in progress`. None for one that the server has not had, as after a failover."""
    try:
        (status,) = connection.execute("SELECT pg_xact_status(?::xid8)", (transaction,)).fetchone()
    except psycopg.errors.InvalidParameterValue:
        return None
    return str(status) if status else None


def _connect_reader(place: PostgresTarget, name: str) -> PostgresConnection:
    connection = connect(place, writes=False, name=name)
    connection.set_statement_timeout(STATEMENT_S)
    return connection


def _vacuum(connection: PostgresConnection) -> None:
    connection.set_statement_timeout(0)
    connection.driver.execute("VACUUM")
    connection.set_statement_timeout(STATEMENT_S)


class PostgresDatabase:
    """The Database of one of any number of processes; made by `open`. `writer` and `readers` are public for the metrics.

    fault: why the store cannot be used, None while all is well. replaced: set once a newer version has taken over.
    aside: the connection for what is no transaction. notices: to and from the other processes.
    """

    def __init__(
        self, place: PostgresTarget, threads: list[PostgresThread], batches: list[BatchThread], membership: Membership, name: str
    ) -> None:
        self._place, self._membership = place, membership
        self.node: str | None = membership.node.id
        self.aside = AsideConnection(place, name)
        self.aside.fault = lambda: self.fault
        self.notices = PostgresNotices(place, self.aside, membership.node.id)
        self._threads = [*threads, self.aside]
        self.writer, self.readers = batches[0], batches[1:]
        self.fault: str | None = None
        self._closed = False
        self._reached_at = time.monotonic()
        writer = threads[0]
        if not isinstance(writer, _Writer):
            raise TypeError("the first thread writes")
        self.replaced = writer.replaced
        self._beating = background.run("connection to PostgreSQL", self._beat, BEAT_S)

    @classmethod
    async def open(
        cls,
        place: PostgresTarget,
        key: MasterKey | None = None,
        *,
        readers: int = READERS,
        name: str = "chatsvc",
        node: ServiceNode,
    ) -> PostgresDatabase:
        """Migrate, enter the list of processes and start the threads; raises StoreUnavailable and SchemaTooNew.

        key: must be the store's, where it has one already. Without readers, as in a command, the writer's thread reads.
        node: this process, which has to be noted again within DEAD_AFTER_MS.
        """
        membership = Membership(node, place)
        writer = _Writer(place, key, name, membership)
        threads: list[PostgresThread] = [writer]
        translate = partial(translated, place=place)
        try:
            await writer.run(lambda _: None)
            while len(threads) <= readers:
                threads.append(await PostgresThread.open(partial(_connect_reader, place, name)))
        except BaseException as fault:
            for thread in reversed(threads):
                await thread.close()
            if isinstance(fault, psycopg.Error):
                raise translate(fault) from None
            raise
        batches = [BatchThread("writer", writer, writer.write, translate)]
        batches += [BatchThread("reader", thread, _read_batch, translate) for thread in threads[1:]]
        return cls(place, threads, batches, membership, name)

    async def _beat(self) -> None:
        """Keep the writer's session alive, and find out whether the server answers."""
        now = time.monotonic()
        late = [one for one in self._threads if one.busy_since is not None and now - one.busy_since > SLOW_S]
        if late:
            try:
                hung = await asyncio.to_thread(self._hung, late)
            except StoreUnavailable as fault:
                hung, self.fault = late, str(fault)
                for batches in (self.writer, *self.readers):
                    batches.refuse_waiting(self.fault)
            else:
                self._reached_at = now
                if self._threads[0] in hung:
                    self.fault = f"{self._place.name}: the session that writes does not answer"
            for one in hung:
                one.interrupt()
            return
        if self.writer.under_way or self.writer.queue:
            self._reached_at = now
            return
        await asyncio.wait([background.start("sign of life of PostgreSQL", self._ask())], timeout=BEAT_S)

    async def _ask(self) -> None:
        """Ask the server for a sign of life. Where it hangs, the next beat finds the writer late."""
        asked = time.monotonic()
        try:
            await self.writer.run(lambda connection: connection.execute("SELECT 1").fetchone())
        except StoreUnavailable as fault:
            self.fault = str(fault)
        else:
            self.fault, self._reached_at = None, asked

    @property
    def lost(self) -> str | None:
        """See Database.lost. A process that was stopped for a while finds it out here first."""
        if self.replaced.is_set():
            return f"{self._place.name}: a newer version or another master key is in force"
        if self.fault is None and time.monotonic() - self._reached_at > LOST_S:
            return f"{self._place.name} was not reached for {LOST_S:g} s"
        return self.fault

    def check(self) -> None:
        """See StoreDatabase.check. Nothing: the beat sets `fault`."""

    def _hung(self, late: list[PostgresThread]) -> list[PostgresThread]:
        """Return those whose session waits, while they wait for it. Raises StoreUnavailable if the server does not answer."""
        connection = connect(self._place, writes=False, within_s=PROBE_S)
        try:
            waiting = connection.execute(_WAITING_SESSIONS, (HUNG_S,)).fetchall()
            return [one for one in late if (one.backend,) in waiting]
        except psycopg.Error as fault:
            raise outage(fault, self._place) from None
        finally:
            connection.close()

    def _check_usable(self) -> None:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        fault = self.lost if self.replaced.is_set() else self.fault
        if fault:
            raise StoreUnavailable(fault)

    async def read(self, unit: Unit[T]) -> T:
        """See Database.read."""
        self._check_usable()
        if not self.readers:
            return await self.writer.run(unit)
        return await least_busy(self.readers, unit).run(unit)

    async def versioned(self, account_id: str, unit: Unit[Any]) -> Versioned:
        """Run a reading unit, with the version of an account on the same snapshot."""

        def both(connection: Connection) -> Versioned:
            row = connection.execute("SELECT settings, activity FROM chatsvc_versions WHERE account_id = ?", (account_id,)).fetchone()
            return Versioned(unit(connection), AccountVersion(*row) if row else AccountVersion(0, 0))

        return await self.read(both)

    async def write(self, unit: Unit[T], applied: Callable[[T], None] | None = None) -> T:
        """See Database.write."""
        self._check_usable()
        return await self.writer.run(unit, applied)

    async def size(self) -> int:
        """See Database.size. The server's logs do not count."""
        found: tuple[int] = await self.read(lambda connection: connection.execute("SELECT pg_database_size(current_database())").fetchone())
        return found[0]

    def backup_source(self) -> Callable[[Any], None]:
        """See Database.backup_source."""
        from chatsvc.store.postgres.copying import write_to
        from chatsvc.store.sqlite.backup import of_rows

        return of_rows(partial(write_to, self._place))

    async def purge(self) -> None:
        """See Database.purge."""
        self._check_usable()
        await self.writer.apart(_vacuum)

    async def close(self) -> None:
        """See Database.close. The process leaves the list. Work that takes longer than CLOSE_S is cut off."""
        if self._closed:
            return
        cutting = background.run("sessions that end late", self._cut_late, CLOSE_S / 2)
        self._membership.leaves = True
        with suppress(StoreUnavailable):
            await nodes.remove(self, self._membership.node.id)
        self._closed = True
        await background.cancel(self._beating)
        await self.notices.close()
        await asyncio.gather(*(thread.close() for thread in (*self.readers, self.writer)))
        await self.aside.close()
        await background.cancel(cutting)

    async def _cut_late(self) -> None:
        """Cut the sessions whose work takes longer than a process that ends may take: most wait for an answer that does not come."""
        for one in self._threads:
            if one.busy_since is not None and time.monotonic() - one.busy_since > CLOSE_S:
                one.interrupt()
