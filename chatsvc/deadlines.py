"""Deadlines of thousands of calls with one timer."""

from __future__ import annotations

import asyncio
from functools import cached_property
from math import inf
from types import TracebackType
from typing import Any, Self

STEP_S = 0.01
"""How much later than it should a deadline may be noticed where many pass one after another, in seconds."""


class Deadlines:
    """Ends what lasts too long as `asyncio.timeout_at` does, at a quarter of its processor time: hardly any deadline is ever reached.

    So a deadline is only noted down, and the one timer looks through those that are left when the first of them would be due.
    """

    def __init__(self) -> None:
        self._noted: set[Deadline] = set()
        self._next = inf
        self._timer: asyncio.TimerHandle | None = None

    @cached_property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that runs; asked for once, since Python 3.11 asks the kernel for the process's id each time."""
        return asyncio.get_running_loop()

    def until(self, at: float) -> Deadline:
        """A context that is cancelled at `at` (loop time) and raises TimeoutError then."""
        return Deadline(self, at)

    def note(self, deadline: Deadline) -> None:
        """From now on it counts."""
        self._noted.add(deadline)
        if deadline.at < self._next:
            self._wake(deadline.at)

    def forget(self, deadline: Deadline) -> None:
        """It does not count any more."""
        self._noted.discard(deadline)

    def _wake(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = at
        self._timer = self.loop.call_at(at, self._look)

    def _look(self) -> None:
        now = self.loop.time()
        for deadline in [one for one in self._noted if one.at <= now]:
            self._noted.discard(deadline)
            deadline.passes()
        self._timer, self._next = None, inf
        if self._noted:
            self._wake(max(now + STEP_S, min(one.at for one in self._noted)))


class Deadline:
    """See Deadlines.until."""

    __slots__ = ("_all", "_cancelling", "_passed", "_task", "at")

    def __init__(self, all_: Deadlines, at: float) -> None:
        self._all = all_
        self.at = at
        self._passed = False

    def __enter__(self) -> Self:
        task: asyncio.Task[Any] | None = asyncio.current_task(self._all.loop)
        if task is None:
            raise RuntimeError("a deadline is for a task")
        self._task, self._cancelling = task, task.cancelling()
        self._all.note(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._all.forget(self)
        # Whoever else has cancelled the task meanwhile goes first.
        if self._passed and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def passes(self) -> None:
        """It is reached."""
        self._passed = True
        self._task.cancel()
