"""Who is being answered now: one answer at a time for each conversation, one for each Idempotency-Key, none lost when a caller hangs up."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Any, NamedTuple

from chatsvc.deadlines import Deadlines
from chatsvc.domain.models import Exchange
from chatsvc.usecases.pasts import Conversing

# Those who wait behind the one who is being answered, first come first served.
Line = deque[asyncio.Future[None]]


class Busy(Exception):
    """The conversation was still being answered when the deadline came."""


class Flight(NamedTuple):
    """A request under an Idempotency-Key that is being answered: the digest of its fields, and the answer to come."""

    fingerprint: bytes
    answer: asyncio.Task[Exchange]


class _Alone:
    """See Turns.alone; a class, since a generator takes three times as long and every message has one."""

    __slots__ = ("_conversation", "_deadline", "_lines")

    def __init__(self, lines: dict[Conversing, Line], conversation: Conversing, deadline: float) -> None:
        self._lines, self._conversation, self._deadline = lines, conversation, deadline

    async def __aenter__(self) -> None:
        line = self._lines.get(self._conversation)
        if line is None:
            self._lines[self._conversation] = deque()
            return
        turn = asyncio.get_running_loop().create_future()
        line.append(turn)
        try:
            async with asyncio.timeout_at(self._deadline):
                await turn
        except BaseException as fault:
            if turn.done() and not turn.cancelled():
                self._leave()  # it had come in the same moment
            elif turn in line:
                line.remove(turn)
            if isinstance(fault, TimeoutError):
                raise Busy from None
            raise

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        line = self._lines[self._conversation]
        while line:
            turn = line.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        del self._lines[self._conversation]


class Turns:
    """The answers under way in this process."""

    def __init__(self) -> None:
        self.deadlines = Deadlines()
        self.flights: dict[tuple[str, str], Flight] = {}
        self._lines: dict[Conversing, Line] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._finished: asyncio.Future[None] | None = None

    @property
    def unfinished(self) -> int:
        """Answers that are not finished, those that wait for their turn included."""
        return len(self._tasks)

    @property
    def waiting(self) -> int:
        """Answers that wait for an earlier one of their conversation."""
        return sum(map(len, self._lines.values()))

    def alone(self, conversation: Conversing, deadline: float) -> _Alone:
        """Wait until nobody else is answered in this conversation (bot, channel, user), first come first served.

        `deadline` is the event loop's time; an asynchronous context manager that raises Busy where it comes first.
        """
        return _Alone(self._lines, conversation, deadline)

    def under_way(self, user_id: str, bot_id: str | None) -> list[Conversing]:
        """The conversations of a visitor, with one bot or with all, that are being answered now."""
        return [place for place in self._lines if place[2] == user_id and bot_id in (None, place[0])]

    def start(self, work: Coroutine[Any, Any, Exchange]) -> asyncio.Task[Exchange]:
        """Run an answer in a task of its own, for several callers to wait for."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._strike(task)
        if not task.cancelled():
            # Looked at here, since the callers may have gone and asyncio would call the fault a forgotten one.
            task.exception()

    async def see_through(self, work: Coroutine[Any, Any, Exchange]) -> Exchange:
        """Run an answer in the caller's own task, which is waited for before the service stops."""
        task = asyncio.current_task(self.deadlines.loop)
        if task is None:
            raise RuntimeError("answers are given in tasks")
        self._tasks.add(task)
        try:
            return await work
        finally:
            self._strike(task)

    def _strike(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not self._tasks and self._finished is not None and not self._finished.done():
            self._finished.set_result(None)

    async def finish(self, timeout_s: float) -> None:
        """Let the answers under way end, for so long at most; the rest are cancelled and give back what they held."""
        if not self._tasks:
            return
        # The answers are waited for, not the tasks: those have callers to tell, who may be slow to listen.
        self._finished = self.deadlines.loop.create_future()
        await asyncio.wait([self._finished], timeout=timeout_s)
        late = set(self._tasks)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)
