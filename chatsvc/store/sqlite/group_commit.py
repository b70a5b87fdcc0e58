"""Group commit. The database of a process, with one thread that writes and several that read.

A durable commit costs an fsync, however much it writes. While one batch is being flushed, the units that arrive form the next; each
caller is answered after the commit of its batch. A single caller waits no longer than with a commit of its own. Neighbouring units of
one kind in a batch run together.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import groupby
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

from chatsvc import background
from chatsvc.domain.tallies import SIZES, Histogram
from chatsvc.store.database import StoreUnavailable, Together, Unit
from chatsvc.store.master_key import MasterKey
from chatsvc.store.sqlite.connection import connect, empty_log, in_transaction, is_outage, outage, purge, translated
from chatsvc.store.sqlite.thread import SqliteThread

T = TypeVar("T")
MAX_BATCH = 256
READERS = 3  # one of them for quick reads alone, which then never wait for long ones
EMPTY_LOG_TRIES = 60
EMPTY_LOG_PAUSE_S = 1.0


class _Work(NamedTuple):
    unit: Unit[Any]
    applied: Callable[[Any], None] | None
    answer: asyncio.Future[Any]


class _Failed(NamedTuple):
    """Result of a unit that raised; its part of the transaction was rolled back."""

    fault: Exception


def _by_kind(batch: list[_Work]) -> Iterator[tuple[Callable[..., list[Any]] | None, list[Unit[Any]]]]:
    """Group neighbouring units of one kind, each group with the function that runs it together."""
    for run, works in groupby((work.unit for work in batch), lambda unit: unit.run if isinstance(unit, Together) else None):
        yield run, list(works)


def _together(connection: sqlite3.Connection, run: Callable[..., list[Any]], units: list[Any]) -> list[Any]:
    return run(connection, [unit.item for unit in units])


def _write_batch(connection: sqlite3.Connection, batch: list[_Work]) -> list[Any]:
    """Run all units in one transaction. Return results and _Failed in the order of the units."""

    def all_of_them(connection: sqlite3.Connection) -> list[Any]:
        results: list[Any] = []
        for run, units in _by_kind(batch):
            results += _together(connection, run, units) if run else [unit(connection) for unit in units]
        return results

    def each_by_itself(connection: sqlite3.Connection) -> list[Any]:
        results: list[Any] = []
        for work in batch:
            connection.execute("SAVEPOINT unit")
            try:
                results.append(work.unit(connection))
            except Exception as fault:
                # An error such as a full disk rolls back the whole transaction.
                if not connection.in_transaction:
                    raise
                connection.execute("ROLLBACK TO unit")
                results.append(_Failed(fault))
            connection.execute("RELEASE unit")
        return results

    try:
        return in_transaction(connection, all_of_them)
    except Exception:  # noqa: BLE001  # reported below, to the caller of the unit that raised it
        # Nothing of the batch was written. Again, with a savepoint for each unit, so that a fault rolls back one unit only.
        return in_transaction(connection, each_by_itself)


def _result(connection: sqlite3.Connection, unit: Unit[Any]) -> Any:
    try:
        return unit(connection)
    except Exception as fault:  # noqa: BLE001  # reported to the caller of the unit
        return _Failed(fault)


def _on_one_snapshot(connection: sqlite3.Connection, units: list[Unit[Any]]) -> list[Any]:
    connection.execute("BEGIN")
    try:
        return [_result(connection, unit) for unit in units]
    finally:
        connection.execute("COMMIT")


def _read_batch(connection: sqlite3.Connection, batch: list[_Work]) -> list[Any]:
    """Run all units, each on one snapshot. Return results and _Failed in the order of the units."""
    results: list[Any] = []
    for run, units in _by_kind(batch):
        if run is None:
            results += _on_one_snapshot(connection, units)
            continue
        try:
            results += _together(connection, run, units)
        except Exception:  # noqa: BLE001  # reported below, to the caller of the unit that raised it
            results += [_result(connection, unit) for unit in units]
    return results


class _BatchThread:
    """Queue of units for one connection. Units that arrive while a batch runs form the next batch."""

    def __init__(self, thread: SqliteThread, path: Path, run_batch: Callable[[sqlite3.Connection, list[_Work]], list[Any]]) -> None:
        self._thread = thread
        self._path = path
        self._run_batch = run_batch
        self._name = "writer" if run_batch is _write_batch else "reader"
        self.queue: deque[_Work] = deque()
        self.under_way = 0
        # Since the start: units in a batch, seconds for a batch, units that failed through an outage.
        self.sizes, self.seconds, self.outages = Histogram(SIZES), Histogram(), 0
        self._loop = asyncio.get_running_loop()
        self._has_work = asyncio.Event()
        self._draining = background.run(self._name, self._drain, 0.0)

    @classmethod
    async def open(cls, path: Path, *, writes: bool, key: MasterKey | None = None) -> _BatchThread:
        thread = await SqliteThread.open(partial(connect, path, writes=writes, key=key))
        return cls(thread, path, _write_batch if writes else _read_batch)

    async def run(self, unit: Unit[T], applied: Callable[[T], None] | None = None) -> T:
        """Run a unit in the next batch; raises its exception, StoreUnavailable and StoreFault."""
        answer: asyncio.Future[T] = self._loop.create_future()
        self.queue.append(_Work(unit, applied, answer))
        self._has_work.set()
        return await answer

    async def _drain(self) -> None:
        while True:
            await self._has_work.wait()
            batch = [self.queue.popleft() for _ in range(min(len(self.queue), MAX_BATCH))]
            self.under_way = len(batch)
            began = perf_counter()
            try:
                results = await self._thread.run(self._run_batch, batch)
            except Exception as fault:  # noqa: BLE001  # reported to all callers of the batch
                results = [_Failed(fault)] * len(batch)
            try:
                self._answer(batch, results, perf_counter() - began)
            finally:
                # After an unexpected fault no caller waits for ever.
                for work in batch:
                    if not work.answer.done():
                        work.answer.set_exception(StoreUnavailable("the result was lost; the log tells why"))
                self.under_way = 0
                if not self.queue:
                    self._has_work.clear()
            # The thread keeps references to both until its next batch, and what was read may be large.
            batch.clear()
            results.clear()

    def _answer(self, batch: list[_Work], results: list[Any], seconds: float) -> None:
        self.seconds.note(seconds)
        self.sizes.note(len(batch))
        for work, result in zip(batch, results, strict=True):
            if isinstance(result, _Failed) and is_outage(result.fault):
                self.outages += 1
            _settle(work, result, self._path)

    async def apart(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run work that cannot be part of a transaction between two batches; raises StoreUnavailable."""
        try:
            return await self._thread.run(work)
        except sqlite3.Error as fault:
            raise translated(fault, self._path) from fault

    async def close(self) -> None:
        """Run the queued units and close the connection."""
        if self._draining.done():
            return
        # Units run in their order, so this one is the last.
        with suppress(StoreUnavailable):
            await self.run(lambda _: None)
        await background.cancel(self._draining)
        await self._thread.close()


def _settle(work: _Work, result: Any, path: Path) -> None:
    fault = result.fault if isinstance(result, _Failed) else None
    if fault is None and work.applied:
        try:
            work.applied(result)
        except Exception as raised:  # noqa: BLE001  # reported to the caller of the unit
            fault = raised
    # The caller may have been cancelled; its unit is committed all the same.
    if work.answer.done():
        return
    if fault is None:
        work.answer.set_result(result)
    else:
        work.answer.set_exception(translated(fault, path))


def _identity(file: Path) -> tuple[int, int] | None:
    """Device and inode of a file, None if there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class GroupCommitDatabase:
    """The Database of the service and of commands; made by `open`. `writer` and `readers` are public for the metrics.

    fault: why nothing is written, None while all is well.
    """

    def __init__(self, writer: _BatchThread, readers: list[_BatchThread], path: Path) -> None:
        self.writer = writer
        self.readers = readers
        self.fault: str | None = None
        self._closed = False
        self._files = {file: _identity(file) for file in (path, path.with_name(f"{path.name}-wal"))}

    @classmethod
    async def open(cls, path: Path, key: MasterKey | None = None, *, readers: int = READERS) -> GroupCommitDatabase:
        """Open the file, migrate it and start the threads; raises StoreUnavailable and SchemaTooNew. See connect for `key`.

        Without readers, as in a command, the writer's thread reads.
        """
        opened: list[_BatchThread] = []
        try:
            opened.append(await _BatchThread.open(path, writes=True, key=key))
            while len(opened) <= readers:
                opened.append(await _BatchThread.open(path, writes=False))
        except BaseException as fault:
            for thread in reversed(opened):
                await thread.close()
            if isinstance(fault, sqlite3.Error):
                raise outage(fault, path, f"{path} cannot be opened") from fault
            raise
        return cls(opened[0], opened[1:], path)

    def check_files(self) -> None:
        """Set `fault` while the database or its log is not the open file.

        Writes would be lost with the open file, which has no name any more.
        """
        changed = [file for file, identity in self._files.items() if _identity(file) != identity]
        self.fault = (
            f"{changed[0]} was removed or replaced while the service runs: put it back and restart the service" if changed else None
        )

    async def read(self, unit: Unit[T]) -> T:
        """See Database.read."""
        if self._closed:
            raise StoreUnavailable("the store is closed")
        if not self.readers:
            return await self.writer.run(unit)
        quick, *others = self.readers
        reader = quick if isinstance(unit, Together) else min(others, key=lambda thread: len(thread.queue) + thread.under_way)
        return await reader.run(unit)

    async def write(self, unit: Unit[T], applied: Callable[[T], None] | None = None) -> T:
        """See Database.write."""
        self._check_writable()
        return await self.writer.run(unit, applied)

    def _check_writable(self) -> None:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        if self.fault:
            raise StoreUnavailable(self.fault)

    async def purge(self) -> None:
        """See Database.purge."""
        self._check_writable()
        empty = await self.writer.apart(purge)
        for _ in range(EMPTY_LOG_TRIES):
            if empty:
                return
            await asyncio.sleep(EMPTY_LOG_PAUSE_S)
            empty = await self.writer.apart(empty_log)
        raise StoreUnavailable("the write-ahead log could not be emptied: something reads for long, a backup perhaps; try again later")

    async def close(self) -> None:
        """See Database.close. The writer closes last: the last connection to close checkpoints."""
        self._closed = True
        for thread in (*self.readers, self.writer):
            await thread.close()
