"""Who is being answered now: one answer at a time for each conversation, one for each Idempotency-Key, none lost when a caller hangs up."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import nullcontext
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


class _Alone:
    """See Turns.alone; a class, since a generator takes three times as long and every message has one."""

    __slots__ = ("_conversation", "_deadline", "_line", "_lines")

    def __init__(self, lines: dict[Conversing, _Line], conversation: Conversing, deadline: float) -> None:
        self._lines, self._conversation, self._deadline = lines, conversation, deadline

    async def __aenter__(self) -> None:
        line = self._line = self._lines.get(self._conversation) or self._lines.setdefault(self._conversation, _Line())
        line.waiting += 1
        try:
            async with asyncio.timeout_at(self._deadline) if line.lock.locked() else nullcontext():
                await line.lock.acquire()
        except BaseException as fault:
            self._leave()
            if isinstance(fault, TimeoutError):
                raise Busy from None
            raise

    async def __aexit__(self, *_: object) -> None:
        self._line.lock.release()
        self._leave()

    def _leave(self) -> None:
        self._line.waiting -= 1
        if not self._line.waiting:
            del self._lines[self._conversation]


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

    def alone(self, conversation: Conversing, deadline: float) -> _Alone:
        """Wait until nobody else is answered in this conversation (bot, channel, user), first come first served.

        `deadline` is the event loop's time; an asynchronous context manager that raises Busy where it comes first.
        """
        return _Alone(self._lines, conversation, deadline)

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
