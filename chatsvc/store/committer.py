"""The database of the running service: one thread that writes, with all that waits in one transaction, and threads that read.

A durable commit costs an fsync, whoever waits for it. While one batch is on its way to the disk, the units that arrive form the
next; each is answered after the commit that holds it. A single caller waits no longer than with a commit of its own.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import aiosqlite

from chatsvc.store.database import StoreUnavailable, Unit, connect, in_transaction, is_outage

T = TypeVar("T")
MAX_BATCH = 256
READERS = 2


class _Work(NamedTuple):
    unit: Unit[Any]
    applied: Callable[[Any], None] | None
    answer: asyncio.Future[Any]


class _Failed(NamedTuple):
    """A unit that raised: its part of the transaction was undone."""

    fault: Exception


def _run_batch(connection: sqlite3.Connection, batch: list[_Work]) -> list[Any]:
    """Run all units in one transaction, each behind a savepoint; results and _Failed in the order of the units."""

    def all_of_them(connection: sqlite3.Connection) -> list[Any]:
        results: list[Any] = []
        for work in batch:
            connection.execute("SAVEPOINT unit")
            try:
                results.append(work.unit(connection))
            except Exception as fault:
                # A full disk and its like undo the whole transaction, the units before this one with it.
                if not connection.in_transaction:
                    raise
                connection.execute("ROLLBACK TO unit")
                results.append(_Failed(fault))
            connection.execute("RELEASE unit")
        return results

    return in_transaction(connection, all_of_them)


def _read(connection: sqlite3.Connection, unit: Unit[T]) -> T:
    connection.execute("BEGIN")
    try:
        return unit(connection)
    finally:
        connection.execute("COMMIT")


def _as_outage(fault: Exception) -> Exception:
    if is_outage(fault):
        outage = StoreUnavailable(str(fault))
        outage.__cause__ = fault
        return outage
    return fault


class _Thread:
    """A connection in its own thread, to which a whole unit of work goes in one hop."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection
        self.waiting = 0

    @classmethod
    async def open(cls, path: Path, *, writes: bool) -> _Thread:
        connection = aiosqlite.Connection(partial(connect, path, writes=writes), iter_chunk_size=64)
        try:
            return cls(await connection)
        except BaseException:
            # aiosqlite has told its thread to end, and the thread tells the event loop when it does: before that is closed.
            connection._thread.join()
            raise

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        self.waiting += 1
        try:
            # aiosqlite's public calls take one hop a statement; a unit of work is one hop here.
            return await self._connection._execute(work, self._connection._conn, *arguments)  # type: ignore[no-any-return, no-untyped-call]
        except sqlite3.Error as fault:
            raise _as_outage(fault) from fault
        finally:
            self.waiting -= 1

    async def close(self) -> None:
        await self._connection.close()


class GroupCommitDatabase:
    """The Database of `serve`; made by `open`."""

    def __init__(self, writer: _Thread, readers: list[_Thread]) -> None:
        self._writer = writer
        self._readers = readers
        self._queue: deque[_Work] = deque()
        self._draining: asyncio.Task[None] | None = None
        self._closed = False

    @classmethod
    async def open(cls, path: Path) -> GroupCommitDatabase:
        """Open the file, migrate it and start the threads; raises StoreUnavailable and SchemaTooNew."""
        opened: list[_Thread] = []
        try:
            opened.append(await _Thread.open(path, writes=True))
            while len(opened) <= READERS:
                opened.append(await _Thread.open(path, writes=False))
        except BaseException as fault:
            for thread in reversed(opened):
                await thread.close()
            if isinstance(fault, sqlite3.Error):
                raise StoreUnavailable(f"{path} cannot be opened: {fault}") from fault
            raise
        return cls(opened[0], opened[1:])

    async def read(self, unit: Unit[T]) -> T:
        """See Database.read."""
        if self._closed:
            raise StoreUnavailable("the store is closed")
        reader = min(self._readers, key=lambda thread: thread.waiting)
        return await reader.run(_read, unit)

    async def write(self, unit: Unit[T], applied: Callable[[T], None] | None = None) -> T:
        """See Database.write."""
        if self._closed:
            raise StoreUnavailable("the store is closed")
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.append(_Work(unit, applied, answer))
        if self._draining is None:
            self._draining = asyncio.create_task(self._drain())
        return await answer

    async def _drain(self) -> None:
        while self._queue:
            batch = [self._queue.popleft() for _ in range(min(len(self._queue), MAX_BATCH))]
            try:
                results = await self._writer.run(_run_batch, batch)
            except Exception as fault:  # noqa: BLE001  # whatever it is, those who wait are told
                results = [_Failed(fault)] * len(batch)
            for work, result in zip(batch, results, strict=True):
                self._settle(work, result)
        self._draining = None

    @staticmethod
    def _settle(work: _Work, result: Any) -> None:
        fault = result.fault if isinstance(result, _Failed) else None
        if fault is None and work.applied:
            try:
                work.applied(result)
            except Exception as raised:  # noqa: BLE001  # told to the one whose result it was
                fault = raised
        # The caller may have gone; its unit is committed all the same.
        if work.answer.done():
            return
        if fault is None:
            work.answer.set_result(result)
        else:
            work.answer.set_exception(_as_outage(fault))

    async def close(self) -> None:
        """See Database.close. The writer closes last: the last connection to close checkpoints."""
        self._closed = True
        if self._draining:
            await self._draining
        for thread in (*self._readers, self._writer):
            await thread.close()
