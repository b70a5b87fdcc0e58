"""The database of a command: no event loop and no threads, one unit at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from chatsvc.store.database import Unit, connect, in_transaction, outage, purge, translated
from chatsvc.store.master_key import MasterKey

T = TypeVar("T")


class DirectDatabase:
    """A Database whose coroutines never wait, so that `finish` can run a use-case over it."""

    fault: str | None = None

    def __init__(self, path: Path, key: MasterKey | None = None) -> None:
        try:
            self._connection = connect(path, writes=True, key=key)
        except sqlite3.Error as fault:
            raise outage(fault, path, f"{path} cannot be opened") from fault
        self._path = path

    async def read(self, unit: Unit[T]) -> T:
        """See Database.read."""
        return self._run(unit)

    async def write(self, unit: Unit[T], applied: Callable[[T], None] | None = None) -> T:
        """See Database.write."""
        result = self._run(unit)
        if applied:
            applied(result)
        return result

    async def purge(self) -> None:
        """See Database.purge. Nobody else reads."""
        try:
            purge(self._connection)
        except sqlite3.Error as fault:
            raise translated(fault, self._path) from fault

    async def close(self) -> None:
        """See Database.close."""
        self._connection.close()

    def _run(self, unit: Unit[T]) -> T:
        try:
            return in_transaction(self._connection, unit)
        except sqlite3.Error as fault:
            raise translated(fault, self._path) from fault


def finish(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits to its end."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]  # StopIteration is not generic
    work.close()
    raise RuntimeError("this use-case needs an event loop")
