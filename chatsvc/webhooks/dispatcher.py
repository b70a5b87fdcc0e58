"""Dispatcher of pending webhook events: one queue a bot, within limits of deliveries in flight.

Only deliveries in flight are in memory. An attempt is recorded before its connection is opened; its outcome is recorded in the
transaction that records the next attempts.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from chatsvc import background
from chatsvc.store import deliveries, webhooks
from chatsvc.store.database import STORE_PAUSE_S, Database, StoreUnavailable, until_written
from chatsvc.store.deliveries import Outcome, Sending, Sign

log = logging.getLogger(__name__)

T = TypeVar("T")
STOP_S = 120.0  # longer than any delivery: after it only a queue that fails again and again is left
# Pause of a slot after a delivery without an answer: a failed handshake costs far more than a delivery, and a receiver that just
# restarts misses fewer events.
SILENCE_S = 0.1

# A delivery holds a connection, and with it a file descriptor: for milliseconds if the receiver answers, for the whole time-out if not.
# The first delivery in flight of a bot takes one of SLOTS, further ones take those of FURTHER_SLOTS: receivers that die with a backlog
# leave room for the others. Bots whose receiver did not answer the last time have slots of their own.
SLOTS, FURTHER_SLOTS, SILENT_SLOTS = 256, 128, 128
SLOTS_PER_BOT = 32  # once its receiver has answered; one until then, and while it is silent

Deliver = Callable[[Sending], Awaitable[Outcome]]


@dataclass(eq=False)
class _Queue:
    """Deliveries of one bot. The number in flight, outcomes not yet recorded (`done`), and whether events may be pending (`more`)."""

    bot_id: str
    in_flight: int = 0
    done: list[Outcome] = field(default_factory=list)
    more: bool = True
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Dispatcher:
    """Sends pending events; `deliver` makes one attempt, `plans` are those that have webhooks.

    Before start() and after stop() it sends only what a person asked for.
    """

    def __init__(
        self, db: Database, deliver: Deliver, sign: Sign, plans: frozenset[str], clock: Callable[[], int], *, sends_mail: bool = False
    ) -> None:
        self._db = db
        self._deliver = deliver
        self.sign = sign
        self._plans = plans
        self._sends_mail = sends_mail
        self._clock = clock
        self._slots, self._further_slots, self._silent_slots = map(asyncio.Semaphore, (SLOTS, FURTHER_SLOTS, SILENT_SLOTS))
        # By bot: whether its receiver answered the last time since the start, with whatever status.
        self._answers: dict[str, bool] = {}
        self._queues: dict[str, _Queue] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._running = False
        self.stopping = False
        # Outcomes of attempts since the start: delivered, or the error.
        self.outcomes: Counter[str] = Counter(delivered=0)

    async def start(self) -> None:
        """Record interrupted attempts, which another process may have left as well, and begin with events that were never attempted."""
        interrupted = await webhooks.interrupt(self._db)
        if interrupted:
            log.warning("%d webhook deliveries were in flight when the service ended; they are recorded as interrupted", interrupted)
        # After interrupt(), which would take earlier attempts for interrupted.
        self._running = True
        for bot_id in await webhooks.bots_with_pending(self._db):
            self.wake(bot_id)

    def wake(self, bot_id: str) -> None:
        """Start the bot's queue, which has a new event."""
        if self.stopping or not self._running:
            return
        queue = self._queues.get(bot_id)
        if queue is None:
            queue = self._queues[bot_id] = _Queue(bot_id)
            background.run("webhook queue", partial(self._run, queue), STORE_PAUSE_S, self._tasks, once=True)
        queue.more = True
        queue.changed.set()

    async def _run(self, queue: _Queue) -> None:
        while True:
            # Another event may have waited for an attempt that has ended.
            queue.more |= bool(queue.done)
            slots = await self._take(queue)
            if queue.done or slots:
                await self._advance(queue, slots)
            elif queue.in_flight:
                queue.changed.clear()
                await queue.changed.wait()
            else:
                # No await until the return: a later wake() starts a new queue.
                del self._queues[queue.bot_id]
                return

    def _slots_of(self, bot_id: str) -> asyncio.Semaphore:
        return self._silent_slots if self._answers.get(bot_id) is False else self._slots

    def _most(self, bot_id: str) -> int:
        return SLOTS_PER_BOT if self._answers.get(bot_id) else 1

    async def _take(self, queue: _Queue) -> list[asyncio.Semaphore]:
        """Take as many slots as the bot may have now. Wait for one, in the order of asking, if it has nothing else to do."""
        taken = list[asyncio.Semaphore]()
        if not queue.more or self.stopping:
            return taken
        slots, further = self._slots_of(queue.bot_id), self._further_slots
        if not queue.in_flight and (not queue.done or not slots.locked()):
            await slots.acquire()
            taken.append(slots)
        while 0 < len(taken) + queue.in_flight < self._most(queue.bot_id) and not further.locked():
            await further.acquire()
            taken.append(further)
        if self.stopping:
            _release(taken)
            taken.clear()
        return taken

    async def _advance(self, queue: _Queue, slots: list[asyncio.Semaphore]) -> None:
        """Record outcomes and new attempts in one transaction, then start the attempts."""
        done, queue.done = queue.done, []
        room = len(slots)
        if room:
            queue.more = False
        try:
            found, sendings = await deliveries.advance(
                self._db,
                queue.bot_id,
                self._clock(),
                done=done,
                room=room,
                plans=self._plans,
                sign=self.sign,
                sends_mail=self._sends_mail,
            )
        except Exception as fault:  # outcomes must not be lost
            log.error("webhooks wait: %s", fault, exc_info=None if isinstance(fault, StoreUnavailable) else fault)
            _release(slots)
            if not self.stopping:
                queue.done[:0] = done
                queue.more = True
                await asyncio.sleep(STORE_PAUSE_S)
            return
        # Attempts that failed at once free their slots, and the events that waited for them.
        queue.more |= found > 0 and (found == room or found > len(sendings))
        _release(slots[len(sendings) :])
        for sending, slot in zip(sendings, slots, strict=False):
            queue.in_flight += 1
            # Not repeated after a fault: nothing is sent twice.
            background.start("webhook delivery", self._send(queue, sending, slot), self._tasks)

    async def _send(self, queue: _Queue, sending: Sending, slot: asyncio.Semaphore) -> None:
        try:
            done = await self._attempt(sending)
            queue.done.append(done)
            if done.status_code is None and not self.stopping:
                queue.changed.set()
                await asyncio.sleep(SILENCE_S)
        finally:
            queue.in_flight -= 1
            slot.release()
            queue.changed.set()

    async def _attempt(self, sending: Sending) -> Outcome:
        try:
            done = await self._deliver(sending)
        except Exception:
            log.exception("unexpected fault in a webhook delivery of bot %s", sending.bot_id)
            done = Outcome(sending.attempt_id, success=False, status_code=None, error="internal_error", duration_ms=0)
        self._answers[sending.bot_id] = done.status_code is not None
        self.outcomes[done.error or "delivered"] += 1
        return done

    async def deliver(self, sending: Sending) -> None:
        """Make one attempt that a person asked for, and record its outcome."""
        done = await self._attempt(sending)
        await until_written(partial(deliveries.settle, self._db, [done]), lambda: self.stopping, "webhooks")
        # An event may have waited for this attempt.
        self.wake(sending.bot_id)

    async def deliver_each(self, bot_id: str, sending: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
        """Make deliveries that a person asked for, as many at a time as a queue. Return results in order, or raise the first fault."""
        left, tasks = deque(sending), list[asyncio.Task[T]]()
        in_flight: set[asyncio.Task[T]] = set()
        while left or in_flight:
            room = min(len(left), self._most(bot_id) - len(in_flight))
            begun = [asyncio.create_task(self._in_slot(bot_id, left.popleft())) for _ in range(room)]
            tasks += begun
            _, in_flight = await asyncio.wait(in_flight.union(begun), return_when=asyncio.FIRST_COMPLETED)
        return [task.result() for task in tasks]

    async def _in_slot(self, bot_id: str, sending: Callable[[], Awaitable[T]]) -> T:
        async with self._slots_of(bot_id):
            return await sending()

    async def close(self) -> None:
        """Finish deliveries in flight; start none."""
        self.stopping = True
        for queue in self._queues.values():
            queue.changed.set()
        await background.cancel(*self._tasks, after_s=STOP_S)


def _release(slots: Sequence[asyncio.Semaphore]) -> None:
    for slot in slots:
        slot.release()
