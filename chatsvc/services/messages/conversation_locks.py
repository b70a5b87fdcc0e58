"""Locks of conversations, allowance and requests by Idempotency-Key, of a process alone (shared_turns.py: of several)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from chatsvc.domain.allowance import Allowance, HeldMessage
from chatsvc.domain.errors import ProblemError
from chatsvc.domain.models import ConversationKey, Exchange

T = TypeVar("T")


class Busy(Exception):
    """A conversation was still locked at the deadline."""


class OpenElsewhere(Exception):
    """The Idempotency-Key is known to another process. `wait`, with a deadline in loop time, returns when its turn has ended.

    `wait` raises the turn's problem, and Busy.
    """

    def __init__(self, fingerprint: bytes, wait: Callable[[float], Awaitable[None]]) -> None:
        super().__init__("the turn is open in another process")
        self.fingerprint, self.wait = fingerprint, wait


class HoldRequest(NamedTuple):
    """Request to hold one message of an account's allowance in `month`. `at` is its time in milliseconds.

    conversation: the one whose lock the turn will wait for; None where it is locked already, or new.
    key, fingerprint: the Idempotency-Key, and the digest of the fields that came with it.
    """

    account_id: str
    allowance: Allowance
    month: str
    at: int
    conversation: ConversationKey | None = None
    key: str | None = None
    fingerprint: bytes | None = None


class ConversationLocks:
    """The locks and the requests in flight of a process that works alone. SharedTurns is that of several over one store."""

    def __init__(self) -> None:
        # By account and Idempotency-Key: the digest of a request's fields, and its task.
        self.in_flight: dict[tuple[str, str], tuple[bytes, asyncio.Task[Exchange]]] = {}
        # Turns of stored messages by the message's number.
        self.answering: dict[int, asyncio.Task[None]] = {}
        # A lock is there while somebody holds or awaits it.
        self._locks: WeakValueDictionary[ConversationKey, asyncio.Lock] = WeakValueDictionary()
        self._waiting = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._finished: asyncio.Future[None] | None = None

    @property
    def unfinished(self) -> int:
        """Number of requests in flight, those that wait for a lock included."""
        return len(self._tasks)

    @property
    def waiting(self) -> int:
        """Number of requests that wait for an earlier one of their conversation."""
        return self._waiting

    async def reserve(self, request: HoldRequest) -> HeldMessage | None:
        """Hold one message of an allowance, None where none is left. Whoever holds it must `release` it."""
        return request.allowance.reserve(request.month)

    async def release(self, held: HeldMessage, problem: ProblemError | None = None) -> None:
        """Give a held message back, unless it was charged. `problem` is the outcome for those who have joined the turn."""
        del problem
        held.close()

    def charged(self, held: HeldMessage, *, awaited: bool) -> None:
        """Close a held message that was charged. awaited: whether somebody at another process has awaited the end of its turn."""
        del awaited
        held.close()

    @asynccontextmanager
    async def lock(self, conversation: ConversationKey, deadline: float, held: HeldMessage | None = None) -> AsyncIterator[None]:
        """Lock a conversation, first come, first served.

        `deadline` is a time of the event loop; raises Busy when it passes first. `held`: what was reserved for this turn.
        """
        del held
        lock = self._locks.setdefault(conversation, asyncio.Lock())
        self._waiting += 1
        try:
            async with asyncio.timeout_at(deadline):
                await lock.acquire()
        except TimeoutError:
            raise Busy from None
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            lock.release()

    def hold(self, conversation: ConversationKey, timeout_s: float) -> AbstractAsyncContextManager[None]:
        """Lock a conversation; raises Busy after `timeout_s` seconds."""
        return self.lock(conversation, asyncio.get_running_loop().time() + timeout_s)

    async def locked(self, user_id: str, bot_id: str) -> list[ConversationKey]:
        """List a visitor's locked conversations with a bot."""
        locked = [conversation for conversation, lock in self._locks.items() if lock.locked()]
        return [conversation for conversation in locked if conversation[2] == user_id and conversation[0] == bot_id]

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a request in a new task, which several callers may await."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._remove(task)
        if not task.cancelled():
            # Retrieved here: if all callers have gone, asyncio would log the exception as never retrieved.
            task.exception()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a request in the caller's own task, for which `drain` waits."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("requests are answered in tasks")
        self._tasks.add(task)
        try:
            return await work
        finally:
            self._remove(task)

    def _remove(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not self._tasks and self._finished is not None and not self._finished.done():
            self._finished.set_result(None)

    async def drain(self, timeout_s: float) -> None:
        """Wait for the requests in flight, at most `timeout_s` seconds; cancel the rest."""
        if not self._tasks:
            return
        # Not the tasks themselves: they also write to callers, who may be slow to read.
        self._finished = asyncio.get_running_loop().create_future()
        await asyncio.wait([self._finished], timeout=timeout_s)
        late = set(self._tasks)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)
