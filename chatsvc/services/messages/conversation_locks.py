"""Locks of conversations, reserved messages and Idempotency-Keys. With several processes, store/open_turns.py stores them."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from chatsvc import background
from chatsvc.domain.errors import PROBLEMS, Because, ProblemError
from chatsvc.domain.limiter import Allowance, HeldMessage
from chatsvc.domain.models import CHANNELS, ConversationKey, Exchange
from chatsvc.domain.times import now_ms
from chatsvc.store import open_turns as stored
from chatsvc.store.database import Database, ProcessNotices, StoreUnavailable
from chatsvc.store.open_turns import KnownKey, NewTurn, OpenedTurn

T = TypeVar("T")
LOOK_EVERY_S = 0.5  # while turns wait for others, where no notice comes
TURNS = "turns"
STORE_PAUSE_S = 1.0
END_S = 2.0


class Busy(Exception):
    """A conversation was still locked at the deadline."""


class OpenElsewhere(Exception):
    """The Idempotency-Key is in use in another process. `wait` returns when that process has answered the message.

    The argument of `wait` is a deadline in loop time. `wait` raises the problem of the other request, or Busy after the deadline.
    """

    def __init__(self, fingerprint: bytes, wait: Callable[[float], Awaitable[None]]) -> None:
        super().__init__("the turn is open in another process")
        self.fingerprint, self.wait = fingerprint, wait


class ConversationLocks:
    """Locks of conversations and in-flight requests of one process.

    A single process stores locks and reservations in memory. Several processes store them in the store `shared`, and `notices` tell
    other processes that a message for which they wait is answered.
    """

    def __init__(self, shared: Database | None = None, notices: ProcessNotices | None = None, clock: Callable[[], int] = now_ms) -> None:
        self._db, self._notices, self._clock = shared, notices, clock
        # By account and Idempotency-Key: the digest of a request's fields, and its task.
        self.in_flight: dict[tuple[str, str], tuple[bytes, asyncio.Task[Exchange]]] = {}
        # Turns of stored messages by the message's number.
        self.answering: dict[int, asyncio.Task[None]] = {}
        self.waiting = 0  # requests that wait for an earlier one of their conversation
        # A lock is there while somebody holds or awaits it.
        self._locks: WeakValueDictionary[ConversationKey, asyncio.Lock] = WeakValueDictionary()
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def unfinished(self) -> int:
        """Return the number of requests in flight, including requests that wait for a lock."""
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a request in a new task, which several callers may await and `drain` waits for."""

        def ended(task: asyncio.Task[T]) -> None:
            self._tasks.discard(task)
            if not task.cancelled():
                # Retrieved here: if all callers have gone, asyncio would log the exception as never retrieved.
                task.exception()

        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(ended)
        return task

    async def drain(self, timeout_s: float) -> None:
        """Wait at most `timeout_s` seconds for the requests in flight, then cancel the unfinished requests.

        If the store cannot record the end of a request now, the request ends with this process.
        """
        deadline = asyncio.get_running_loop().time() + timeout_s
        while self._tasks and (left_s := deadline - asyncio.get_running_loop().time()) > 0:
            await asyncio.wait(self._tasks, timeout=left_s)
        await background.cancel(*self._tasks)
        await background.cancel(*self._ending, after_s=END_S)

    async def reserve(self, allowance: Allowance, turn: NewTurn, conversation: ConversationKey | None = None) -> HeldMessage | None:
        """Reserve one message of an allowance before answering it. Return None if none is left. The caller must `release` the message.

        `conversation` is the conversation to lock afterwards, or None if it is locked already or new. With several processes this
        raises OpenElsewhere, StoreUnavailable, and `account_not_found` for a deleted account.
        """
        if self._db is None:
            return allowance.reserve(turn.month or "")
        digest = digest_of(conversation) if conversation else None
        match await stored.begin(self._db, turn._replace(conversation=digest, node=self._db.node or "")):
            case OpenedTurn(number, is_first):
                return HeldMessage(turn.month or "", turn=number, is_first=is_first)
            case KnownKey(number, fingerprint):
                raise OpenElsewhere(fingerprint, partial(self._join, number))
            case None:
                return None

    async def _join(self, number: int | None, deadline: float) -> None:
        while self._db is not None and number is not None:
            changed = self._changed
            is_open, outcome = await stored.joined(self._db, number)
            if outcome is not None:
                code, because, extra = json.loads(outcome)
                raise ProblemError(PROBLEMS[code], Because(*because) if because else None, extra)
            if not is_open:
                return
            if asyncio.get_running_loop().time() > deadline:
                raise Busy
            await background.wait(changed, LOOK_EVERY_S)

    async def release(self, held: HeldMessage, problem: ProblemError | None = None) -> None:
        """Return a reserved message to its allowance, unless it was charged. Repeated requests that wait for its answer raise `problem`."""
        was_open = held.is_open
        held.close()
        if was_open and held.turn is not None:
            await self._end(held.turn, json.dumps([problem.problem.code, problem.because, problem.extra]) if problem else None)

    @asynccontextmanager
    async def lock(self, conversation: ConversationKey, deadline: float, held: HeldMessage | None = None) -> AsyncIterator[None]:
        """Lock a conversation within the block. Callers get the lock in the order of arrival; `held` arrived when it was reserved.

        `deadline` is a time of the event loop. Raises Busy if the conversation is still locked then.
        """
        if self._db is None:
            lock = self._locks.setdefault(conversation, asyncio.Lock())
            await self._wait(lock.acquire(), deadline)
            try:
                yield
            finally:
                lock.release()
            return
        number, is_first = (held.turn, held.is_first) if held else (None, False)
        own_turn = None
        if number is None:
            turn = NewTurn(None, self._clock(), conversation=digest_of(conversation), node=self._db.node or "")
            number, is_first = own_turn = await stored.open_in_line(self._db, turn)
        try:
            if not is_first:
                await self._wait(self._first_in_line(self._db, number), deadline)
            yield
        finally:
            if own_turn is not None:
                await self._end(number)

    async def _wait(self, lock: Awaitable[object], deadline: float) -> None:
        self.waiting += 1
        try:
            async with asyncio.timeout_at(deadline):
                await lock
        except TimeoutError:
            raise Busy from None
        finally:
            self.waiting -= 1

    async def _first_in_line(self, db: Database, number: int) -> None:
        """Wait until all earlier messages of the conversation are answered."""
        while True:
            changed = self._changed
            is_first = await stored.is_first(db, number)
            if is_first is None:
                raise StoreUnavailable("the other processes had taken this one for dead, and its turn has ended")
            if is_first:
                return
            await background.wait(changed, LOOK_EVERY_S)

    async def _end(self, number: int, outcome: str | None = None) -> None:
        """Record the end of a message's processing, even if the caller is cancelled. Repeat a failed write in the background."""

        async def end() -> None:
            if self._db is not None and await stored.end(self._db, number, self._clock(), outcome):
                self.announce()

        await asyncio.wait([background.run("end of a turn", end, STORE_PAUSE_S, self._ending, once=True)], timeout=END_S)

    def listen(self) -> None:
        """Subscribe to the notices of other processes about messages that they have finished processing."""
        if self._notices is not None:
            self._notices.listen(lambda message: self._look_again() if message[0] == TURNS else None, self._look_again)

    def announce(self) -> None:
        """Notify all processes that the processing of a message has ended, because some wait for it."""
        self._look_again()
        if self._notices is not None:
            self._notices.send(TURNS)

    def _look_again(self) -> None:
        """Wake the tasks that wait for an earlier message, so that they check the store again."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def locked(self, user_id: str, bot_id: str) -> list[ConversationKey]:
        """List a visitor's locked conversations with a bot."""
        conversations = [(bot_id, channel, user_id) for channel in CHANNELS]
        if self._db is None:
            return [key for key in conversations if key in self._locks and self._locks[key].locked()]
        in_line = await stored.in_line(self._db, [digest_of(key) for key in conversations])
        return [key for key in conversations if digest_of(key) in in_line]


def digest_of(conversation: ConversationKey) -> bytes:
    """Return the digest by which a conversation is named in the store."""
    return hashlib.sha256(json.dumps(conversation).encode()).digest()
