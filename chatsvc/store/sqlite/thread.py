"""One SQLite connection in a thread of its own, made by aiosqlite.

Only this module uses names of aiosqlite that are not public. Its public calls switch threads for each statement; here a whole batch of
units takes one switch. The version is checked first, since such names may change with any release.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar

import aiosqlite

from chatsvc.store.database import StoreUnavailable

T = TypeVar("T")
# As in pyproject.toml.
OLDEST, BEFORE = (0, 22), (0, 23)


def check_version(version: str = aiosqlite.__version__) -> None:
    """Raise StoreUnavailable unless this module supports the installed version of aiosqlite."""
    parts = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    if not OLDEST <= parts < BEFORE:
        wanted = ".".join(map(str, OLDEST))
        raise StoreUnavailable(f"aiosqlite {version} is installed; chatsvc works with {wanted}: install it anew, with its locked versions")


class SqliteThread:
    """A connection and its thread; opened with `open`."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

    @classmethod
    async def open(cls, connect: Callable[[], sqlite3.Connection]) -> SqliteThread:
        """Open a connection in a new thread; raises what `connect` raises."""
        check_version()
        connection = aiosqlite.Connection(connect, iter_chunk_size=64)
        try:
            return cls(await connection)
        except BaseException:
            # aiosqlite has ordered its thread to end, and the thread calls the event loop when it does: before that is closed.
            connection._thread.join()
            raise

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        """Call `work(connection, *arguments)` in the thread; raises what it raises."""
        return await self._connection._execute(work, self._connection._conn, *arguments)  # type: ignore[no-any-return, no-untyped-call]

    async def close(self) -> None:
        """Close the connection and end the thread."""
        await self._connection.close()
