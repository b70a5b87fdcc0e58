"""Queue of units of work for one database connection, which runs them in batches. SQLite and PostgreSQL share it.

Units that arrive while a batch runs form the next batch. The transactions of a batch are in the `group_commit` module of each driver.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from traceback import clear_frames
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar

from chatsvc import background
from chatsvc.domain.tallies import SIZES, Histogram
from chatsvc.store.database import Connection, StoreUnavailable

P = ParamSpec("P")
T = TypeVar("T")
MAX_BATCH = 256
READERS = 3  # one of them for quick reads alone, which then never wait for long ones


@dataclass(frozen=True, eq=False, repr=False)  # aiosqlite logs what it runs, and arguments may be secrets
class Work:
    """A queued unit, its arguments without the connection, and the future (`answer`) for which its caller waits."""

    unit: Callable[..., Any]
    arguments: tuple[Any, ...]
    named: Mapping[str, Any]
    answer: asyncio.Future[Any]


class Failed(NamedTuple):
    """Result of a unit that has raised an exception. Its part of the transaction was rolled back."""

    fault: Exception


class ConnectionThread(Protocol):
    """A connection of a driver in a thread of its own."""

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        """Call `work(connection, *arguments)` in the thread; raises what it raises."""
        ...

    async def close(self) -> None:
        """Close the connection and end the thread."""
        ...


RunBatch = Callable[[Any, list[Work]], list[Any]]
Translate = Callable[[BaseException], BaseException]


def run_units(connection: Connection, batch: list[Work], is_open: Callable[[], bool] | None = None) -> list[Any]:
    """Run units in order within one transaction, and return their results. Raises what a unit raises.

    With `is_open`, each unit has a savepoint: an exception rolls back one unit only and becomes its result (Failed). `is_open` returns
    whether the transaction is still open, since an error such as a full disk ends it. If it has ended, the exception is raised.
    """
    results: list[Any] = []
    for work in batch:
        if is_open is not None:
            connection.execute("SAVEPOINT unit")
        try:
            results.append(work.unit(connection, *work.arguments, **work.named))
        except Exception as fault:
            clear_frames(fault.__traceback__)  # cursors with rows left: SQLite would make and release no savepoint
            if is_open is None or not is_open():
                raise
            connection.execute("ROLLBACK TO unit")
            results.append(Failed(fault))
        if is_open is not None:
            connection.execute("RELEASE unit")
    return results


class BatchThread:
    """Queue of units for one connection. `load` is the number of units that wait or run.

    `translate` converts an error of the driver to one of the store.
    """

    def __init__(self, name: str, thread: ConnectionThread, run_batch: RunBatch, translate: Translate) -> None:
        self._thread = thread
        self._run_batch = run_batch
        self._translate = translate
        self.queue: deque[Work] = deque()
        self.load = 0
        # Since the start: units in a batch, seconds for a batch, units that failed through an outage.
        self.sizes, self.seconds, self.outages = Histogram(SIZES), Histogram(), 0
        self._loop = asyncio.get_running_loop()
        self._has_work = asyncio.Event()
        self._draining = background.run(name, self._drain, 0.0)

    async def run(self, unit: Callable[Concatenate[Connection, P], T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """Run a unit in the next batch; raises its exception, StoreUnavailable and StoreFault."""
        answer: asyncio.Future[T] = self._loop.create_future()
        self.queue.append(Work(unit, arguments, named, answer))
        self.load += 1
        self._has_work.set()
        return await answer

    def refuse_waiting(self, fault: str) -> None:
        """Let the queued units fail with StoreUnavailable, because the running batch hangs."""
        while self.queue:
            answer = self.queue.popleft().answer
            self.load -= 1
            if not answer.done():
                answer.set_exception(StoreUnavailable(fault))

    async def _drain(self) -> None:
        while True:
            await self._has_work.wait()
            batch: list[Work] = []
            while self.queue and len(batch) < MAX_BATCH:
                batch.append(self.queue.popleft())
            began = perf_counter()
            try:
                results = await self._thread.run(self._run_batch, batch)
            except Exception as fault:  # noqa: BLE001  # reported to all callers of the batch
                results = [Failed(fault)] * len(batch)
            try:
                self._answer(batch, results, perf_counter() - began)
            finally:
                # After an unexpected fault no caller waits for ever.
                for work in batch:
                    if not work.answer.done():
                        work.answer.set_exception(StoreUnavailable("the result was lost; the log tells why"))
                self.load -= len(batch)
                if not self.queue:
                    self._has_work.clear()
            # The thread keeps references to both until its next batch, and what was read may be large.
            batch.clear()
            results.clear()

    def _answer(self, batch: list[Work], results: list[Any], seconds: float) -> None:
        self.seconds.note(seconds)
        self.sizes.note(len(batch))
        for work, result in zip(batch, results, strict=True):
            fault = self._translate(result.fault) if isinstance(result, Failed) else None
            if isinstance(fault, StoreUnavailable):
                self.outages += 1
            # The caller may have been cancelled; its unit is committed all the same.
            if work.answer.done():
                continue
            if fault is None:
                work.answer.set_result(result)
            else:
                work.answer.set_exception(fault)

    async def apart(self, work: Callable[[Any], T]) -> T:
        """Run `work(connection)` between two batches, outside of any transaction. Raises StoreUnavailable."""
        try:
            return await self._thread.run(work)
        except Exception as fault:
            translated = self._translate(fault)
            if translated is fault:
                raise
            raise translated from fault

    async def close(self) -> None:
        """Run the queued units and close the connection."""
        if self._draining.done():
            return
        # Units run in their order, so this one is the last.
        with suppress(StoreUnavailable):
            await self.run(lambda _: None)
        await background.cancel(self._draining)
        await self._thread.close()
