"""One connection of a driver in a thread of its own: a whole batch of units takes one hop between threads."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, Protocol, Self, TypeVar

T = TypeVar("T")


class Closable(Protocol):
    """A connection of a driver."""

    def close(self) -> object: ...


C = TypeVar("C", bound=Closable)


class ConnectionThread(Generic[C]):
    """A connection and its thread; opened with `open`. `busy_since`: when the work under way began, None while there is none."""

    def __init__(self, connect: Callable[[], C]) -> None:
        self._connect = connect
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._connection: C | None = None
        self.busy_since: float | None = None
        self._is_closed = False

    @classmethod
    async def open(cls, connect: Callable[[], C]) -> Self:
        """Open a connection in a new thread; raises what `connect` raises."""
        opened = cls(connect)
        try:
            await opened.run(lambda _: None)
        except BaseException:
            await opened.close()
            raise
        return opened

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        """Call `work(connection, *arguments)` in the thread; raises what it raises."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._run, work, arguments)

    def _run(self, work: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        self.busy_since = time.monotonic()
        try:
            if self._connection is None or not self.is_usable(self._connection):
                self._connection = self._connect()
            return work(self._connection, *arguments)
        finally:
            self.busy_since = None

    def is_usable(self, connection: C) -> bool:
        """Report whether the connection still stands; else it is opened again."""
        del connection
        return True

    async def close(self) -> None:
        """Close the connection and end the thread; a second call does nothing."""
        if self._is_closed:
            return
        self._is_closed = True

        def close() -> None:
            if self._connection is not None:
                self._connection.close()

        await asyncio.get_running_loop().run_in_executor(self._executor, close)
        self._executor.shutdown()
