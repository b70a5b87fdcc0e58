"""One PostgreSQL connection in a thread of its own, which is opened again after it broke.

`AsideConnection` is for statements outside of transactions.
"""

import asyncio
import os
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import psycopg

from chatsvc.store.database import StoreUnavailable
from chatsvc.store.postgres.connection import PostgresConnection, PostgresTarget, connect, translated

T = TypeVar("T")


class PostgresThread:
    """A connection and its thread. The connection is opened when first used.

    `busy_since` is when the running work began (monotonic time), or None while no work runs.
    """

    def __init__(self, connect: Callable[[], PostgresConnection]) -> None:
        self._connect = connect
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="postgres")
        self._connection: PostgresConnection | None = None
        self.busy_since: float | None = None

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        """Call `work(connection, *arguments)` in the thread; raises what it raises."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._run, work, arguments)

    def _run(self, work: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        self.busy_since = time.monotonic()
        try:
            if self._connection is not None and self._connection.is_usable:
                self._connection.close_if_cut()
            if self._connection is None or not self._connection.is_usable:
                self._connection = self._connect()
            return work(self._connection, *arguments)
        finally:
            self.busy_since = None

    @property
    def backend(self) -> int | None:
        """Return the process id of the session in the server."""
        connection = self._connection
        return connection.driver.info.backend_pid if connection is not None and connection.is_usable else None

    def interrupt(self) -> None:
        """Shut the connection down, so that the running work fails. This is used if the server does not answer."""
        connection = self._connection
        if connection is None:
            return
        # A copy of the descriptor: libpq owns the other one. It may be closed meanwhile.
        with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.driver.fileno())) as copy:
            copy.shutdown(socket.SHUT_RDWR)

    async def close(self) -> None:
        """Close the connection and end the thread."""

        def close() -> None:
            if self._connection is not None:
                self._connection.close()

        await asyncio.get_running_loop().run_in_executor(self._executor, close)
        self._executor.shutdown()


class AsideConnection(PostgresThread):
    """A connection that commits each statement."""

    def __init__(self, address: PostgresTarget) -> None:
        super().__init__(partial(connect, address, writes=True))
        self._address = address
        # Why the store cannot be used; the database that owns the connection sets it.
        self.fault: Callable[[], str | None] = lambda: None

    async def run(self, work: Callable[..., T], *arguments: object) -> T:
        """Call `work(connection, *arguments)`, like PostgresThread.run. Raises StoreUnavailable."""
        if (fault := self.fault()) is not None:
            raise StoreUnavailable(fault)
        try:
            return await super().run(work, *arguments)
        except psycopg.Error as error:
            raise translated(error, self._address) from None
