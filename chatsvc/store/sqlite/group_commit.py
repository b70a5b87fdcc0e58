"""Database of a process over SQLite: one thread writes in batches, and several read.

A durable commit costs an fsync, however much it writes. While one batch is being flushed, the units that arrive form the next batch. Each
caller gets its result after the commit of its batch. A single caller waits no longer than with a commit of its own.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from traceback import clear_frames
from typing import Any

from chatsvc.store.batches import READERS, BatchThread, Failed, Work, run_units
from chatsvc.store.database import Database, StoreUnavailable
from chatsvc.store.master_key import MasterKey
from chatsvc.store.sqlite.connection import empty_log, open_reader, open_writer, outage, purge, translated
from chatsvc.store.sqlite.thread import SqliteThread

EMPTY_LOG_TRIES = 60
EMPTY_LOG_PAUSE_S = 1.0


def _write_batch(connection: sqlite3.Connection, batch: list[Work], is_open: Callable[[], bool] | None = None) -> list[Any]:
    """Run all units in one transaction. Return a result or Failed for each unit, in their order.

    If a unit raises an exception, nothing of the batch is written, and it is run again with a savepoint for each unit.
    """
    try:
        connection.execute("BEGIN IMMEDIATE")
        results = run_units(connection, batch, is_open)
        connection.execute("COMMIT")
        return results
    except BaseException as fault:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if is_open is not None or not isinstance(fault, Exception):
            raise
    return _write_batch(connection, batch, is_open=lambda: connection.in_transaction)


def _read_batch(connection: sqlite3.Connection, batch: list[Work]) -> list[Any]:
    results: list[Any] = []
    connection.execute("BEGIN")
    try:
        for work in batch:
            try:
                results.append(work.unit(connection, *work.arguments, **work.named))
            except Exception as fault:  # noqa: BLE001  # reported to the caller of the unit; there is nothing to roll back
                clear_frames(fault.__traceback__)  # an open cursor would keep this snapshot for the next batch
                results.append(Failed(fault))
    finally:
        connection.execute("COMMIT")
    return results


async def _open_thread(path: Path, *, writes: bool, key: MasterKey | None = None) -> BatchThread:
    thread = await SqliteThread.open(partial(open_writer, path, key) if writes else partial(open_reader, path))
    name, run_batch = ("writer", _write_batch) if writes else ("reader", _read_batch)
    return BatchThread(name, thread, run_batch, partial(translated, path=path))


def _identity(file: Path) -> tuple[int, int] | None:
    """Return device and inode of a file, or None if the file does not exist."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


class GroupCommitDatabase(Database):
    """The Database of the service and of commands, made by `open`. No other process writes.

    `fault` is the reason why nothing can be written, or None.
    """

    def __init__(self, writer: BatchThread, readers: list[BatchThread], path: Path) -> None:
        super().__init__(writer, readers)
        self._path = path
        self._files = {file: _identity(file) for file in (path, path.with_name(f"{path.name}-wal"))}

    @classmethod
    async def open(cls, path: Path, key: MasterKey | None = None, *, readers: int = READERS) -> GroupCommitDatabase:
        """Open the file, migrate it and start the threads; raises StoreUnavailable and SchemaTooNew. See open_writer for `key`."""
        opened: list[BatchThread] = []
        try:
            opened.append(await _open_thread(path, writes=True, key=key))
            while len(opened) <= readers:
                opened.append(await _open_thread(path, writes=False))
        except BaseException as fault:
            for thread in reversed(opened):
                await thread.close()
            if isinstance(fault, sqlite3.Error):
                raise outage(fault, path, f"{path} cannot be opened") from fault
            raise
        return cls(opened[0], opened[1:], path)

    def check(self) -> None:
        """Set `fault` while the path of the database or of its log does not lead to the open file.

        Writes would be lost with the open file, which has no name any more.
        """
        changed = [file for file, identity in self._files.items() if _identity(file) != identity]
        text = "was removed or replaced while the service runs: put it back and restart the service"
        self.fault = f"{changed[0]} {text}" if changed else None

    async def size(self) -> int:
        """Return the size of the database in bytes, with its write-ahead log."""
        return sum(file.stat().st_size for file in self._files if file.exists())

    def fill_backup(self, file: Any) -> None:
        """Copy a snapshot of the store into a new SQLite database, like Database.fill_backup."""
        from chatsvc.store.sqlite.backup import copy_file

        copy_file(self._path, file)

    async def purge(self) -> None:
        """Remove all traces of deleted rows, like Database.purge."""
        self.check_usable()
        empty = await self.writer.apart(purge)
        for _ in range(EMPTY_LOG_TRIES):
            if empty:
                return
            await asyncio.sleep(EMPTY_LOG_PAUSE_S)
            empty = await self.writer.apart(empty_log)
        raise StoreUnavailable("the write-ahead log could not be emptied: something reads for long, a backup perhaps; try again later")

    async def close(self) -> None:
        """Run the queued units and close the database. The writer is closed last, since the last connection makes a checkpoint."""
        self.is_closed = True
        for thread in (*self.readers, self.writer):
            await thread.close()
