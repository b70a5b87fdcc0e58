"""Who is being answered now: one answer at a time for each conversation, one for each Idempotency-Key, none lost when a caller hangs up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, nullcontext
from typing import Any, NamedTuple

from chatsvc.domain.models import Exchange

Conversing = tuple[str, str, str]


class Busy(Exception):
    """The conversation was still being answered when the deadline came."""


class Flight(NamedTuple):
    """A request under an Idempotency-Key that is being answered: the digest of its fields, and the answer to come."""

    fingerprint: bytes
    answer: asyncio.Task[Exchange]


class _Line:
    __slots__ = ("lock", "waiting")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.waiting = 0


class Turns:
    """The answers under way in this process."""

    def __init__(self) -> None:
        self.flights: dict[tuple[str, str], Flight] = {}
        self._lines: dict[Conversing, _Line] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def unfinished(self) -> int:
        """Answers that are not finished, those that wait for their turn included."""
        return len(self._tasks)

    @property
    def waiting(self) -> int:
        """Answers that wait for an earlier one of their conversation."""
        return sum(line.waiting - 1 for line in self._lines.values())

    @asynccontextmanager
    async def alone(self, conversation: Conversing, deadline: float) -> AsyncIterator[None]:
        """Wait until nobody else is answered in this conversation (bot, channel, user), first come first served.

        `deadline` is the event loop's time; raises Busy where it comes first.
        """
        line = self._lines.setdefault(conversation, _Line())
        line.waiting += 1
        try:
            try:
                async with asyncio.timeout_at(deadline) if line.lock.locked() else nullcontext():
                    await line.lock.acquire()
            except TimeoutError:
                raise Busy from None
            try:
                yield
            finally:
                line.lock.release()
        finally:
            line.waiting -= 1
            if not line.waiting:
                del self._lines[conversation]

    def under_way(self, user_id: str, bot_id: str | None) -> list[Conversing]:
        """The conversations of a visitor, with one bot or with all, that are being answered now."""
        return [place for place in self._lines if place[2] == user_id and bot_id in (None, place[0])]

    def start(self, work: Coroutine[Any, Any, Exchange]) -> asyncio.Task[Exchange]:
        """Run an answer in a task of its own, which a caller that hangs up does not take with it."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            # Looked at here, since the caller may have gone and asyncio would call the fault a forgotten one.
            task.exception()

    async def finish(self, timeout_s: float) -> None:
        """Let the answers under way end, for so long at most; the rest are cancelled and give back what they held."""
        if self._tasks:
            _, late = await asyncio.wait(set(self._tasks), timeout=timeout_s)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
